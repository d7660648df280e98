/**
 * Checks a chain entry by entry, from the entries alone: wherever they come from, the database or a file. It knows the
 * place where the chain begins and places that were signed, and names what does not fit.
 */
import {
  type AuditEntry,
  type ChainPlace,
  commitmentOf,
  entryHash,
  redactedDigest,
  type SignedPlace,
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

export interface Finding {
  readonly kind: FindingKind;
  /** Where it is; the first of them where it is about several. */
  readonly seq: number;
  readonly until_seq: number;
  readonly message: string;
}

/** The entry that tells of an erasure lists here what the entries look like since: pairs of place and digest. */
export const redactAction = 'audit.redact';
export interface RedactionList {
  readonly redacted: readonly (readonly [seq: number, digest: string])[];
  /** Signs the list, so that nobody else can call a change an erasure. */
  readonly token: string;
}

const findingsMax = 100;
/** Among how many entries that do not fit it is tried whether they only changed places. */
const suspectsMax = 200;

export interface ChainCheckOptions {
  /** Where the first entry follows on. Undefined: it may be anywhere, as in a file of some days. */
  readonly start: ChainPlace | undefined;
  /** Signed places. */
  readonly checkpoints?: readonly SignedPlace[];
  /**
   * Whether an entry that tells of an erasure was signed by the service, with a key that was in use at `latestMs`. Left out:
   * it is not looked at what erasures have left of entries.
   */
  isSigned?(entry: AuditEntry, list: RedactionList, latestMs: number): boolean;
}

export class ChainCheck {
  readonly #findings: Finding[] = [];
  #start: ChainPlace | undefined;
  readonly #checkpoints: Map<number, SignedPlace[]>;
  readonly #suspects: AuditEntry[] = [];
  /** Redacted entries whose redaction has not come yet: by the place of that. */
  readonly #redacted = new Map<number, Map<number, string>>();
  readonly #isSigned: ChainCheckOptions['isSigned'] | undefined;
  #first: AuditEntry | undefined;
  #last: AuditEntry | undefined;
  #lastAgreed: number;
  /** The latest date so far. The order of a log is that of time, so none behind it can be older, whatever it says. */
  #latestMs = Number.NEGATIVE_INFINITY;
  #checked = 0;

  constructor({ start, checkpoints = [], isSigned }: ChainCheckOptions) {
    this.#isSigned = isSigned;
    this.#start = start;
    this.#lastAgreed = start?.seq ?? 0;
    this.#checkpoints = new Map();
    for (const place of checkpoints) {
      this.#checkpoints.set(place.seq, [...(this.#checkpoints.get(place.seq) ?? []), place]);
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

  get last(): ChainPlace | undefined {
    return this.#last ?? this.#start;
  }

  /** A signed place that stands right behind its entry. */
  compareLast(place: SignedPlace): void {
    if (this.#last?.seq === place.seq) {
      this.#checkpoints.set(place.seq, [place]);
      this.#compare(this.#last);
    } else {
      this.#find(
        'checkpoint_invalid',
        place.seq,
        'A checkpoint does not stand behind the entry that it is of.',
      );
    }
  }

  /** Everything up to here was removed by retention before it could be looked at. */
  goOnFrom(place: ChainPlace): void {
    this.#start = place;
    this.#last = undefined;
    for (const by of [...this.#redacted.keys()].filter((seq) => seq <= place.seq)) {
      this.#redacted.delete(by);
    }
    this.#compare(place);
  }

  add(entry: AuditEntry): void {
    this.#checked += 1;
    this.#first ??= entry;
    const expected = this.last === undefined ? entry.seq : this.last.seq + 1;
    if (entry.seq < expected) {
      this.#find('entry_moved', entry.seq, `Entry ${entry.seq} stands behind entry ${expected - 1}.`);
      return;
    }
    if (entry.seq > expected) {
      this.#find('entry_missing', expected, 'These entries are not there.', entry.seq - 1);
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

  /** `head`: where the chain ends by its own account, where that is known. */
  finish(head?: ChainPlace): readonly Finding[] {
    const last = this.last;
    if (head !== undefined && head.seq > (last?.seq ?? 0)) {
      this.#find('tail_missing', (last?.seq ?? 0) + 1, 'The last entries are not there.', head.seq);
    } else if (head !== undefined && head.seq < (last?.seq ?? 0)) {
      this.#find('head_wrong', head.seq, `The chain says that it ends here, and goes on to ${last?.seq}.`);
    } else if (head !== undefined && last !== undefined && head.hash !== last.hash) {
      this.#find('entry_changed', last.seq, 'The chain ends with another hash than this entry has.');
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
        'There was a checkpoint of entries that are not there any more.',
        Math.max(...beyond),
      );
    }
    this.#nameSuspects();
    // Whoever is not shown the erasure cannot tell it from a change.
    for (const seqs of this.#redacted.values()) {
      for (const seq of seqs.keys()) {
        this.#find('entry_changed', seq, 'It claims an erasure that is not among these entries.');
      }
    }
    return [...this.#findings].sort((a, b) => a.seq - b.seq);
  }

  #find(kind: FindingKind, seq: number, message: string, untilSeq = seq): void {
    if (this.#findings.length < findingsMax) {
      this.#findings.push({ kind, seq, until_seq: untilSeq, message });
    }
  }

  /** The entry is whole in itself. If the one before has another hash than it remembers, that one was changed. */
  #checkLink(entry: AuditEntry, expected: number): void {
    const before = this.last;
    if (before === undefined || entry.seq !== expected || entry.previousHash === before.hash) {
      return;
    }
    const known = this.#suspects.some(({ seq }) => seq === before.seq);
    if (this.#last === undefined) {
      this.#find('chain_rewritten', entry.seq, 'The first entry does not follow on where the chain begins.');
    } else if (!known) {
      this.#find('entry_changed', before.seq, 'The next entry remembers another hash of it.');
    }
  }

  #compare(place: ChainPlace): void {
    for (const { hash, notAfter } of this.#checkpoints.get(place.seq) ?? []) {
      if (!isWithin(notAfter, this.#latestMs)) {
        this.#find(
          'checkpoint_invalid',
          place.seq,
          'A checkpoint is signed with a key that was replaced before the entry was written.',
        );
      } else if (hash === place.hash) {
        this.#lastAgreed = place.seq;
      } else {
        this.#find(
          'chain_rewritten',
          this.#lastAgreed + 1,
          `A checkpoint of entry ${place.seq} has another hash: entries up to there were written anew.`,
          place.seq,
        );
      }
    }
  }

  #suspect(entry: AuditEntry): void {
    if (this.#suspects.length < suspectsMax) {
      this.#suspects.push(entry);
    }
  }

  /** An entry that fits in the place of another one that does not fit either was moved. */
  #nameSuspects(): void {
    for (const entry of this.#suspects) {
      const home = this.#suspects.find((other) => other !== entry && fitsAt(entry, other));
      if (home === undefined) {
        this.#find('entry_changed', entry.seq, 'Its content is not what its hash was made of.');
      } else {
        this.#find('entry_moved', entry.seq, `It belongs in place ${home.seq}.`);
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
          this.#find('entry_changed', seq, 'It is not what the erasure has left of it.');
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
    // From before commitments, when there was nothing but successes. The hash covers all that a redaction changes, so of a
    // redacted one the list of the erasure is all there is, and that covers everything too.
    const isOfThen = entry.outcome === 'success' && entry.code === null && entry.detail === null;
    return isOfThen && (redactedBy !== null || entryHash(entry) === entry.hash);
  }
  const isCommitted = redactedBy !== null || (salt !== null && commitmentOf(salt, entry) === commitment);
  return isCommitted && entryHash(entry) === entry.hash;
}

/** With its own hashes, or with those that stand in the other place. */
function fitsAt(entry: AuditEntry, place: AuditEntry): boolean {
  const moved = { ...entry, seq: place.seq };
  const there = { ...moved, previousHash: place.previousHash, hash: place.hash };
  return isIntact(moved) || isIntact(there);
}
