/** Sums the entries of a period for every counter of a plan. Sums of consecutive periods can be added. */
import { type Amounts, counterKey, WILDCARD } from '../../../kernel/limits.ts';
import { lifetime } from '../../../kernel/windows.ts';
import type { Queryable } from '../../../platform/db/database.ts';
import type { TimeRange } from './pieces.ts';
import { findClosedChains, findClosedPayments, type Payment, sumEntries, sumPayments } from './queries.ts';
import {
  type Group,
  type Plan,
  type Planned,
  paidName,
  placeName,
  scopeWith,
} from './reconciliation-plan.ts';

export class Recount {
  readonly #sums = new Map<Group, Map<string, Amounts>>();
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
    { groups }: Plan,
    time: TimeRange,
    withPayments: boolean,
  ): Promise<void> {
    for (const group of groups) {
      await this.#addGroup(db, orgId, group, time);
    }
    for (const payment of withPayments ? await sumPayments(db, orgId, time) : []) {
      this.#addPayment(payment);
    }
  }

  /**
   * Adds payments and entries that retention has deleted. Open windows have no deleted entries, but chains, which
   * never end, may have some.
   */
  async addClosed(db: Queryable, orgId: string, { groups }: Plan, withPayments: boolean): Promise<void> {
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

  async #addGroup(db: Queryable, orgId: string, group: Group, { fromMs, toMs }: TimeRange): Promise<void> {
    const { fields, values, combining } = group;
    const windows = [...group.windows.values()].filter(
      ({ startMs, endMs }) => startMs < toMs && fromMs < endMs,
    );
    if (windows.length === 0) {
      return;
    }
    const sums = this.#sums.get(group) ?? new Map<string, Amounts>();
    this.#sums.set(group, sums);
    const found = await sumEntries(db, orgId, {
      fields,
      windows: windows.map(({ startMs, endMs }) => ({
        startMs: Math.max(startMs, fromMs),
        endMs: Math.min(endMs, toMs),
      })),
      values: values.map((some) => some && [...some]),
    });
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

function addTo(sums: Map<string, Amounts>, name: string, { usd, tokens, requests }: Amounts): void {
  const there = sums.get(name) ?? { usd: 0n, tokens: 0n, requests: 0n };
  sums.set(name, {
    usd: there.usd + usd,
    tokens: there.tokens + tokens,
    requests: there.requests + requests,
  });
}
