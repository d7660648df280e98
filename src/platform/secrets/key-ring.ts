/**
 * The encryption keys of a process. The first one encrypts; all of them decrypt, so that a key can be rotated while the service
 * runs. Keys come from `SVC_SECRETS_KEY`, separated by commas, or from a file in the data directory, one per line.
 */
import { hash, hkdfSync, randomBytes, randomUUID } from 'node:crypto';
import { link, open, rename, unlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { makeDirectory, readIfPresent, syncDirectory } from '../files/durable-files.ts';

export const secretsKeyBytes = 32;
const fileName = 'secrets-key';

export function secretsKeyFile(dataDir: string): string {
  return join(dataDir, fileName);
}

/** Returns a public id of a key, which reveals nothing about the key. */
export function keyIdOf(key: Buffer): string {
  return hash('sha256', Buffer.from(hkdfSync('sha256', key, '', 'id of the key', secretsKeyBytes))).slice(
    0,
    12,
  );
}

export function readKeyFile(file: string): Buffer[] | undefined {
  const text = readIfPresent(file);
  const keys = text === undefined ? undefined : parseSecretsKeys(text.trim().split(/\s+/).join());
  if (text !== undefined && keys === undefined) {
    throw new Error(`${file} does not hold a key: restore it, or set SVC_SECRETS_KEY`);
  }
  return keys;
}

/** Creates the key file atomically. If several processes share the directory, one of them creates it. */
export async function createKeyFile(dataDir: string): Promise<Buffer[]> {
  const file = secretsKeyFile(dataDir);
  const key = randomBytes(secretsKeyBytes);
  makeDirectory(dataDir);
  const draft = await writeDraft(file, [key]);
  try {
    await link(draft, file);
    syncDirectory(dataDir);
    return [key];
  } catch (error) {
    const existing = (error as NodeJS.ErrnoException).code === 'EEXIST' ? readKeyFile(file) : undefined;
    if (existing === undefined) {
      throw error;
    }
    return existing;
  } finally {
    await unlink(draft);
  }
}

export async function replaceKeyFile(file: string, keys: readonly Buffer[]): Promise<void> {
  await rename(await writeDraft(file, keys), file);
  syncDirectory(dirname(file));
}

async function writeDraft(file: string, keys: readonly Buffer[]): Promise<string> {
  const draft = `${file}.${randomUUID()}`;
  const handle = await open(draft, 'w', 0o600);
  try {
    await handle.writeFile(keys.map((key) => `${key.toString('base64')}\n`).join(''));
    await handle.sync();
  } finally {
    await handle.close();
  }
  return draft;
}

const keysMax = 10;

/** Parses keys that are separated by commas. Returns undefined if there are too many, or if one of them is not a key. */
export function parseSecretsKeys(text: string): Buffer[] | undefined {
  const keys = text.split(',').map((part) => parseSecretsKey(part.trim()));
  return keys.length <= keysMax && keys.every((key) => key !== undefined) ? keys : undefined;
}

/** Parses a key of 32 bytes, as 64 hexadecimal digits or in base64; undefined if it is neither. */
export function parseSecretsKey(text: string): Buffer | undefined {
  const key = /^[0-9a-f]{64}$/i.test(text) ? Buffer.from(text, 'hex') : Buffer.from(text, 'base64');
  const isWhole = /^[0-9a-f]{64}$/i.test(text) || /^[A-Za-z0-9+/_-]{43}=?$/.test(text);
  return isWhole && key.length === secretsKeyBytes ? key : undefined;
}
