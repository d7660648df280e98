/**
 * What regions send each other is signed with the secret that they share. A signature names what it is for, who it is for,
 * and the minute that it is good in, so none can be used for anything else.
 */
import { createHash, createHmac, timingSafeEqual } from 'node:crypto';

/** How far the clocks of two regions may differ, and how long something may be under way. */
export const signatureGoodForMs = 60_000;

export interface Statement {
  readonly from: string;
  readonly to: string;
  readonly atMs: number;
}

/** `parts` are what the statement is about and the receiver knows anyway: they are signed, and not sent. */
export function sign(
  secret: string,
  purpose: string,
  statement: Statement,
  parts: readonly string[],
): string {
  const text = Buffer.from(JSON.stringify(statement)).toString('base64url');
  return `${text}.${mac(secret, purpose, text, parts)}`;
}

/** The statement, if it was signed for this purpose and region, about these parts, and just now. */
export function verify<Signed extends Statement>(
  secret: string,
  purpose: string,
  signed: string,
  parts: readonly string[],
  { region, nowMs }: { readonly region: string; readonly nowMs: number },
): Signed | undefined {
  const [text = '', given = ''] = signed.split('.');
  const wanted = mac(secret, purpose, text, parts);
  // Header values are latin1, where a character is a byte.
  if (given.length !== wanted.length || !timingSafeEqual(latin1(given), latin1(wanted))) {
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

function latin1(text: string): Buffer {
  return Buffer.from(text, 'latin1');
}

export function sha256(content: string): string {
  return createHash('sha256').update(content).digest('hex');
}
