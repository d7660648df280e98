/**
 * Secrets that are stored to be used again, such as those that sign webhooks. They are encrypted with one key,
 * `SVC_SECRETS_KEY`. Without this setting the key is created in the data directory, readable only by the user of this
 * process. Every process on one database needs the same key; a process with another key does not start, since it could
 * neither sign nor read what the others wrote.
 */
import { createHmac, createSecretKey, hkdfSync, randomBytes, randomUUID } from 'node:crypto';
import { link, open, readFile, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import type { Queryable } from '../db/database.ts';
import { makeDirectory, syncDirectory } from '../files/durable-files.ts';
import { decrypt, encrypt } from './encryption.ts';

export interface Secrets {
  /** Encrypts a secret. `context` names its owner, such as a subscription. */
  encrypt(secret: string, context: string): Buffer;
  decrypt(sealed: Uint8Array, context: string): string;
  /** Returns the HMAC of a text. `context` names its purpose. */
  sign(text: string, context: string): Buffer;
  /** Like `sign`, for many texts of one context: the key is derived once. */
  signer(context: string): (text: string) => Buffer;
}

export interface SecretsOptions {
  readonly dataDir: string;
  /** The key that the operator has set; undefined if the setting is absent. */
  readonly key: Buffer | undefined;
}

export const secretsKeyBytes = 32;
const fileName = 'secrets-key';
const checkContext = 'secrets_key_check';

export function createSecrets(key: Buffer): Secrets {
  const signer = (context: string) => {
    const signingKey = createSecretKey(
      Buffer.from(hkdfSync('sha256', key, '', `sign ${context}`, secretsKeyBytes)),
    );
    return (text: string) => createHmac('sha256', signingKey).update(text).digest();
  };
  return {
    encrypt: (secret, context) => encrypt(secret, key, context),
    decrypt: (sealed, context) => decrypt(sealed, key, context),
    sign: (text, context) => signer(context)(text),
    signer,
  };
}

export async function openSecrets(db: Queryable, { dataDir, key }: SecretsOptions): Promise<Secrets> {
  const file = join(dataDir, fileName);
  const found = key ?? (await readKey(file));
  if (found === undefined && (await readCheck(db)) !== undefined) {
    throw new Error(
      `the database holds secrets, and there is neither SVC_SECRETS_KEY nor ${file} to open them: ` +
        'give every process on this database the same SVC_SECRETS_KEY, the one that it was started with first',
    );
  }
  const used = found ?? (await makeKey(dataDir, file));
  const secrets = createSecrets(used);
  await db.query('INSERT INTO secrets_key_check (sealed) VALUES ($1) ON CONFLICT DO NOTHING', [
    secrets.encrypt(checkContext, checkContext),
  ]);
  const check = await readCheck(db);
  try {
    secrets.decrypt(check ?? Buffer.alloc(0), checkContext);
  } catch {
    const source = key === undefined ? `the key in ${file}` : 'SVC_SECRETS_KEY';
    throw new Error(
      `${source} cannot open the secrets in the database, which were stored with another key: ` +
        'give every process on this database the same SVC_SECRETS_KEY, the one that it was started with first',
    );
  }
  return secrets;
}

async function readCheck(db: Queryable): Promise<Uint8Array | undefined> {
  const [row] = await db.query<{ sealed: Uint8Array }>('SELECT sealed FROM secrets_key_check', []);
  return row?.sealed;
}

async function readKey(file: string): Promise<Buffer | undefined> {
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') {
      return undefined;
    }
    throw error;
  }
  const key = parseSecretsKey(text.trim());
  if (key === undefined) {
    throw new Error(`${file} does not hold a key: restore it, or set SVC_SECRETS_KEY`);
  }
  return key;
}

/** Several processes may share the directory: one of them creates the file, atomically. */
async function makeKey(dataDir: string, file: string): Promise<Buffer> {
  const key = randomBytes(secretsKeyBytes);
  const draft = `${file}.${randomUUID()}`;
  makeDirectory(dataDir);
  const handle = await open(draft, 'w', 0o600);
  try {
    await handle.writeFile(`${key.toString('base64')}\n`);
    await handle.sync();
  } finally {
    await handle.close();
  }
  try {
    await link(draft, file);
    syncDirectory(dataDir);
    return key;
  } catch (error) {
    const made = (error as NodeJS.ErrnoException).code === 'EEXIST' ? await readKey(file) : undefined;
    if (made === undefined) {
      throw error;
    }
    return made;
  } finally {
    await unlink(draft);
  }
}

/** Parses 32 bytes, as 64 hexadecimal digits or in base64; undefined if it is neither. */
export function parseSecretsKey(text: string): Buffer | undefined {
  const key = /^[0-9a-f]{64}$/i.test(text) ? Buffer.from(text, 'hex') : Buffer.from(text, 'base64');
  const isWhole = /^[0-9a-f]{64}$/i.test(text) || /^[A-Za-z0-9+/_-]{43}=?$/.test(text);
  return isWhole && key.length === secretsKeyBytes ? key : undefined;
}
