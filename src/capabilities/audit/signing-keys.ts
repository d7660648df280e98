/**
 * The Ed25519 keys that sign for this installation: one that does now, and those that did before. All are stored encrypted
 * under the key of all secrets, which is not in the database. Of a key that is replaced the private half is forgotten and the
 * public one stays, encrypted all the same: nobody who can only write to the database can add one of his own.
 *
 * They are read at each use. Signing is rare, and so every process signs with a new key from the moment it is committed.
 */
import { refuse } from '../../contract/refusal.ts';
import type { Queryable, Transaction } from '../../platform/db/database.ts';
import type { Secrets } from '../../platform/secrets.ts';
import {
  keyIdOf,
  newPrivateKey,
  publicPemOf,
  type Statement,
  signToken,
  type TrustedKey,
} from './signing.ts';
import {
  findCurrentKey,
  insertSigningKey,
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

export interface Signer {
  sign(db: Queryable, said: Omit<Statement, 'key_id'>): Promise<string>;
  /** The one in use, and then the others, the latest first. */
  publicKeys(db: Queryable): Promise<readonly PublicKey[]>;
  /** Puts a new key in the place of the one in use. */
  rotate(tx: Transaction, now: Date): Promise<void>;
}

/** They are published for good, so there is an end to it. */
const keysMax = 100;

/** The first key is made at the first start; processes that do so at once agree on one. */
export async function openSigner(db: Queryable, secrets: Secrets, now: Date): Promise<Signer> {
  const sealNew = () => secrets.seal(newPrivateKey(), signingContext);
  await insertSigningKey(db, { generation: 1, sealed: sealNew(), created_at: now });
  const current = async (queryable: Queryable) => {
    const row = await findCurrentKey(queryable);
    if (row === undefined) {
      throw new Error('there is no key that signs audit logs');
    }
    return row;
  };
  const privatePem = ({ sealed }: SigningKeyRow) => secrets.open(sealed, signingContext);
  const publicPem = (row: SigningKeyRow) =>
    row.retired_at === null ? publicPemOf(privatePem(row)) : secrets.open(row.sealed, retiredContext(row));

  return {
    sign: async (queryable, said) => signToken(said, privatePem(await current(queryable))),
    async publicKeys(queryable) {
      const rows = await selectSigningKeys(queryable);
      return rows.map((row) => {
        const pem = publicPem(row);
        return { id: keyIdOf(pem), pem, createdAt: row.created_at, retiredAt: row.retired_at };
      });
    },
    async rotate(tx, at) {
      await lockSigningKeys(tx);
      const old = await current(tx);
      if (old.generation >= keysMax) {
        throw refuse('conflict', `There have been ${keysMax} keys, which is the most.`);
      }
      const retired = { generation: old.generation, retired_at: at };
      await retireSigningKey(tx, {
        ...retired,
        sealed: secrets.seal(publicPem(old), retiredContext(retired)),
      });
      await insertSigningKey(tx, { generation: old.generation + 1, sealed: sealNew(), created_at: at });
    },
  };
}

const signingContext = 'audit_signing_key';

/** Binds the public half to when it was retired: neither can be changed without the other. */
function retiredContext({
  generation,
  retired_at,
}: Pick<SigningKeyRow, 'generation' | 'retired_at'>): string {
  return `audit_signing_key ${generation} until ${retired_at?.toISOString()}`;
}
