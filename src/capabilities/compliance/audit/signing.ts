/**
 * Signed positions of chains, which protect against write access to the database. A token contains the statement and
 * its signature, `base64url(json).base64url(signature)`. It can be checked years later, also without the service and
 * after the signing key was replaced.
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
import { canonicalJson } from '../../../platform/canonical-json.ts';
import type { ChainPosition } from './chain.ts';

/** Signed statement that the chain of a tenant had this hash at this position. */
export interface ChainStatement {
  /** An anchor is the last entry that retention removed; the hash of a redaction is that of its list. */
  readonly kind: 'checkpoint' | 'anchor' | 'redaction';
  readonly org_id: string;
  readonly seq: number;
  readonly hash: string;
  readonly at: string;
  readonly key_id: string;
}

/** A key that tokens are checked with. */
export interface TrustedKey {
  /** Public key: SPKI in PEM. */
  readonly pem: string;
  /** Time when the key was replaced; tokens dated later, apart from an allowance, are rejected. Null: current key. */
  readonly retiredAt: Date | null;
}

/**
 * The date of a token is its own claim, and a stolen key can sign any date. Therefore the entries that a token of a
 * replaced key covers must not be dated later than `notAfter` either.
 */
export interface OpenedStatement extends ChainStatement {
  readonly notAfter: Date | undefined;
}

/** Returns the statement of a token; undefined if the token is invalid or signed with none of the keys. */
export type OpenToken = (token: string) => OpenedStatement | undefined;

/** Allowance for clock differences, and for transactions that started with the replaced key. */
const retirementGraceMs = 5 * 60_000;

/** Creates a private key, PKCS #8 in PEM. */
export function newPrivateKey(): string {
  return generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
}

/** Returns the public key of a private key: SPKI in PEM. */
export function publicPemOf(privatePem: string): string {
  return createPublicKey(privatePem).export({ type: 'spki', format: 'pem' }).toString();
}

/** Identifies a key in tokens. Throws if the text is not a key. */
export function keyIdOf(publicPem: string): string {
  return idOf(createPublicKey(publicPem));
}

function idOf(publicKey: KeyObject): string {
  const der = publicKey.export({ type: 'spki', format: 'der' });
  return createHash('sha256').update(der).digest('hex').slice(0, 16);
}

/** A statement to be signed; the signer adds the key id. */
export type UnsignedStatement = Omit<ChainStatement, 'key_id'>;

/** Parses the key once for many tokens. */
export function tokenSigner(privatePem: string): (said: UnsignedStatement) => string {
  const privateKey = createPrivateKey(privatePem);
  const keyId = idOf(createPublicKey(privateKey));
  return (said) => {
    const bytes = Buffer.from(canonicalJson({ ...said, key_id: keyId } satisfies ChainStatement));
    return `${bytes.toString('base64url')}.${sign(null, bytes, privateKey).toString('base64url')}`;
  };
}

/** Parses the keys once for many tokens. Throws if one is not a key. */
export function tokenOpener(trusted: readonly TrustedKey[]): OpenToken {
  const keys = new Map<string, { readonly publicKey: KeyObject; readonly notAfter: Date | undefined }>();
  for (const { pem, retiredAt } of trusted) {
    const publicKey = createPublicKey(pem);
    const id = idOf(publicKey);
    // If a key is given twice, its earliest retirement counts.
    keys.set(id, { publicKey, notAfter: earlier(keys.get(id)?.notAfter, endOf(retiredAt)) });
  }
  return (token) => {
    const [body = '', signature = ''] = token.split('.');
    const bytes = Buffer.from(body, 'base64url');
    try {
      const statement = JSON.parse(bytes.toString('utf8')) as ChainStatement;
      const key = keys.get(statement.key_id);
      const isGenuine =
        key !== undefined && verify(null, bytes, key.publicKey, Buffer.from(signature, 'base64url'));
      return isGenuine && isWithin(key.notAfter, Date.parse(statement.at))
        ? { ...statement, notAfter: key.notAfter }
        : undefined;
    } catch {
      return undefined;
    }
  };
}

/** Returns whether the statement is about this position. */
export function states(
  said: ChainStatement | undefined,
  kind: ChainStatement['kind'],
  tenantId: string,
  { seq, hash }: ChainPosition,
): boolean {
  return said?.kind === kind && said.org_id === tenantId && said.seq === seq && said.hash === hash;
}

/** Rotation signs all anchors again (`rotation.ts`), so an anchor that is not signed with the current key is forged. */
export function isGenuineAnchor(
  open: OpenToken,
  tenantId: string,
  anchor: ChainPosition & { readonly token: string },
): boolean {
  const said = open(anchor.token);
  return states(said, 'anchor', tenantId, anchor) && said?.notAfter === undefined;
}

/** Returns whether the time is at or before `notAfter`, if set. An invalid time is not. */
export function isWithin(notAfter: Date | undefined, atMs: number): boolean {
  return notAfter === undefined || atMs <= notAfter.getTime();
}

function endOf(retiredAt: Date | null): Date | undefined {
  return retiredAt === null ? undefined : new Date(retiredAt.getTime() + retirementGraceMs);
}

function earlier(one: Date | undefined, other: Date | undefined): Date | undefined {
  return one === undefined || (other !== undefined && other < one) ? other : one;
}
