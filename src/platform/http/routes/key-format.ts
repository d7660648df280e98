/**
 * The format of a key: `svc_<environment>_<33 base-62 characters of 192 random bits><6 of a checksum>`. With the checksum, mistyped
 * and invented tokens are rejected without a query, and secret scanners have no false positives. Only the SHA-256 and the hint of a
 * key are stored.
 */
import { hash, randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const secretBytes = 24;
const secretLength = 33;
const checksumLength = 6;
const form = new RegExp(`^svc_[a-z0-9]{1,16}_[0-9A-Za-z]{${secretLength + checksumLength}}$`);

export function generateKey(environment: string, random: (size: number) => Uint8Array = randomBytes): string {
  const secret = base62(BigInt(`0x${Buffer.from(random(secretBytes)).toString('hex')}`), secretLength);
  const body = `svc_${environment}_${secret}`;
  return body + checksum(body);
}

export function isWellFormedKey(token: string): boolean {
  return form.test(token) && checksum(token.slice(0, -checksumLength)) === token.slice(-checksumLength);
}

export function keyDigest(token: string): string {
  return hash('sha256', token);
}

/** Returns the hint of a key, which identifies it and may be shown. */
export function keyHint(token: string): string {
  return `${token.slice(0, token.lastIndexOf('_') + 5)}…`;
}

function checksum(body: string): string {
  return base62(BigInt(crc32(body)), checksumLength);
}

function base62(value: bigint, length: number): string {
  let rest = value;
  let text = '';
  for (let i = 0; i < length; i += 1) {
    text = alphabet.charAt(Number(rest % 62n)) + text;
    rest /= 62n;
  }
  return text;
}
