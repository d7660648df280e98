/**
 * Erases the name of a customer from a log. Parts that contain the name are rewritten and lose their salt, so that the original cannot
 * be recovered. Hashes stay, and a separate entry lists the digest of each redacted entry (`chain.ts`).
 */
import { isTagField } from '../../../kernel/limits.ts';
import { renamedName } from '../../../ledger/holds/customer-pseudonyms.ts';
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

/** Returns true if the service signed the list of an erasure. `latestMs` is the latest date of the entries read so far. */
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

/** Returns undefined if the entry does not contain the name of the customer. */
function renamedPart(entry: AuditEntry, from: string, to: string): PersonalPart | undefined {
  let found = false;
  const rename = (value: unknown, place: MentionPlace): unknown => {
    if (typeof value === 'string') {
      const renamed = renamedText(value, place, { from, to });
      found ||= renamed !== value;
      return renamed;
    }
    if (Array.isArray(value)) {
      return value.map((item) => rename(item, place));
    }
    if (typeof value === 'object' && value !== null) {
      return Object.fromEntries(
        Object.entries(value).map(([key, part]) => [key, rename(part, placeOf(key, value, place, from))]),
      );
    }
    return value;
  };
  const part: PersonalPart = {
    targetId: rename(entry.targetId, entry.targetKind === 'customer' ? 'customer' : 'other') as string,
    before: rename(entry.before, 'other') as object | null,
    after: rename(entry.after, 'other') as object | null,
    detail: rename(entry.detail, 'other') as object | null,
    address: entry.address,
  };
  return found ? part : undefined;
}

/**
 * The meaning of a value, by its place in the entry. Only values that name a customer are replaced. Organizations choose the ids of
 * their customers, and an id may equal a role, or the id of a key or budget. Entries about those must stay unchanged.
 */
type MentionPlace = 'customer' | 'tags' | 'path' | 'summaries' | 'sentence' | 'other';

/** Fields of a customer's record with text that may be the customer's id or contain it. */
const describingFields: ReadonlyMap<string, MentionPlace> = new Map([
  ['name', 'customer'],
  ['owner', 'customer'],
  ['reason', 'sentence'],
]);

function placeOf(field: string, record: object, within: MentionPlace, customerId: string): MentionPlace {
  if (within === 'tags' || mayNameCustomer(field, record)) {
    return 'customer';
  }
  const describing = describingFields.get(field);
  switch (field) {
    case 'tags':
    case 'path':
      return field;
    case 'changes':
      return 'summaries';
    default:
      return describing !== undefined && isOfCustomer(record, customerId) ? describing : 'other';
  }
}

function mayNameCustomer(field: string, record: object): boolean {
  const { scope_kind: scopeKind } = record as { readonly scope_kind?: unknown };
  return (
    field === 'customer_id' ||
    isTagField(field) ||
    (field === 'scope_id' && typeof scopeKind === 'string' && isTagField(scopeKind))
  );
}

/** Returns true for a limit, a credit pack, a rate, a key or an adjustment of the customer. */
function isOfCustomer(record: object, customerId: string): boolean {
  return Object.entries(record).some(([field, value]) =>
    (field === 'match' || field === 'attribution') && typeof value === 'object' && value !== null
      ? isOfCustomer(value, customerId)
      : value === customerId && mayNameCustomer(field, record),
  );
}

function renamedText(
  text: string,
  place: MentionPlace,
  { from, to }: Pick<Redaction, 'from' | 'to'>,
): string {
  switch (place) {
    case 'customer':
      return text === from ? to : text;
    case 'path':
      return renamedPath(text, from, to);
    case 'summaries':
      return renamedSummary(text, from, to);
    case 'sentence':
      return renamedName(text, { from, to });
    default:
      return text;
  }
}

/**
 * Replaces the name in the summary of an applied configuration: `create customer limit "c-7 day"`, which entries of earlier
 * releases contain.
 */
function renamedSummary(text: string, from: string, to: string): string {
  const [, before, name, after] = /^(\w+ customer limit ")(.*)( \w+")$/s.exec(text) ?? [];
  return name === from ? `${before}${to}${after}` : text;
}

/**
 * Matches the segment after `customers` or, in the console, after `customers/of`. Also matches parameters that filter by customer
 * or tag.
 */
const customersInPath = /(?<=\/customers\/(?:of\/)?)[^/?]+|(?<=[?&](?:customer_id|tag=[^&=]*)=)[^&]+/g;

/** Replaces the name where a path names a customer. */
export function renamedPath(path: string, from: string, to: string): string {
  return path.replaceAll(customersInPath, (part) => (decoded(part) === from ? to : part));
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part.replaceAll('+', ' '));
  } catch {
    return part;
  }
}
