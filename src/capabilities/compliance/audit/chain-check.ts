/**
 * Verifies a chain entry by entry. It only uses the entries, from the database or a file, the position where the chain starts, and
 * the signed positions. Reports at most `findingsMax` mismatches.
 */
import {
  type AuditEntry,
  type ChainPosition,
  commitmentOf,
  entryHash,
  redactedDigest,
  type SignedPosition,
} from './chain.ts';
import { isWithin } from './signing.ts';

export const findingKinds = [
  'entry_changed',
  'entry_missing',
  'entry_moved',
  'tail_missing',
  'chain_rewritten',
  'head_wrong',
  'head_invalid',
  'anchor_invalid',
  'checkpoint_invalid',
  'key_invalid',
] as const;
export type FindingKind = (typeof findingKinds)[number];

export interface ChainFinding {
  readonly kind: FindingKind;
  /** Position of the mismatch; the first one if it concerns several entries. */
  readonly seq: number;
  readonly until_seq: number;
  readonly message: string;
}

/**
 * Action of the entry that records an erasure. Its `after` lists the redacted entries as pairs of position and digest.
 */
export const redactAction = 'audit.redact';
export interface RedactionList {
  readonly redacted: readonly (readonly [seq: number, digest: string])[];
  /** Signature of the list, so that a change cannot be passed off as an erasure. */
  readonly token: string;
}

const findingsMax = 100;
/** Maximum number of mismatching entries that are compared with each other to find out whether they were moved. */
const suspectsMax = 200;

export interface ChainCheckOptions {
  /** Position before the first entry. Undefined: the first entry may be anywhere, as in an export of a few days. */
  readonly start: ChainPosition | undefined;
  /** Signed positions that the entries are compared with. */
  readonly checkpoints?: readonly SignedPosition[];
  /**
   * Returns true if the service signed the list of an erasure, with a key that was in use at `latestMs`. Without this function,
   * redacted entries are not compared with that list.
   */
  isSigned?(entry: AuditEntry, list: RedactionList, latestMs: number): boolean;
}

export class ChainCheck {
  readonly #findings: ChainFinding[] = [];
  #start: ChainPosition | undefined;
  readonly #checkpoints: Map<number, SignedPosition[]>;
  readonly #suspects: AuditEntry[] = [];
  /** Redacted entries whose redaction entry has not been read yet, by the position of the redaction entry. */
  readonly #redacted = new Map<number, Map<number, string>>();
  readonly #isSigned: ChainCheckOptions['isSigned'] | undefined;
  #first: AuditEntry | undefined;
  #last: AuditEntry | undefined;
  #lastAgreed: number;
  /**
   * Latest date of the intact entries so far. A log is ordered by time, so a later entry cannot be older, even if it has an
   * earlier date.
   */
  #latestMs = Number.NEGATIVE_INFINITY;
  #checked = 0;

  constructor({ start, checkpoints = [], isSigned }: ChainCheckOptions) {
    this.#isSigned = isSigned;
    this.#start = start;
    this.#lastAgreed = start?.seq ?? 0;
    this.#checkpoints = new Map();
    for (const position of checkpoints) {
      this.#checkpoints.set(position.seq, [...(this.#checkpoints.get(position.seq) ?? []), position]);
    }
    if (start !== undefined) {
      this.#compare(start);
    }
  }

  get checked(): number {
    return this.#checked;
  }

  get first(): AuditEntry | undefined {
    return this.#first;
  }

  get last(): ChainPosition | undefined {
    return this.#last ?? this.#start;
  }

