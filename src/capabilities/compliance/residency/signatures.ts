/**
 * What regions send each other is signed with the secret that they share. A signature names what it is for, who it is for,
 * and the minute that it is good in, so none can be used for anything else. While the secret is changed there are two.
 */
import { createHash, createHmac, timingSafeEqual } from 'node:crypto';

/** How far the clocks of two regions may differ, and how long something may be under way. */
export const signatureGoodForMs = 60_000;

export interface PeerSecrets {
  readonly signing: string;
  /** Good as well, and signs nothing: the next one, or the last one. */
  readonly accepted: string | undefined;
}

export interface Statement {
  readonly from: string;
  readonly to: string;
  readonly atMs: number;
}

/** `parts` are what the statement is about and the receiver knows anyway: they are signed, and not sent. */
export function sign(
  { signing }: PeerSecrets,
  purpose: string,
  statement: Statement,
  parts: readonly string[],
): string {
  const text = Buffer.from(JSON.stringify(statement)).toString('base64url');
  return `${text}.${mac(signing, purpose, text, parts)}`;
}

/** The statement, if it was signed for this purpose and region, about these parts, and just now. */
export function verify<Signed extends Statement>(
  { signing, accepted }: PeerSecrets,
  purpose: string,
  signed: string,
  parts: readonly string[],
  { region, nowMs }: { readonly region: string; readonly nowMs: number },
): Signed | undefined {
  const [text = '', given = ''] = signed.split('.');
  const isMadeWith = (secret: string) => isSame(given, mac(secret, purpose, text, parts));
  if (!isMadeWith(signing) && (accepted === undefined || !isMadeWith(accepted))) {
    return undefined;
  }
  const statement = JSON.parse(Buffer.from(text, 'base64url').toString('utf8')) as Signed;
  const isFresh = Math.abs(nowMs - statement.atMs) <= signatureGoodForMs;
  return isFresh && statement.to === region && statement.from !== region ? statement : undefined;
}

/** JSON keeps the parts apart, whatever is in them. */
function mac(secret: string, purpose: string, text: string, parts: readonly string[]): string {
  return createHmac('sha256', secret)
    .update(JSON.stringify([purpose, text, ...parts]))
    .digest('hex');
}

/** Header values are latin1, where a character is a byte. */
function isSame(given: string, wanted: string): boolean {
  return (
    given.length === wanted.length &&
    timingSafeEqual(Buffer.from(given, 'latin1'), Buffer.from(wanted, 'latin1'))
  );
}

export function sha256(content: string): string {
  return createHash('sha256').update(content).digest('hex');
}
