/** Reads of the embedded ledger: from memory, and from the database where a counter is not in memory. */
import { emptyScope } from '../../kernel/limits.ts';
import { reservedAmounts } from '../holds/reserved-amounts.ts';
import type { LedgerReads } from '../ledger.ts';
import { readSettled } from '../limits/counters.ts';
import { countersOfScopes, limitUsageOf, ownCounters } from '../limits/limit-usage.ts';
import { addCounters } from '../postings/posting-batch.ts';
import type { EmbeddedState } from './embedded-state.ts';

export function createEmbeddedReads({ db, states, time }: EmbeddedState): LedgerReads {
  return {
    async holds(orgId, { limit, after, newestFirst = false }) {
      const orgState = await states.open(orgId);
      const precedes = (id: string, other: string) => (newestFirst ? id > other : id < other);
      return [...orgState.holds.values()]
        .map(({ hold }) => hold)
        .filter(({ id }) => after === undefined || precedes(after, id))
        .sort((a, b) => (precedes(a.id, b.id) ? -1 : 1))
        .slice(0, limit);
    },

    async findHold(orgId, holdId) {
      return (await states.open(orgId)).holds.get(holdId)?.hold;
    },

    holdsInMemory: () => states.allHolds(),

    async limitUsage(orgId, limitIds) {
      const orgState = await states.open(orgId);
      const wanted = ownCounters(orgState.limits, limitIds, time.now());
      await addCounters(db, orgState, orgState.missingCounters(wanted, emptyScope));
      return wanted.flatMap((one) => {
        const counter = orgState.counters.get(one.key);
        return counter === undefined ? [] : [limitUsageOf(one, counter)];
      });
    },

    async limitUsageIn(orgId, limitId, scopes) {
      const orgState = await states.open(orgId);
      const wanted = countersOfScopes(orgState.limits, limitId, scopes, time.now());
      // Missing counters are not created, because most of them may never be needed.
      const missing = new Map<string, bigint>();
      for (const [index, one] of wanted.entries()) {
        if (!orgState.counters.has(one.key)) {
          const { settled } = await readSettled(db, orgId, one, scopes[index] ?? emptyScope);
          missing.set(one.key, settled);
        }
      }
      const holds = missing.size === 0 ? [] : [...orgState.holds.values()].map(({ hold }) => hold);
      const reserved = reservedAmounts(orgState.limits, holds, wanted);
      return wanted.map((one) =>
        limitUsageOf(
          one,
          orgState.counters.get(one.key) ?? {
            settled: missing.get(one.key) ?? 0n,
            held: reserved.get(one.key) ?? 0n,
          },
        ),
      );
    },

    async inspect(orgId, read) {
      const orgState = await states.open(orgId);
      // Within a transaction no posting is in progress: earlier ones are committed, later ones have not started.
      return db.transaction(async (tx) => {
        const result = await read(tx);
        return {
          result,
          counters: [...orgState.counters].map(([key, { settled, held, growth }]) => ({
            key,
            settled,
            held,
            growth,
          })),
          holds: [...orgState.holds.values()].map(({ hold }) => hold),
        };
      });
    },
  };
}
