/**
 * The books of all orgs as the embedded engine has them in memory, with what finds their open holds: by key, and by when
 * they expire.
 */
import { releaseAll } from '../../kernel/admission.ts';
import { Expiries } from '../holds/expiries.ts';
import type { Hold } from '../holds/hold.ts';
import { Book, completeFrom, type OpenHold } from '../holds/org-ledger-state.ts';
import { keyName } from '../holds/take-hold.ts';
import type { OrgLimitsCache } from '../limits/org-limits.ts';
import type { LoggedHold } from './hold-log.ts';

export interface MemoryBooksOptions {
  readonly orgLimits: OrgLimitsCache;
  /** Holds of the process before this one. */
  readonly restored: readonly LoggedHold[];
  now(): number;
}

export class MemoryBooks {
  readonly expiries = new Expiries();
  readonly #options: MemoryBooksOptions;
  readonly #books = new Map<string, Book>();
  /** Holds of orgs whose book is not open yet. */
  readonly #restored = new Map<string, OpenHold[]>();
  readonly #keys = new Map<string, OpenHold>();
  readonly #startedMs: number;
  #openHolds = 0;

  constructor(options: MemoryBooksOptions) {
    this.#options = options;
    this.#startedMs = completeFrom(options.now());
    for (const { hold, place } of options.restored) {
      const open: OpenHold = { hold, ending: false, place, dueSecond: Number.NaN };
      const others = this.#restored.get(hold.orgId);
      if (others === undefined) {
        this.#restored.set(hold.orgId, [open]);
      } else {
        others.push(open);
      }
      this.remember(open);
    }
  }

  get openHolds(): number {
    return this.#openHolds;
  }

  all(): Iterable<Book> {
    return this.#books.values();
  }

  get(orgId: string): Book | undefined {
    return this.#books.get(orgId);
  }

  /** The book of an org with its limits as they are now; undefined when those have to be read. */
  fresh(orgId: string): Book | undefined {
    const limits = this.#options.orgLimits.peek(orgId);
    const book = this.#books.get(orgId);
    if (limits === undefined || book === undefined) {
      return undefined;
    }
    if (book.limits !== limits) {
      book.changeLimits(limits, this.#options.now());
    }
    return book;
  }

  async open(orgId: string): Promise<Book> {
    const limits = await this.#options.orgLimits.get(orgId);
    const there = this.#books.get(orgId);
    if (there !== undefined) {
      there.changeLimits(limits, this.#options.now());
      return there;
    }
    const book = new Book(limits, this.#startedMs);
    for (const open of this.#restored.get(orgId) ?? []) {
      book.holds.set(open.hold.id, open);
    }
    this.#restored.delete(orgId);
    this.#books.set(orgId, book);
    return book;
  }

  isOpen(open: OpenHold): boolean {
    return this.#books.get(open.hold.orgId)?.holds.get(open.hold.id) === open;
  }

  heldUnder(key: string): Hold | undefined {
    return this.#keys.get(key)?.hold;
  }

  /** It is in its book already. */
  remember(open: OpenHold): void {
    const { hold } = open;
    this.#openHolds += 1;
    this.expiries.add(open);
    if (hold.idempotency !== null) {
      this.#keys.set(keyName(hold.orgId, hold.idempotency.digest), open);
    }
  }

  prolong(open: OpenHold, hold: Hold): void {
    open.hold = hold;
    this.expiries.move(open);
  }

  /** Gives back what a hold takes. Its end is in the database, or it was never told. */
  release(open: OpenHold): void {
    const book = this.#books.get(open.hold.orgId);
    if (book !== undefined && this.isOpen(open)) {
      releaseAll(book.counters, open.hold);
    }
    this.drop(open);
  }

  /** What it took is counted otherwise by now. */
  drop(open: OpenHold): void {
    const { hold } = open;
    if (this.isOpen(open)) {
      this.#books.get(hold.orgId)?.holds.delete(hold.id);
      this.#openHolds -= 1;
      this.expiries.remove(open);
    }
    if (hold.idempotency !== null) {
      this.#keys.delete(keyName(hold.orgId, hold.idempotency.digest));
    }
  }
}
