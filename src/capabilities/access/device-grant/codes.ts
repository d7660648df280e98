/** Device codes, which the tool keeps, and user codes, which a person compares or types. Only their digests are stored. */
import { hash, randomBytes, randomInt } from 'node:crypto';
import type { Secrets } from '../../../platform/secrets/secrets.ts';

const deviceCodeBytes = 32;
/** Letters that are not mistaken for each other and form no words (RFC 8628 §6.1). */
const letters = 'BCDFGHJKLMNPQRSTVWXZ';
const groupLength = 4;
const groupCount = 2;
const deviceCodeForm = /^[A-Za-z0-9_-]{43}$/;

export function newDeviceCode(): string {
  return randomBytes(deviceCodeBytes).toString('base64url');
}

export function newUserCode(): string {
  const group = () => Array.from({ length: groupLength }, () => letters.charAt(randomInt(letters.length)));
  return Array.from({ length: groupCount }, () => group().join('')).join('-');
}

/** Returns the digest; undefined for a text that cannot be a device code. */
export function deviceCodeDigest(code: string): string | undefined {
  return deviceCodeForm.test(code) ? hash('sha256', code) : undefined;
}

/** Returns the user code as it is shown; undefined for a text that cannot be one. Case, spaces and dashes do not matter. */
export function normalizedUserCode(typed: string): string | undefined {
  const text = typed.toUpperCase().replace(/[\s-]/g, '');
  const isCode =
    text.length === groupLength * groupCount && [...text].every((char) => letters.includes(char));
  return isCode ? `${text.slice(0, groupLength)}-${text.slice(groupLength)}` : undefined;
}

/** User codes have few characters, so their digests are keyed. */
export function createUserCodeDigest(secrets: Pick<Secrets, 'signer'>): (userCode: string) => string {
  const sign = secrets.signer('user code');
  return (userCode) => sign(userCode).toString('hex');
}
