/** The counters of the orgs in one ledger transaction: reads those that its commands need, and creates missing ones. */
import type { Counter } from '../../kernel/admission.ts';
import type { Transaction } from '../../platform/db/database.ts';
import type { MissingCounter } from '../holds/org-ledger-state.ts';
import type { OrgLimitsCache } from '../limits/org-limits.ts';
import { addCounters } from '../postings/posting-batch.ts';
import type { OrgCommands } from './ledger-command.ts';
import { OrgChanges } from './org-changes.ts';
import { selectCounters } from './postgres-counters.ts';
import { selectHoldsSince } from './postgres-holds.ts';
import { checkedCounters, wantedCounters } from './wanted-counters.ts';

/** The commands of a locked org, and what they change. */
export interface OrgWork<Run> extends OrgCommands<Run> {
  readonly changes: OrgChanges;
}

export class TransactionCounters {
  readonly #tx: Transaction;
  /** Counters that were read after the locks, by org and key; undefined if a counter does not exist. */
  readonly #readBehindLocks = new Map<string, Map<string, Counter | undefined>>();

  constructor(tx: Transaction) {
    this.#tx = tx;
  }

  /** Reads the counters that the commands need according to the cached limits. The query is sent directly after the locks. */
  async readLikely<Run>(
    all: readonly OrgCommands<Run>[],
    orgLimits: OrgLimitsCache,
    nowMs: number,
  ): Promise<void> {
    const keys = all.flatMap(({ orgId, commands }) => {
      const limits = orgLimits.peek(orgId);
      const wanted =
        limits === undefined ? [] : [...checkedCounters(commands, new OrgChanges(limits), nowMs).keys()];
      this.#readBehindLocks.set(orgId, new Map(wanted.map((key) => [key, undefined])));
      return wanted.map((key) => ({ orgId, key }));
    });
    for (const { orgId, key, counter } of await selectCounters(this.#tx, keys)) {
      this.#readBehindLocks.get(orgId)?.set(key, counter);
    }
  }

  /** Drops counters of orgs that had no row to lock when the counters were read. */
  forget(orgIds: readonly string[]): void {
    for (const orgId of orgIds) {
      this.#readBehindLocks.delete(orgId);
    }
  }

  /**
   * Loads the counters that the commands need: those that they check, and those of the holds that they end. Creates missing ones
   * for holds, increases, previews and imports; `decideBatch` creates those for postings.
   */
  async prepare<Run>(works: readonly OrgWork<Run>[], nowMs: number): Promise<void> {
    const wanted = works.map((work) => ({
      changes: work.changes,
      counters: wantedCounters(work.commands, work.changes, nowMs),
    }));
    await this.load(wanted.map(({ changes, counters }) => ({ changes, keys: [...counters.keys()] })));
    for (const { changes, counters } of wanted) {
      const missing = [...counters.values()].filter(
        (one): one is MissingCounter =>
          one !== undefined && !changes.orgState.counters.has(one.limitWindow.key),
      );
      await this.create(changes, missing);
    }
  }

  /** Loads those counters that exist and are not loaded yet. */
  async load(
    wanted: readonly { readonly changes: OrgChanges; readonly keys: readonly string[] }[],
  ): Promise<void> {
    const byOrg = new Map(wanted.map(({ changes }) => [changes.orgId, changes]));
    const missing: { orgId: string; key: string }[] = [];
    for (const { changes, keys } of wanted) {
      const { orgId, orgState } = changes;
      const read = this.#readBehindLocks.get(orgId);
      for (const key of keys) {
        const counter = read?.get(key);
        if (orgState.counters.has(key)) {
          continue;
        }
        if (counter !== undefined) {
          changes.useCounter(key, counter);
        } else if (read?.has(key) !== true) {
          missing.push({ orgId, key });
        }
      }
    }
    for (const { orgId, key, counter } of await selectCounters(this.#tx, missing)) {
      byOrg.get(orgId)?.useCounter(key, counter);
    }
  }

  /**
   * Creates counters. A new counter includes the amounts of open holds, so those holds are loaded and updated to
   * reference it.
   */
  async create(changes: OrgChanges, missing: readonly MissingCounter[]): Promise<void> {
    if (missing.length === 0) {
      return;
    }
    const { orgId, orgState } = changes;
    for (const hold of await selectHoldsSince(this.#tx, orgId, missing)) {
      // Holds that ended in this transaction still have a row.
      if (!orgState.holds.has(hold.id) && !changes.endedHolds.has(hold.id)) {
        orgState.addHold(hold);
      }
    }
    for (const hold of await addCounters(this.#tx, orgState, missing)) {
      changes.changeHold(hold);
    }
  }
}
