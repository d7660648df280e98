/**
 * Secrets that are stored for later use, such as the signing secrets of webhooks. They are encrypted with `SVC_SECRETS_KEY`.
 * Without this setting the key is created in the data directory, readable only by the user of this process. All processes on one
 * database need the same keys. A process that lacks one does not start, because it could neither sign nor read values that the
 * others wrote.
 */
import { createHmac, createSecretKey, hkdfSync, timingSafeEqual } from 'node:crypto';
import type { Queryable } from '../db/database.ts';
import { decrypt, encrypt } from './encryption.ts';
import { insertUsedKey, processesWithoutKey, readCheck, readDigestKey, readUsedKeys } from './key-queries.ts';
import { createKeyFile, keyIdOf, readKeyFile, secretsKeyBytes, secretsKeyFile } from './key-ring.ts';

export interface Secrets {
  /** Encrypts a secret with the current key. `context` names its owner, such as a subscription. */
  encrypt(secret: string, context: string): Buffer;
  /** Decrypts a secret with the key that it was encrypted with. */
  decrypt(sealed: Uint8Array, context: string): string;
  /** Returns true if the secret is encrypted with the current key. Throws if no key decrypts it. */
  isCurrent(sealed: Uint8Array, context: string): boolean;
  /**
   * Returns the HMAC of a text. Its key does not change in a rotation, so it is for digests that cannot be computed again.
   * `context` names its purpose.
   */
  sign(text: string, context: string): Buffer;
  /** Returns a function like `sign` for many texts of one context. It derives the key only once. */
  signer(context: string): (text: string) => Buffer;
  /** Returns HMACs under the current key, for records that a rotation signs again. */
  authenticator(context: string): Authenticator;
  /** Ids of the keys; the first one encrypts. */
  keyIds(): readonly string[];
}

export interface Authenticator {
  sign(text: string): Buffer;
  /** Accepts HMACs under any of the keys. */
  verify(text: string, mac: Uint8Array): boolean;
}

/** Secrets whose keys can be replaced while they are in use. */
export interface RotatableSecrets extends Secrets {
  replaceKeys(keys: readonly Buffer[]): void;
  /** The key of `sign`, which the first rotation stores. */
  readonly digestKey: Buffer;
}

export interface SecretsOptions {
  readonly dataDir: string;
  /** The keys from the settings; undefined if the setting is absent. */
  readonly keys: readonly Buffer[] | undefined;
}

export const checkContext = 'secrets_key_check';
export const digestKeyContext = 'secrets_digest_key';

export function createSecrets(
  keys: readonly Buffer[],
  digestKey: Buffer = keys[0] as Buffer,
): RotatableSecrets {
  let ring = keys;
  const hmacKey = (key: Buffer, context: string) =>
    createSecretKey(Buffer.from(hkdfSync('sha256', key, '', `sign ${context}`, secretsKeyBytes)));
  const signer = (context: string) => {
    const signingKey = hmacKey(digestKey, context);
    return (text: string) => createHmac('sha256', signingKey).update(text).digest();
  };
  return {
    digestKey,
    replaceKeys(next) {
      ring = next;
    },
    keyIds: () => ring.map(keyIdOf),
    encrypt: (secret, context) => encrypt(secret, ring[0] as Buffer, context),
    decrypt: (sealed, context) => opened(ring, sealed, context).text,
    isCurrent: (sealed, context) => opened(ring, sealed, context).key === ring[0],
    sign: (text, context) => signer(context)(text),
    signer,
    authenticator(context) {
      let derivedFrom: readonly Buffer[] | undefined;
      let derived: ReturnType<typeof hmacKey>[] = [];
      const macKeys = () => {
        if (derivedFrom !== ring) {
          derived = ring.map((key) => hmacKey(key, context));
          derivedFrom = ring;
        }
        return derived;
      };
      const mac = (key: (typeof derived)[number], text: string) =>
        createHmac('sha256', key).update(text).digest();
      return {
        sign: (text) => mac(macKeys()[0] as (typeof derived)[number], text),
        verify: (text, given) =>
          macKeys().some((key) => {
            const expected = mac(key, text);
            return given.length === expected.length && timingSafeEqual(given, expected);
          }),
      };
    },
  };
}

