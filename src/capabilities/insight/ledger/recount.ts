/** Sums the entries of a period for every counter of a plan. Sums of consecutive periods can be added. */
import { type Amounts, counterKey, WILDCARD } from '../../../kernel/limits.ts';
import type { TimeRange } from '../../../kernel/rollup-parts.ts';
import { lifetime, type Window } from '../../../kernel/windows.ts';
import type { Queryable } from '../../../platform/db/database.ts';
import { type EntrySum, findClosedChains, sumEntries } from './entry-sums.ts';
import { findClosedPayments, type Payment, sumPayments } from './payments.ts';
import {
  type Planned,
  paidName,
  placeName,
  type RecountGroup,
  type RecountPlan,
  scopeWith,
} from './reconciliation-plan.ts';

export class Recount {
  readonly #sums = new Map<RecountGroup, Map<string, Amounts>>();
  readonly payments = new Map<string, bigint>();

  /** Returns the expected settled amount of a counter. */
  settled({ limit, place }: Planned): bigint {
    switch (place.kind) {
      case 'none':
        return 0n;
      case 'paid':
        return this.payments.get(place.name) ?? 0n;
      case 'entries':
        return this.#sums.get(place.group)?.get(place.name)?.[limit.unit] ?? 0n;
    }
  }

  async add(
    db: Queryable,
    orgId: string,
    { groups }: RecountPlan,
    time: TimeRange,
    withPayments: boolean,
  ): Promise<void> {
    const found: FoundGroup[] = [];
    for (const group of groups) {
      found.push(await readGroup(db, orgId, group, time));
    }
    const payments = withPayments ? await sumPayments(db, orgId, time) : [];
    // Nothing is added before all is read, so that a period whose reading failed can be read again.
    for (const one of found) {
      this.#addGroup(one);
    }
    for (const payment of payments) {
      this.#addPayment(payment);
    }
  }

  /**
   * Adds payments and entries that retention has deleted. Open windows have no deleted entries, but chains, which
   * never end, may have some.
   */
  async addClosed(
    db: Queryable,
    orgId: string,
    { groups }: RecountPlan,
    withPayments: boolean,
  ): Promise<void> {
    for (const payment of withPayments ? await findClosedPayments(db, orgId) : []) {
      this.#addPayment(payment);
    }
    for (const group of groups.filter(({ fields }) => fields.join() === 'chain_id')) {
      const sums = this.#sums.get(group) ?? new Map<string, Amounts>();
      this.#sums.set(group, sums);
      const chainIds = [...(group.values[0] ?? [])];
      for (const { chainId, ...amounts } of await findClosedChains(db, orgId, chainIds)) {
        addTo(sums, placeName(lifetime, [chainId]), amounts);
      }
    }
  }

  #addPayment({ kind, id, nanos }: Payment): void {
    const name = paidName(kind, id);
    this.payments.set(name, (this.payments.get(name) ?? 0n) + nanos);
  }

  #addGroup({ group, windows, sums: found }: FoundGroup): void {
    if (windows.length === 0) {
      return;
    }
    const { fields, combining } = group;
    const sums = this.#sums.get(group) ?? new Map<string, Amounts>();
    this.#sums.set(group, sums);
    for (const { window: index, values: texts, amounts } of found) {
      const window = windows[index] ?? lifetime;
      addTo(sums, placeName(window, texts), amounts);
      for (const limit of combining) {
        if (fields.every((field, at) => [WILDCARD, texts[at]].includes(limit.match[field]))) {
          addTo(sums, counterKey(limit, window, scopeWith(fields, texts)), amounts);
        }
      }
    }
  }
}

/** Sums of the entries of a group in those of its windows that the period touches. */
interface FoundGroup {
  readonly group: RecountGroup;
  readonly windows: readonly Window[];
  readonly sums: readonly EntrySum[];
}

async function readGroup(
  db: Queryable,
  orgId: string,
  group: RecountGroup,
  { fromMs, toMs }: TimeRange,
): Promise<FoundGroup> {
  const { fields, values } = group;
  const windows = [...group.windows.values()].filter(
    ({ startMs, endMs }) => startMs < toMs && fromMs < endMs,
  );
  if (windows.length === 0) {
    return { group, windows, sums: [] };
  }
  const sums = await sumEntries(db, orgId, {
    fields,
    windows: windows.map(({ startMs, endMs }) => ({
      startMs: Math.max(startMs, fromMs),
      endMs: Math.min(endMs, toMs),
    })),
    values: values.map((some) => some && [...some]),
  });
  return { group, windows, sums };
}

function addTo(sums: Map<string, Amounts>, name: string, { usd, tokens, requests }: Amounts): void {
  const there = sums.get(name) ?? { usd: 0n, tokens: 0n, requests: 0n };
  sums.set(name, {
    usd: there.usd + usd,
    tokens: there.tokens + tokens,
    requests: there.requests + requests,
  });
}