  /** Compares a signed position that directly follows its entry. */
  compareLast(position: SignedPosition): void {
    if (this.#last?.seq === position.seq) {
      this.#checkpoints.set(position.seq, [position]);
      this.#compare(this.#last);
    } else {
      this.#find(
        'checkpoint_invalid',
        position.seq,
        'The checkpoint does not follow the entry it was made for.',
      );
    }
  }

  /** Continues after entries that retention removed before they could be read. */
  goOnFrom(position: ChainPosition): void {
    this.#start = position;
    this.#last = undefined;
    for (const by of [...this.#redacted.keys()].filter((seq) => seq <= position.seq)) {
      this.#redacted.delete(by);
    }
    this.#compare(position);
  }

  add(entry: AuditEntry): void {
    this.#checked += 1;
    this.#first ??= entry;
    const expected = this.last === undefined ? entry.seq : this.last.seq + 1;
    if (entry.seq < expected) {
      this.#find('entry_moved', entry.seq, `Entry ${entry.seq} follows entry ${expected - 1}.`);
      return;
    }
    if (entry.seq > expected) {
      this.#find('entry_missing', expected, 'These entries are missing.', entry.seq - 1);
    }
    if (!isIntact(entry)) {
      this.#suspect(entry);
    } else {
      this.#latestMs = Math.max(this.#latestMs, Date.parse(entry.at));
      this.#checkLink(entry, expected);
      this.#compare(entry);
    }
    this.#noteRedaction(entry);
    this.#last = entry;
  }

  /** Ends the check and returns the findings. `head` is the recorded end of the chain, if known. */
  finish(head?: ChainPosition): readonly ChainFinding[] {
    const last = this.last;
    if (head !== undefined && head.seq > (last?.seq ?? 0)) {
      this.#find('tail_missing', (last?.seq ?? 0) + 1, 'The last entries are missing.', head.seq);
    } else if (head !== undefined && head.seq < (last?.seq ?? 0)) {
      this.#find(
        'head_wrong',
        head.seq,
        `The recorded end of the chain is here, but the chain continues to ${last?.seq}.`,
      );
    } else if (head !== undefined && last !== undefined && head.hash !== last.hash) {
      this.#find(
        'entry_changed',
        last.seq,
        'The recorded hash of the end of the chain differs from the hash of this entry.',
      );
    }
    const beyond = [...this.#checkpoints.keys()].filter((seq) => seq > (last?.seq ?? 0));
    if (
      this.#start !== undefined &&
      beyond.length > 0 &&
      !this.#findings.some(({ kind }) => kind === 'tail_missing')
    ) {
      this.#find(
        'tail_missing',
        (last?.seq ?? 0) + 1,
        'A checkpoint exists for entries that are missing.',
        Math.max(...beyond),
      );
    }
    this.#nameSuspects();
    // If the redaction entry is missing, an erasure cannot be distinguished from a change.
    for (const seqs of this.#redacted.values()) {
      for (const seq of seqs.keys()) {
        this.#find('entry_changed', seq, 'The entry refers to an erasure that is not among these entries.');
      }
    }
    return [...this.#findings].sort((a, b) => a.seq - b.seq);
  }

  #find(kind: FindingKind, seq: number, message: string, untilSeq = seq): void {
    if (this.#findings.length < findingsMax) {
      this.#findings.push({ kind, seq, until_seq: untilSeq, message });
    }
  }

  /**
   * Checks the link to the previous entry. This entry is consistent in itself, so if the hashes differ, the previous
   * one was changed.
   */
  #checkLink(entry: AuditEntry, expected: number): void {
    const before = this.last;
    if (before === undefined || entry.seq !== expected || entry.previousHash === before.hash) {
      return;
    }
    const known = this.#suspects.some(({ seq }) => seq === before.seq);
    if (this.#last === undefined) {
      this.#find('chain_rewritten', entry.seq, 'The first entry does not follow the start of the chain.');
    } else if (!known) {
      this.#find('entry_changed', before.seq, 'The next entry records a different hash for this entry.');
    }
  }

  #compare(position: ChainPosition): void {
    for (const { hash, notAfter } of this.#checkpoints.get(position.seq) ?? []) {
      if (!isWithin(notAfter, this.#latestMs)) {
        this.#find(
          'checkpoint_invalid',
          position.seq,
          'A checkpoint is signed with a key that was replaced before the entry was written.',
        );
      } else if (hash === position.hash) {
        this.#lastAgreed = position.seq;
      } else {
        this.#find(
          'chain_rewritten',
          this.#lastAgreed + 1,
          `The checkpoint of entry ${position.seq} has a different hash: entries up to there were rewritten.`,
          position.seq,
        );
      }
    }
  }

  #suspect(entry: AuditEntry): void {
    if (this.#suspects.length < suspectsMax) {
      this.#suspects.push(entry);
    }
  }

  /** Reports a mismatching entry as moved if it fits in the position of another mismatching entry. */
  #nameSuspects(): void {
    for (const entry of this.#suspects) {
      const home = this.#suspects.find((other) => other !== entry && fitsAt(entry, other));
      if (home === undefined) {
        this.#find('entry_changed', entry.seq, 'The content does not match the hash.');
      } else {
        this.#find('entry_moved', entry.seq, `The entry belongs at position ${home.seq}.`);
      }
    }
  }

  #noteRedaction(entry: AuditEntry): void {
    if (this.#isSigned === undefined) {
      return;
    }
    if (entry.redactedBy !== null) {
      const others = this.#redacted.get(entry.redactedBy) ?? new Map<number, string>();
      others.set(entry.seq, redactedDigest(entry));
      this.#redacted.set(entry.redactedBy, others);
    }
    const claimed = this.#redacted.get(entry.seq);
    if (claimed !== undefined) {
      this.#redacted.delete(entry.seq);
      const list = redactionsOf(entry);
      const isSigned = list !== undefined && this.#isSigned(entry, list, this.#latestMs);
      const listed = new Map(isSigned ? list.redacted : []);
      for (const [seq, digest] of claimed) {
        if (listed.get(seq) !== digest) {
          this.#find('entry_changed', seq, 'The entry differs from what the erasure left of it.');
        }
      }
    }
  }
}

function redactionsOf({ action, after }: AuditEntry): RedactionList | undefined {
  const { redacted, token } = (after ?? {}) as Partial<RedactionList>;
  return action === redactAction && Array.isArray(redacted) && typeof token === 'string'
    ? { redacted, token }
    : undefined;
}

export function isIntact(entry: AuditEntry): boolean {
  const { salt, commitment, redactedBy } = entry;
  if (commitment === null) {
    // Entries from before commitments only record successes. Their hash covers everything that a redaction changes, so a redacted
    // one can only be checked against the list of its erasure, which covers everything too.
    const isOfThen = entry.outcome === 'success' && entry.code === null && entry.detail === null;
    return isOfThen && (redactedBy !== null || entryHash(entry) === entry.hash);
  }
  const isCommitted = redactedBy !== null || (salt !== null && commitmentOf(salt, entry) === commitment);
  return isCommitted && entryHash(entry) === entry.hash;
}

/** Returns true if the entry is intact at the other position, with its own hashes or those of that position. */
function fitsAt(entry: AuditEntry, position: AuditEntry): boolean {
  const moved = { ...entry, seq: position.seq };
  const there = { ...moved, previousHash: position.previousHash, hash: position.hash };
  return isIntact(moved) || isIntact(there);
}
