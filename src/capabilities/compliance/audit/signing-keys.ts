/**
 * The Ed25519 keys that sign for this installation: one that does now, and those that did before. All are stored encrypted
 * under the key of all secrets, which is not in the database. Of a key that is replaced the private half is forgotten and the
 * public one stays, encrypted all the same: nobody who can only write to the database can add one of his own.
 *
 * They are read at each use. Signing is rare, and so every process signs with a new key from the moment it is committed. A row
 * that cannot be opened is not ours, or was changed: it is passed over and told of, and keeps no other from its work.
 */
import { apiError } from '../../../contract/api-error.ts';
import type { Queryable, Transaction } from '../../../platform/db/database.ts';
import { createYielder } from '../../../platform/jobs/yielder.ts';
import type { Secrets } from '../../../platform/secrets/secrets.ts';
import { ServiceUnavailable } from '../../../platform/service-unavailable.ts';
import { keyIdOf, newPrivateKey, publicPemOf, type Said, type TrustedKey, tokenSigner } from './signing.ts';
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
  /** `key_id` of the tokens that it has signed. */
  readonly id: string;
  readonly createdAt: Date;
}

export interface PublicKeys {
  /** The one in use. Undefined: it cannot be read, or somebody has removed it. */
  readonly current: PublicKey | undefined;
  /** The latest first. */
  readonly previous: readonly PublicKey[];
  /** The numbers of rows that the service has not written, or not so. */
  readonly unreadable: readonly number[];
}

export interface Signer {
  sign(db: Queryable, said: Said): Promise<string>;
  signAll(db: Queryable, said: readonly Said[]): Promise<string[]>;
  /** From here on the key is not replaced until the transaction ends. */
  keep(tx: Transaction): Promise<void>;
  publicKeys(db: Queryable): Promise<PublicKeys>;
  /** Puts a new key in the place of the one in use, and drops rows that cannot be read. Returns the keys from before. */
  rotate(tx: Transaction, now: Date): Promise<PublicKeys>;
}

/** They are published for good, so there is an end to it. */
const keysMax = 100;

/** The first key is made at the first start; processes that do so at once agree on one. */
export async function openSigner(db: Queryable, secrets: Secrets, now: Date): Promise<Signer> {
  const newKey = (generation: number, created_at: Date) => ({
    generation,
    sealed: secrets.seal(newPrivateKey(), privateContext(generation)),
    created_at,
  });
  await insertFirstKey(db, newKey(1, now));
  const current = async (queryable: Queryable) => {
    const row = await findCurrentKey(queryable);
    if (row === undefined) {
      throw new ServiceUnavailable(
        'there is no key that signs audit logs: restore it from a backup, or replace it',
      );
    }
    return row;
  };
  const privatePem = ({ sealed, generation }: SigningKeyRow) =>
    secrets.open(sealed, privateContext(generation));
  const publicKeyOf = (row: SigningKeyRow): PublicKey | undefined => {
    try {
      const pem =
        row.retired_at === null
          ? publicPemOf(privatePem(row))
          : secrets.open(row.sealed, retiredContext(row));
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

  async function signAll(queryable: Queryable, said: readonly Said[]): Promise<string[]> {
    const row = await current(queryable);
    if (publicKeyOf(row) === undefined) {
      throw new ServiceUnavailable(
        `key ${row.generation}, which signs audit logs, cannot be read: restore it from a backup, or replace it`,
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
      // What they have signed, if they have signed anything, can be checked by nobody any more.
      await deleteSigningKeys(tx, before.unreadable);
      // Of those that are left nobody else can have chosen the number.
      const rows = await selectSigningKeys(tx);
      const latest = rows[0]?.generation ?? 0;
      if (latest >= keysMax) {
        throw apiError('conflict', `There have been ${keysMax} keys, which is the most.`);
      }
      const inUse = rows.find(({ retired_at }) => retired_at === null);
      if (inUse !== undefined && before.current !== undefined) {
        const retired = { generation: inUse.generation, retired_at: at };
        const sealed = secrets.seal(before.current.pem, retiredContext(retired));
        await retireSigningKey(tx, { ...retired, sealed });
      }
      await insertSigningKey(tx, newKey(latest + 1, at));
      return before;
    },
  };
}

/** Binds the private half to its place, so that a key from before cannot be put there again. The first had no number. */
function privateContext(generation: number): string {
  return generation === 1 ? 'audit_signing_key' : `audit_signing_key ${generation}`;
}

/** Binds the public half to when it was retired: neither can be changed without the other. */
function retiredContext({
  generation,
  retired_at,
}: Pick<SigningKeyRow, 'generation' | 'retired_at'>): string {
  return `audit_signing_key ${generation} until ${retired_at?.toISOString()}`;
}
