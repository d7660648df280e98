/**
 * Erases a name from a log. Parts that contain the name are rewritten and lose their salt, so that the original cannot
 * be recovered. Hashes stay, and a separate entry lists the digest of each redacted entry (`chain.ts`).
 */
import type { Transaction } from '../../../platform/db/database.ts';
import { type Appending, appendAudit } from './audit.ts';
import { type AuditEntry, type PersonalPart, redactedDigest, redactionDigest } from './chain.ts';
import { type RedactionList, redactAction } from './chain-check.ts';
import { readEntries, writeRedacted } from './queries.ts';
import { isWithin, type OpenToken } from './signing.ts';
import type { Signer } from './signing-keys.ts';

export interface Redaction {
  readonly tenantId: string;
  readonly from: string;
  readonly to: string;
  /** Entries up to this position have been processed. */
  readonly after: number;
  readonly limit: number;
  readonly now: Date;
}

export interface Redacted {
  readonly changed: number;
  /** Last entry that was processed; undefined: there are no more. */
  readonly last: number | undefined;
}

/** Processes one bounded batch. */
export async function redactEntries(
  tx: Transaction,
  { ids, heads, signer }: Appending & { readonly signer: Signer },
  redaction: Redaction,
): Promise<Redacted> {
  const { tenantId, from, to, after, limit, now } = redaction;
  const entries = await readEntries(tx, tenantId, after, limit);
  const renamed = entries.flatMap((entry) => {
    const part = renamedPart(entry, from, to);
    return part === undefined ? [] : [{ ...entry, ...part }];
  });
  if (renamed.length > 0) {
    const redacted = renamed.map((entry) => [entry.seq, redactedDigest(entry)] as const);
    const token = await signer.sign(tx, {
      kind: 'redaction',
      org_id: tenantId,
      seq: renamed.at(-1)?.seq ?? 0,
      hash: redactionDigest(redacted),
      at: now.toISOString(),
    });
    const listed: RedactionList = { redacted, token };
    const [entry] = await appendAudit(tx, { ids, heads }, tenantId, [
      {
        actorKind: 'service',
        actorId: 'erasure',
        action: redactAction,
        outcome: 'success',
        code: null,
        targetKind: 'audit_log',
        targetId: tenantId,
        before: null,
        after: listed,
        detail: null,
        address: null,
        traceId: null,
      },
    ]);
    await writeRedacted(tx, tenantId, entry?.seq ?? 0, renamed);
  }
  return { changed: renamed.length, last: entries.at(-1)?.seq };
}

/** Returns whether the service signed the list of an erasure. `latestMs`: latest date of the entries read so far. */
export function isSigned(
  open: OpenToken,
  { tenantId }: AuditEntry,
  list: RedactionList,
  latestMs: number,
): boolean {
  const said = open(list.token);
  return (
    said?.kind === 'redaction' &&
    said.org_id === tenantId &&
    said.hash === redactionDigest(list.redacted) &&
    isWithin(said.notAfter, latestMs)
  );
}

/** Returns undefined if the entry does not contain the name. */
function renamedPart(entry: AuditEntry, from: string, to: string): PersonalPart | undefined {
  let found = false;
  const rename = (value: unknown, name?: string): unknown => {
    if (typeof value === 'string') {
      const renamed = name === 'path' ? renamedPath(value, from, to) : renamedText(value, from, to);
      found ||= renamed !== value;
      return renamed;
    }
    if (Array.isArray(value)) {
      return value.map((item) => rename(item));
    }
    if (typeof value === 'object' && value !== null) {
      return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, rename(part, key)]));
    }
    return value;
  };
  const part: PersonalPart = {
    targetId: rename(entry.targetId) as string,
    before: rename(entry.before) as object | null,
    after: rename(entry.after) as object | null,
    detail: rename(entry.detail) as object | null,
    address: entry.address,
  };
  return found ? part : undefined;
}

/**
 * Replaces a text that equals the name, and the name in the summary of an applied configuration: `create customer limit "c-7 day"`,
 * which entries of earlier releases contain.
 */
function renamedText(text: string, from: string, to: string): string {
  const [, before, name, after] = /^(\w+ customer limit ")(.*)( \w+")$/s.exec(text) ?? [];
  return text === from ? to : name === from ? `${before}${to}${after}` : text;
}

/** Replaces path segments and parameters that equal the name. */
export function renamedPath(path: string, from: string, to: string): string {
  return path
    .split(/([/?&=])/)
    .map((part) => (decoded(part) === from ? to : part))
    .join('');
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part.replaceAll('+', ' '));
  } catch {
    return part;
  }
}
