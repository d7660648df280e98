/**
 * Signed places of chains, so that somebody who can write to the database still cannot pretend: the Ed25519 key that signs
 * is stored encrypted under the key of all secrets, which is not in the database. A token holds what is signed and the
 * signature, `base64url(json).base64url(signature)`; whoever keeps one can have it checked years later, also without us.
 */
import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  sign,
  verify,
} from 'node:crypto';
import { canonicalJson } from '../../platform/canonical-json.ts';
import type { Queryable } from '../../platform/db/database.ts';
import type { Secrets } from '../../platform/secrets.ts';

/** What is signed: that the chain of a tenant had this hash at this place. */
export interface Statement {
  /** An anchor is the last entry that retention removed; of a redaction the hash is that of its list. */
  readonly kind: 'checkpoint' | 'anchor' | 'redaction';
  readonly org_id: string;
  readonly seq: number;
  readonly hash: string;
  readonly at: string;
  readonly key_id: string;
}

export interface PublicKey {
  readonly id: string;
  /** SPKI in PEM. */
  readonly pem: string;
}

export interface Signer {
  readonly publicKey: PublicKey;
  sign(statement: Omit<Statement, 'key_id'>): string;
}

const context = 'audit_signing_key';

/** The key is made at the first start; processes that do so at once agree on one. */
export async function openSigner(db: Queryable, secrets: Secrets, now: Date): Promise<Signer> {
  const sealed = (await readSealed(db)) ?? (await makeKey(db, secrets, now));
  const privateKey = createPrivateKey(secrets.open(sealed, context));
  const publicKey = publicKeyOf(privateKey);
  return {
    publicKey,
    sign(said) {
      const statement: Statement = { ...said, key_id: publicKey.id };
      const bytes = Buffer.from(canonicalJson(statement));
      const signature = sign(null, bytes, privateKey);
      return `${bytes.toString('base64url')}.${signature.toString('base64url')}`;
    },
  };
}

async function makeKey(db: Queryable, secrets: Secrets, now: Date): Promise<Uint8Array> {
  const { privateKey } = generateKeyPairSync('ed25519');
  const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  await db.query(
    'INSERT INTO audit_signing_keys (sealed, created_at) VALUES ($1, $2) ON CONFLICT DO NOTHING',
    [secrets.seal(pem, context), now],
  );
  const sealed = await readSealed(db);
  if (sealed === undefined) {
    throw new Error('the signing key that was just made is missing');
  }
  return sealed;
}

async function readSealed(db: Queryable): Promise<Uint8Array | undefined> {
  const [row] = await db.query<{ sealed: Uint8Array }>('SELECT sealed FROM audit_signing_keys', []);
  return row?.sealed;
}

function publicKeyOf(privateKey: KeyObject): PublicKey {
  const publicKey = createPublicKey(privateKey);
  const der = publicKey.export({ type: 'spki', format: 'der' });
  return {
    id: createHash('sha256').update(der).digest('hex').slice(0, 16),
    pem: publicKey.export({ type: 'spki', format: 'pem' }).toString(),
  };
}

/** Parsed once for many tokens. Throws when it is no key. */
export function readPublicKey(pem: string): KeyObject {
  return createPublicKey(pem);
}

/** What a token states; undefined when it is none, or this key did not sign it. */
export function openToken(token: string, publicKey: KeyObject): Statement | undefined {
  const [body = '', signature = ''] = token.split('.');
  const bytes = Buffer.from(body, 'base64url');
  try {
    const genuine = verify(null, bytes, publicKey, Buffer.from(signature, 'base64url'));
    return genuine ? (JSON.parse(bytes.toString('utf8')) as Statement) : undefined;
  } catch {
    return undefined;
  }
}
