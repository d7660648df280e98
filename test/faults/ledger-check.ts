/** Compares the ledger with everything that was acknowledged, and counts the differences. */
import { expect } from 'vitest';
import { formatUsd } from '../../src/kernel/money.ts';
import { eventually } from '../support/eventually.ts';
import { nanos, type ReconciledView, type Spending } from '../support/money.ts';
import { type Acknowledged, settledOf } from '../support/spenders.ts';
import type { Churners } from './churners.ts';

export interface Differences {
  /** Acknowledged effects that do not exist. */
  readonly lost: number;
  /** Effects that exist twice, or that no client asked for. */
  readonly doubled: number;
  /** Limits that were exceeded. */
  readonly overspent: number;
  /** Difference between the ledger and its own counters, or what was acknowledged. */
  readonly driftUsd: string;
}

/** While nothing is spent. `capacities` are the limits by kind. */
export async function compareSpending(
  through: Spending,
  acknowledged: Acknowledged,
  capacities: Readonly<Record<string, bigint>>,
): Promise<Differences> {
  const { runs, holds, expiring, ended, lost: unanswered } = acknowledged;
  let lost = 0;
  let doubled = 0;
  const stored = new Set<string>();
  for (const { id, external_id, cost_usd } of await through.runs()) {
    const expected = runs.get(external_id);
    const usd = cost_usd === null ? undefined : nanos(cost_usd);
    doubled += stored.has(external_id) || expected?.id !== id ? 1 : 0;
    lost += expected !== undefined && expected.usd !== usd ? 1 : 0;
    stored.add(external_id);
  }
  lost += [...runs.keys()].filter((name) => !stored.has(name)).length;

  const open = await openHolds(through);
  const openIds = new Set(open.map(({ decision_id }) => decision_id));
  lost += [...holds.keys()].filter((id) => !openIds.has(id)).length;
  for (const { decision_id, workflow } of open) {
    if (ended.has(decision_id)) {
      lost += 1;
    } else if (!holds.has(decision_id) && !expiring.has(decision_id) && !unanswered.has(workflow ?? '')) {
      doubled += 1;
    }
  }

  const view = await through.reconcile();
  const unexplained = nanos(view.totals.cost_usd.entries) - settledOf(runs.values());
  return {
    lost,
    doubled,
    overspent: exceeded(view, capacities),
    driftUsd: formatUsd(absolute(unexplained) + absolute(nanos(view.drift_usd))),
  };
}

export async function compareChurn(through: Spending, churners: Churners, cap: bigint): Promise<Differences> {
  const open = new Set((await openHolds(through)).map(({ decision_id }) => decision_id));
  const unknown = [...open].filter((id) => !churners.open.has(id));
  const view = await through.reconcile();
  return {
    lost:
      [...churners.open].filter((id) => !open.has(id)).length +
      unknown.filter((id) => churners.ended.has(id)).length,
    doubled: unknown.filter((id) => !churners.ended.has(id)).length,
    overspent: churners.overspent() + exceeded(view, { spend_cap: cap }),
    driftUsd: formatUsd(absolute(nanos(view.drift_usd))),
  };
}

/** Returns the open holds once overdue holds have been released. */
function openHolds(through: Spending) {
  return eventually(async () => {
    const open = await through.holds();
    expect(open.filter(({ expires_at }) => Date.parse(expires_at) < Date.now())).toEqual([]);
    return open;
  });
}

function exceeded({ counters }: ReconciledView, capacities: Readonly<Record<string, bigint>>): number {
  return counters.filter(({ kind, settled, held }) => {
    const capacity = capacities[kind];
    return capacity !== undefined && nanos(settled) + nanos(held) > capacity;
  }).length;
}

function absolute(amount: bigint): bigint {
  return amount < 0n ? -amount : amount;
}
