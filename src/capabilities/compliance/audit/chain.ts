/**
 * The hash chain: the hash of an entry covers its content and the hash of the previous entry, so that an entry cannot
 * be changed, removed or moved without invalidating every later hash.
 *
 * Content that may be personal data is covered through a salted commitment. It can be erased without breaking the
 * chain: the commitment stays, and without the salt the content cannot be recovered, not even by guessing.
 */
import { createHash, randomBytes } from 'node:crypto';
import { canonicalJson } from '../../../platform/canonical-json.ts';

export const outcomes = ['success', 'denied', 'failure'] as const;
export type AuditOutcome = (typeof outcomes)[number];

/** Part of an entry that may contain personal data. */
export interface PersonalPart {
  readonly targetId: string;
  readonly before: object | null;
  readonly after: object | null;
  readonly detail: object | null;
  readonly address: string | null;
}

/** An entry that has no position in a chain yet. */
export interface AuditDraft extends PersonalPart {
  readonly actorKind: string;
  readonly actorId: string;
  readonly action: string;
  readonly outcome: AuditOutcome;
  /** Error code, if the attempt was rejected. */
  readonly code: string | null;
  readonly targetKind: string;
  readonly traceId: string | null;
}

export interface DatedDraft extends AuditDraft {
  readonly id: string;
  /** Time of appending: ISO 8601 in UTC, with milliseconds. */
  readonly at: string;
}

export interface AuditEntry extends DatedDraft {
  readonly tenantId: string;
  readonly seq: number;
  /** Null once the personal part has been erased. */
  readonly salt: string | null;
  /** Null in entries from before commitments existed: their hash covers everything. */
  readonly commitment: string | null;
  /** Position of the later entry that lists the digest of this entry after the erasure. */
  readonly redactedBy: number | null;
  readonly previousHash: string;
  readonly hash: string;
}

export interface ChainPosition {
  readonly seq: number;
  readonly hash: string;
}

/** A position that was signed. */
export interface SignedPosition extends ChainPosition {
  /** Latest allowed date of entries up to this position, because the key was not in use afterwards. Undefined: the key is in use. */
  readonly notAfter?: Date | undefined;
}

/** Position and previous hash before the first entry of a chain. */
export const chainStart: ChainPosition = { seq: 0, hash: '0'.repeat(64) };

/** Returns the next entry of a chain. */
export function chained(tenantId: string, head: ChainPosition, draft: DatedDraft): AuditEntry {
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

/** Digest of a redacted entry as it is after the erasure, without its salt and `redactedBy`. */
export function redactedDigest(entry: AuditEntry): string {
  const { salt: _, redactedBy: __, ...rest } = entry;
  return sha256(canonicalJson(rest));
}

/** Digest of a list of redacted entries. The signature of an erasure covers this digest. */
export function redactionDigest(redacted: readonly (readonly [number, string])[]): string {
  return sha256(canonicalJson(redacted));
}

/** Computes the hash of the entry from its content and the previous hash. */
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
