/**
 * The hash chain: an entry's hash covers its content and the hash before it, so that no entry can be changed, removed or
 * moved without every later hash being wrong.
 *
 * What may be about a person is covered by way of a salted commitment. It can be erased without breaking the chain: the
 * commitment stays, and once the salt is gone nobody can find out what it was made of, not even by guessing.
 */
import { createHash, randomBytes } from 'node:crypto';
import { canonicalJson } from '../../../platform/canonical-json.ts';

export const outcomes = ['success', 'denied', 'failure'] as const;
export type AuditOutcome = (typeof outcomes)[number];

/** What an entry may say about a person. */
export interface PersonalPart {
  readonly targetId: string;
  readonly before: object | null;
  readonly after: object | null;
  readonly detail: object | null;
  readonly address: string | null;
}

/** An entry before it has its place in a chain. */
export interface AuditDraft extends PersonalPart {
  readonly actorKind: string;
  readonly actorId: string;
  readonly action: string;
  readonly outcome: AuditOutcome;
  /** The error code, where it was refused. */
  readonly code: string | null;
  readonly targetKind: string;
  readonly traceId: string | null;
}

export interface DatedDraft extends AuditDraft {
  readonly id: string;
  /** When it was appended: ISO 8601 in UTC, to the millisecond. */
  readonly at: string;
}

export interface AuditEntry extends DatedDraft {
  readonly tenantId: string;
  readonly seq: number;
  /** Null once the personal part was erased. */
  readonly salt: string | null;
  /** Null in entries from before there were commitments: their hash covers everything. */
  readonly commitment: string | null;
  /** The later entry that lists the digest of the personal part as it is since the erasure. */
  readonly redactedBy: number | null;
  readonly previousHash: string;
  readonly hash: string;
}

export interface ChainPlace {
  readonly seq: number;
  readonly hash: string;
}

/** A place that somebody has vouched for. */
export interface SignedPlace extends ChainPlace {
  /** No entry up to there may be dated later, since the key was not in use any more. Undefined: it still is. */
  readonly notAfter?: Date | undefined;
}

/** What the first entry of a chain names as the hash before it. */
export const chainStart: ChainPlace = { seq: 0, hash: '0'.repeat(64) };

/** The next entry of a chain. */
export function chained(tenantId: string, head: ChainPlace, draft: DatedDraft): AuditEntry {
  const salt = randomBytes(16).toString('hex');
  const entry = {
    ...draft,
    tenantId,
    seq: head.seq + 1,
    salt,
    commitment: commitmentOf(salt, draft),
    redactedBy: null,
    previousHash: head.hash,
    hash: '',
  };
  return { ...entry, hash: entryHash(entry) };
}

export function commitmentOf(salt: string, part: PersonalPart): string {
  return sha256(`${salt}\n${canonicalJson(personalPart(part))}`);
}

/** Tells an entry that a person was erased from from any other: the whole of it, as it is since. */
export function redactedDigest(entry: AuditEntry): string {
  const { salt: _, redactedBy: __, ...rest } = entry;
  return sha256(canonicalJson(rest));
}

/** What is signed of a list of entries that a person was erased from. */
export function redactionDigest(redacted: readonly (readonly [number, string])[]): string {
  return sha256(canonicalJson(redacted));
}

/** What the entry's hash has to be, given its content and the hash before. */
export function entryHash(entry: AuditEntry): string {
  const { tenantId, seq, id, at, actorKind, actorId, action, targetKind, traceId, previousHash } = entry;
  const inBoth = { tenantId, id, at, actorKind, actorId, action, targetKind, traceId, previousHash };
  if (entry.commitment === null) {
    const { targetId, before, after, address } = entry;
    return sha256(canonicalJson({ ...inBoth, seq: String(seq), targetId, before, after, address }));
  }
  const { outcome, code, commitment } = entry;
  return sha256(canonicalJson({ ...inBoth, version: 2, seq, outcome, code, commitment }));
}

function personalPart({ targetId, before, after, detail, address }: PersonalPart): PersonalPart {
  return { targetId, before, after, detail, address };
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
