/**
 * Signed places of chains, so that somebody who can write to the database still cannot pretend. A token holds what is signed
 * and the signature, `base64url(json).base64url(signature)`; whoever keeps one can have it checked years later, also without
 * us and after the key that signed it was replaced.
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
import type { ChainPlace } from './chain.ts';

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

/** A key that tokens are checked with. */
export interface TrustedKey {
  /** SPKI in PEM. */
  readonly pem: string;
  /** When it was replaced: what it is said to have signed later is not believed. Null: it is in use. */
  readonly retiredAt: Date | null;
}

/**
 * When a token was made is its own claim, and whoever stole a key can claim any time. So of a key that was replaced more is
 * asked: what it speaks of must not be dated later than `notAfter` either.
 */
export interface OpenedStatement extends Statement {
  readonly notAfter: Date | undefined;
}

/** What a token states; undefined when it is none, or none of the keys has signed it. */
export type OpenToken = (token: string) => OpenedStatement | undefined;

/** How far clocks may differ, and how long a transaction may take that has begun with the key that is replaced. */
const retirementGraceMs = 5 * 60_000;

/** A new private key, PKCS #8 in PEM. */
export function newPrivateKey(): string {
  return generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
}

/** SPKI in PEM. */
export function publicPemOf(privatePem: string): string {
  return createPublicKey(privatePem).export({ type: 'spki', format: 'pem' }).toString();
}

/** Names a key in tokens. Throws when it is no key. */
export function keyIdOf(publicPem: string): string {
  return idOf(createPublicKey(publicPem));
}

function idOf(publicKey: KeyObject): string {
  const der = publicKey.export({ type: 'spki', format: 'der' });
  return createHash('sha256').update(der).digest('hex').slice(0, 16);
}

/** What is to be signed; the key adds its own name. */
export type Said = Omit<Statement, 'key_id'>;

/** The key is parsed once for many tokens. */
export function tokenSigner(privatePem: string): (said: Said) => string {
  const privateKey = createPrivateKey(privatePem);
  const keyId = idOf(createPublicKey(privateKey));
  return (said) => {
    const bytes = Buffer.from(canonicalJson({ ...said, key_id: keyId } satisfies Statement));
    return `${bytes.toString('base64url')}.${sign(null, bytes, privateKey).toString('base64url')}`;
  };
}

/** Keys are parsed once for many tokens. Throws when one is no key. */
export function tokenOpener(trusted: readonly TrustedKey[]): OpenToken {
  const keys = new Map<string, { readonly publicKey: KeyObject; readonly notAfter: Date | undefined }>();
  for (const { pem, retiredAt } of trusted) {
    const publicKey = createPublicKey(pem);
    const id = idOf(publicKey);
    // Given twice, it was in use until the earliest time that anyone knows of.
    keys.set(id, { publicKey, notAfter: earlier(keys.get(id)?.notAfter, endOf(retiredAt)) });
  }
  return (token) => {
    const [body = '', signature = ''] = token.split('.');
    const bytes = Buffer.from(body, 'base64url');
    try {
      const statement = JSON.parse(bytes.toString('utf8')) as Statement;
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

/** Whether it says this of that place. */
export function states(
  said: Statement | undefined,
  kind: Statement['kind'],
  tenantId: string,
  { seq, hash }: ChainPlace,
): boolean {
  return said?.kind === kind && said.org_id === tenantId && said.seq === seq && said.hash === hash;
}

/** When a key is replaced its anchors are signed anew (`rotation.ts`): one of another key than that in use was made up. */
export function isGenuineAnchor(
  open: OpenToken,
  tenantId: string,
  anchor: ChainPlace & { readonly token: string },
): boolean {
  const said = open(anchor.token);
  return states(said, 'anchor', tenantId, anchor) && said?.notAfter === undefined;
}

/** A time that is none is not within anything. */
export function isWithin(notAfter: Date | undefined, atMs: number): boolean {
  return notAfter === undefined || atMs <= notAfter.getTime();
}

function endOf(retiredAt: Date | null): Date | undefined {
  return retiredAt === null ? undefined : new Date(retiredAt.getTime() + retirementGraceMs);
}

function earlier(one: Date | undefined, other: Date | undefined): Date | undefined {
  return one === undefined || (other !== undefined && other < one) ? other : one;
}
