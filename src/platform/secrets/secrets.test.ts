import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { makePlace, openPlace, type Place } from '../../../test/support/test-database.ts';
import type { Database } from '../db/database.ts';
import { parseSecretsKey } from './key-ring.ts';
import { openSecrets } from './secrets.ts';

let place: Place;
let db: Database;
let dataDir: string;

beforeEach(async () => {
  place = await makePlace({ migrated: true });
  db = await openPlace(place);
  dataDir = mkdtempSync(join(tmpdir(), 'purser-secrets-'));
});
afterEach(async () => {
  await db.close();
  await place.remove();
  rmSync(dataDir, { recursive: true, force: true });
});

const file = () => join(dataDir, 'secrets-key');

test('without a setting a key is made once, for its owner alone, and found again', async () => {
  const [one, two] = await Promise.all([
    openSecrets(db, { dataDir, keys: undefined }),
    openSecrets(db, { dataDir, keys: undefined }),
  ]);
  expect(statSync(file()).mode & 0o777).toBe(0o600);
  const sealed = one.encrypt('whsec_a', 'mine');
  expect(two.decrypt(sealed, 'mine')).toBe('whsec_a');
  expect((await openSecrets(db, { dataDir, keys: undefined })).decrypt(sealed, 'mine')).toBe('whsec_a');
  // The content of the file can be used as the setting.
  const key = parseSecretsKey(readFileSync(file(), 'utf8').trim());
  expect((await openSecrets(db, { dataDir: '/nowhere', keys: key && [key] })).decrypt(sealed, 'mine')).toBe(
    'whsec_a',
  );
});

test('a secret can only be decrypted unchanged and in its own context', async () => {
  const secrets = await openSecrets(db, { dataDir, keys: undefined });
  const sealed = secrets.encrypt('whsec_a', 'mine');
  expect(sealed.includes('whsec_a')).toBe(false);
  expect(secrets.encrypt('whsec_a', 'mine').equals(sealed)).toBe(false);
  expect(() => secrets.decrypt(sealed, 'theirs')).toThrow();
  sealed[sealed.length - 1] = (sealed.at(-1) ?? 0) ^ 1;
  expect(() => secrets.decrypt(sealed, 'mine')).toThrow();
  expect(() => secrets.decrypt(Buffer.alloc(0), 'mine')).toThrow();
});

test('does not start with another key, and does not replace a lost one', async () => {
  await openSecrets(db, { dataDir, keys: undefined });
  const other = Buffer.alloc(32, 7);
  await expect(openSecrets(db, { dataDir, keys: [other] })).rejects.toThrow(/^SVC_SECRETS_KEY cannot open/);
  writeFileSync(file(), `${other.toString('base64')}\n`);
  await expect(openSecrets(db, { dataDir, keys: undefined })).rejects.toThrow(/SVC_SECRETS_KEY/);
  writeFileSync(file(), 'half a key');
  await expect(openSecrets(db, { dataDir, keys: undefined })).rejects.toThrow(/does not hold a key/);
  rmSync(file());
  await expect(openSecrets(db, { dataDir, keys: undefined })).rejects.toThrow(/neither SVC_SECRETS_KEY nor/);
  expect(() => statSync(file())).toThrow();
});

test('a key is 32 bytes, in hex or base64', () => {
  const key = Buffer.alloc(32, 0xfb);
  for (const text of [
    key.toString('hex'),
    key.toString('hex').toUpperCase(),
    key.toString('base64'),
    key.toString('base64url'),
  ]) {
    expect(parseSecretsKey(text)).toEqual(key);
  }
  for (const text of [
    '',
    'secret',
    key.toString('hex').slice(2),
    `${key.toString('base64')}AAAA`,
    'x'.repeat(44),
  ]) {
    expect(parseSecretsKey(text)).toBeUndefined();
  }
});