/** Decrypts with the matching key. The ciphertext is authenticated, so only one key matches. */
function opened(
  keys: readonly Buffer[],
  sealed: Uint8Array,
  context: string,
): { readonly key: Buffer; readonly text: string } {
  let failure: unknown;
  for (const key of keys) {
    try {
      return { key, text: decrypt(sealed, key, context) };
    } catch (error) {
      failure ??= error;
    }
  }
  throw failure;
}

export async function openSecrets(db: Queryable, options: SecretsOptions): Promise<RotatableSecrets> {
  const file = secretsKeyFile(options.dataDir);
  const found = options.keys ?? readKeyFile(file);
  if (found === undefined && (await readCheck(db)) !== undefined) {
    throw new Error(
      `the database holds secrets, and there is neither SVC_SECRETS_KEY nor ${file} to open them: ` +
        'give every process on this database the same SVC_SECRETS_KEY, the one that it was started with first',
    );
  }
  const keys = found ?? (await createKeyFile(options.dataDir));
  await db.query('INSERT INTO secrets_key_check (sealed) VALUES ($1) ON CONFLICT DO NOTHING', [
    encrypt(checkContext, keys[0] as Buffer, checkContext),
  ]);
  const source = options.keys === undefined ? `the key in ${file}` : 'SVC_SECRETS_KEY';
  const checked = findKey(keys, (await readCheck(db)) ?? new Uint8Array(), checkContext);
  if (checked === undefined) {
    throw new Error(
      `${source} cannot open the secrets in the database, which were stored with another key: ` +
        'give every process on this database the same SVC_SECRETS_KEY, the one that it was started with first',
    );
  }
  await requireUsedKeys(db, keys, source);
  const stored = await readDigestKey(db);
  const digestKey =
    stored === undefined
      ? checked
      : Buffer.from(createSecrets(keys).decrypt(stored, digestKeyContext), 'base64');
  await useFirstKey(db, keys, checked);
  return createSecrets(keys, digestKey);
}

/** Returns the key that decrypts a known text; undefined if none does. */
export function findKey(keys: readonly Buffer[], sealed: Uint8Array, context: string): Buffer | undefined {
  try {
    return opened(keys, sealed, context).key;
  } catch {
    return undefined;
  }
}

async function requireUsedKeys(db: Queryable, keys: readonly Buffer[], source: string): Promise<void> {
  const missing = (await readUsedKeys(db)).filter(
    ({ sealed }) => findKey(keys, sealed, checkContext) === undefined,
  );
  if (missing.length > 0) {
    throw new Error(
      `${source} lacks the key ${missing.map(({ id }) => id).join(', ')}, which encrypted secrets in the database: ` +
        'a rotation is in progress. Add that key to SVC_SECRETS_KEY.',
    );
  }
}

/** Records a key before its first use for encryption, because processes without it could not read the encrypted values. */
export async function useFirstKey(
  db: Queryable,
  keys: readonly Buffer[],
  checked: Buffer | undefined,
): Promise<void> {
  const [first] = keys as readonly [Buffer];
  const id = keyIdOf(first);
  if (first === checked || (await readUsedKeys(db)).some((used) => used.id === id)) {
    return;
  }
  const without = await processesWithoutKey(db, id);
  if (without > 0) {
    throw new Error(
      `${without} running processes do not have the first key of SVC_SECRETS_KEY (${id}) yet and could not read what it ` +
        'encrypts: put the new key behind the old one and restart every process, then put it first',
    );
  }
  await insertUsedKey(db, id, encrypt(checkContext, first, checkContext));
}
