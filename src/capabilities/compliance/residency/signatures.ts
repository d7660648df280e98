/**
 * Messages between regions are signed with a shared secret. A signature covers its purpose, its receiver and its time,
 * so it cannot be used for anything else. During a rotation of the secret, two secrets are valid.
 */
import { createHash, createHmac, timingSafeEqual } from 'node:crypto';

/** Maximum difference between the clocks of two regions, including the time in transit. */
export const signatureGoodForMs = 60_000;

export interface PeerSecrets {
  readonly signing: string;
  /** The next or the previous secret, which is accepted but not used for signing. */
  readonly accepted: string | undefined;
}

export interface PeerStatement {
  readonly from: string;
  readonly to: string;
  readonly atMs: number;
}

/** `parts` describe the message and are known to the receiver: they are signed, but not sent. */
export function sign(
  { signing }: PeerSecrets,
  purpose: string,
  statement: PeerStatement,
  parts: readonly string[],
): string {
  const text = Buffer.from(JSON.stringify(statement)).toString('base64url');
  return `${text}.${mac(signing, purpose, text, parts)}`;
}

/** Returns the statement if it was signed for this purpose, region and parts within the allowed time. */
export function verify<Signed extends PeerStatement>(
  ...signed: Parameters<typeof verifyWithSecret>
): Signed | undefined {
  return verifyWithSecret<Signed>(...signed)?.statement;
}

/** Like `verify`, and returns the secret with which the statement was signed. */
export function verifyWithSecret<Signed extends PeerStatement>(
  { signing, accepted }: PeerSecrets,
  purpose: string,
  signed: string,
  parts: readonly string[],
  { region, nowMs }: { readonly region: string; readonly nowMs: number },
): { readonly statement: Signed; readonly secret: string } | undefined {
  const [text = '', given = ''] = signed.split('.');
  const secret = [signing, accepted].find(
    (one) => one !== undefined && isSame(given, mac(one, purpose, text, parts)),
  );
  if (secret === undefined) {
    return undefined;
  }
  const statement = JSON.parse(Buffer.from(text, 'base64url').toString('utf8')) as Signed;
  const isFresh = Math.abs(nowMs - statement.atMs) <= signatureGoodForMs;
  return isFresh && statement.to === region && statement.from !== region ? { statement, secret } : undefined;
}

/** Hashes the parts as JSON, which separates them unambiguously. */
function mac(secret: string, purpose: string, text: string, parts: readonly string[]): string {
  return createHmac('sha256', secret)
    .update(JSON.stringify([purpose, text, ...parts]))
    .digest('hex');
}

/** Compares in constant time, as latin1: the encoding of header values, in which a character is a byte. */
function isSame(given: string, wanted: string): boolean {
  return (
    given.length === wanted.length &&
    timingSafeEqual(Buffer.from(given, 'latin1'), Buffer.from(wanted, 'latin1'))
  );
}

export function sha256(content: string): string {
  return createHash('sha256').update(content).digest('hex');
}
