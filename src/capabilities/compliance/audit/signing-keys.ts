/**
 * The Ed25519 signing keys of this installation: the current one and its predecessors. All are stored encrypted under
 * the encryption key, which is not in the database. When a key is replaced its private half is deleted and its public
 * half is kept, also encrypted, so that write access to the database is not enough to add a key.
 *
 * Keys are read at each use. Signing is rare, and this way every process uses a new key as soon as it is committed. A
 * row that cannot be decrypted was not written by the service, or was changed: it is skipped and reported, and does not
 * affect the others.
 */
import { apiError } from '../../../contract/api-error.ts';
import type { Queryable, Transaction } from '../../../platform/db/database.ts';
import { createYielder } from '../../../platform/jobs/yielder.ts';
import type { EncryptedColumn } from '../../../platform/secrets/encrypted-columns.ts';
import type { Secrets } from '../../../platform/secrets/secrets.ts';
import { ServiceUnavailable } from '../../../platform/service-unavailable.ts';
import {
  keyIdOf,
  newPrivateKey,
  publicPemOf,
  type TrustedKey,
  tokenSigner,
  type UnsignedStatement,
} from './signing.ts';
import {
  deleteSigningKeys,
  findCurrentKey,
  insertFirstKey,
  insertSigningKey,
  keepSigningKeys,
  lockSigningKeys,
  retireSigningKey,
  type SigningKeyRow,
  selectSigningKeys,
} from './signing-queries.ts';

export interface PublicKey extends TrustedKey {
  /** `key_id` of the tokens that this key signed. */
  readonly id: string;
  readonly createdAt: Date;
}

export interface PublicKeys {
  /** The current key. Undefined if it cannot be read, or was deleted. */
  readonly current: PublicKey | undefined;
  /** Previous keys, latest first. */
  readonly previous: readonly PublicKey[];
  /** Numbers of the rows that cannot be decrypted. */
  readonly unreadable: readonly number[];
}

export interface Signer {
  sign(db: Queryable, said: UnsignedStatement): Promise<string>;
  signAll(db: Queryable, said: readonly UnsignedStatement[]): Promise<string[]>;
  /** Prevents rotation of the key until the transaction ends. */
  keep(tx: Transaction): Promise<void>;
  publicKeys(db: Queryable): Promise<PublicKeys>;
  /** Replaces the current key and drops unreadable rows. Returns the keys before the rotation. */
  rotate(tx: Transaction, now: Date): Promise<PublicKeys>;
}

/** Maximum number of keys, because old keys stay published permanently. */
const keysMax = 100;

/** Creates the first key at the first start; processes that start at the same time agree on one. */
export async function openSigner(db: Queryable, secrets: Secrets, now: Date): Promise<Signer> {
  const newKey = (generation: number, created_at: Date) => ({
    generation,
    sealed: secrets.encrypt(newPrivateKey(), privateContext(generation)),
    created_at,
  });
  await insertFirstKey(db, newKey(1, now));
  const current = async (queryable: Queryable) => {
    const row = await findCurrentKey(queryable);
    if (row === undefined) {
      throw new ServiceUnavailable('audit signing key is missing: restore it from a backup, or rotate it');
    }
    return row;
  };
  const privatePem = ({ sealed, generation }: SigningKeyRow) =>
    secrets.decrypt(sealed, privateContext(generation));
  const publicKeyOf = (row: SigningKeyRow): PublicKey | undefined => {
    try {
      const pem =
        row.retired_at === null
          ? publicPemOf(privatePem(row))
          : secrets.decrypt(row.sealed, retiredContext(row));
      return { id: keyIdOf(pem), pem, createdAt: row.created_at, retiredAt: row.retired_at };
    } catch {
      return undefined;
    }
  };

  async function publicKeys(queryable: Queryable): Promise<PublicKeys> {
    const rows = await selectSigningKeys(queryable);
    const keys = rows.flatMap((row) => publicKeyOf(row) ?? []);
    return {
      current: keys.find(({ retiredAt }) => retiredAt === null),
      previous: keys.filter(({ retiredAt }) => retiredAt !== null),
      unreadable: rows.filter((row) => publicKeyOf(row) === undefined).map(({ generation }) => generation),
    };
  }

  async function signAll(queryable: Queryable, said: readonly UnsignedStatement[]): Promise<string[]> {
    const row = await current(queryable);
    if (publicKeyOf(row) === undefined) {
      throw new ServiceUnavailable(
        `audit signing key ${row.generation} cannot be read: restore it from a backup, or rotate it`,
      );
    }
    const signOne = tokenSigner(privatePem(row));
    const yielder = createYielder();
    const tokens: string[] = [];
    for (const one of said) {
      tokens.push(signOne(one));
      await yielder.yieldIfDue();
    }
    return tokens;
  }

  return {
    signAll,
    sign: async (queryable, said) => (await signAll(queryable, [said]))[0] as string,
    keep: keepSigningKeys,
    publicKeys,
    async rotate(tx, at) {
      await lockSigningKeys(tx);
      const before = await publicKeys(tx);
      // If an unreadable key has signed anything, those signatures can no longer be checked.
      await deleteSigningKeys(tx, before.unreadable);
      // All remaining rows are authentic, so their numbers can be trusted.
      const rows = await selectSigningKeys(tx);
      const latest = rows[0]?.generation ?? 0;
      if (latest >= keysMax) {
        throw apiError('conflict', `The maximum of ${keysMax} keys has been reached.`);
      }
      const inUse = rows.find(({ retired_at }) => retired_at === null);
      if (inUse !== undefined && before.current !== undefined) {
        const retired = { generation: inUse.generation, retired_at: at };
        const sealed = secrets.encrypt(before.current.pem, retiredContext(retired));
        await retireSigningKey(tx, { ...retired, sealed });
      }
      await insertSigningKey(tx, newKey(latest + 1, at));
      return before;
    },
  };
}

/**
 * Binds the private half to its generation, so that an older key cannot be put in its place. The first generation had
 * no number.
 */
function privateContext(generation: number): string {
  return generation === 1 ? 'audit_signing_key' : `audit_signing_key ${generation}`;
}

/** Binds the public half to the time of its retirement: neither can be changed without the other. */
function retiredContext({
  generation,
  retired_at,
}: Pick<SigningKeyRow, 'generation' | 'retired_at'>): string {
  return `audit_signing_key ${generation} until ${retired_at?.toISOString()}`;
}

export const encryptedColumns: readonly EncryptedColumn[] = [
  {
    table: 'audit_signing_keys',
    column: 'sealed',
    type: 'bytea',
    key: { generation: 'int4' },
    others: ['retired_at'],
    contextOf: ({ generation, retired_at }) =>
      retired_at === null
        ? privateContext(generation as number)
        : retiredContext({ generation: generation as number, retired_at: retired_at as Date }),
  },
];
