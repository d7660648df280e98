/**
 * Recomputes the ledger and compares: every counter in use with the entries and the open holds, and the entries with
 * the runs, the usage and the tallies.
 *
 * Counters are compared under the ledger's lock, which must be short because postings wait for it. Therefore entries
 * older than an hour, which rarely change, are summed in advance, in pieces. An apparent difference may be due to a
 * change in between: it is summed again as a whole under another lock, and that result counts. Runs and usage are
 * compared with the entries piece by piece, each in one statement; the same applies to usage by day and by 15-minute
 * bucket.
 */
import { debitsOf } from '../../../kernel/admission.ts';
import { shownKind } from '../../../kernel/limits.ts';
import { formatUsd } from '../../../kernel/money.ts';
import type { TimeRange } from '../../../kernel/rollup-parts.ts';
import { lifetime } from '../../../kernel/windows.ts';
import { growthByCounter } from '../../../ledger/holds/growth-by-counter.ts';
import type { Hold } from '../../../ledger/holds/hold.ts';
import type { InspectedCounter, Inspection, LedgerReads } from '../../../ledger/ledger.ts';
import { readOrgLimits } from '../../../ledger/limits/org-limits.ts';
import type { Database, Transaction } from '../../../platform/db/database.ts';
import type { ReportProgress } from '../../../platform/http/routes/route.ts';
import { ServiceUnavailable } from '../../../platform/service-unavailable.ts';
import { counterName, limitIdOf } from './counter-keys.ts';
import { findBounds } from './ledger-bounds.ts';
import { findKinds, type KindAndUnit } from './limit-kinds.ts';
import { findTallies, hasPayers, type Payment } from './payments.ts';
import { againIfBusy, bucketStartMs, inPieces, progressReporter } from './pieces.ts';
import { paidName, planFor, type RecountPlan } from './reconciliation-plan.ts';
import { Recount } from './recount.ts';
import type { CounterRow, ReconciliationView } from './schema.ts';
import {
  addDrift,
  addTotals,
  compareBucketTotals,
  compareDays,
  compareEntryParts,
  compareUsageParts,
  sumTotals,
  type Totals,
} from './totals.ts';

export interface ReconciliationDependencies {
  readonly db: Database;
  readonly ledger: Pick<LedgerReads, 'inspect'>;
}

export interface Reconciliation {
  readonly view: ReconciliationView;
  readonly driftNanos: bigint;
}

/** Maximum number of counters in a response; all of them are compared. */
const rowsMax = 1_000;
const attempts = 3;
const settledAfterMs = 3_600_000;
const always: TimeRange = { fromMs: Date.UTC(1900, 0, 1), toMs: lifetime.endMs };

export async function reconcile(
  deps: ReconciliationDependencies,
  orgId: string,
  now: Date,
  progress?: ReportProgress,
): Promise<Reconciliation> {
  for (let attempt = 0; attempt < attempts; attempt += 1) {
    const reconciled = await tryToReconcile(deps, orgId, now, progress);
    if (reconciled !== undefined) {
      return reconciled;
    }
  }
  throw new ServiceUnavailable('the limits keep changing');
}

/** Returns undefined if limits changed in the meantime: counters would be compared with values they no longer count. */
async function tryToReconcile(
  { db, ledger }: ReconciliationDependencies,
  orgId: string,
  now: Date,
  progress: ReportProgress | undefined,
): Promise<Reconciliation | undefined> {
  const { counters, result: limits } = await ledger.inspect(orgId, (tx) => readOrgLimits(tx, orgId));
  const plan = planFor(limits, counters);
  const payers = await hasPayers(db, orgId);
  const bounds = await findBounds(db, orgId);
  const cutMs = bucketStartMs(now.getTime() - settledAfterMs);
  const recount = new Recount();
  let totals: Totals | undefined;
  if (bounds !== undefined) {
    const settled = { fromMs: bounds.fromMs, toMs: Math.max(bounds.fromMs, Math.min(bounds.toMs, cutMs)) };
    const reportProgress = progressReporter([settled, bounds, bounds], progress);
    await inPieces(settled, 'buckets', reportProgress, (piece) =>
      recount.add(db, orgId, plan, { ...piece, toMs: Math.min(piece.toMs, cutMs) }, payers),
    );
    await inPieces(bounds, 'buckets', reportProgress, async (piece) => {
      totals = addDrift(
        addTotals(totals, await sumTotals(db, orgId, piece)),
        await compareEntryParts(db, orgId, piece),
      );
    });
    await inPieces(bounds, 'days', reportProgress, async (piece) => {
      const drifts = [
        await compareDays(db, orgId, piece),
        await compareBucketTotals(db, orgId, piece),
        await compareUsageParts(db, orgId, piece),
      ];
      totals = totals && drifts.reduce(addDrift, totals);
    });
  }

  const rest = { fromMs: bounds === undefined ? always.fromMs : cutMs, toMs: always.toMs };
  const first = await againIfBusy(() =>
    ledger.inspect(orgId, (tx) => readMoment(tx, orgId, plan, recount, rest, payers)),
  );
  if (first.result.version !== limits.version) {
    return undefined;
  }
  let compared = compareCounters(plan, first);
  let paid = first.result.paid;
  const doubtful = new Set(compared.flatMap(({ drift, row }) => (drift === 0n ? [] : [row.key])));
  if (doubtful.size > 0 || paid.some(({ entries, tallies }) => entries !== tallies)) {
    const again = planFor(
      limits,
      counters.filter(({ key }) => doubtful.has(key)),
    );
    const second = await againIfBusy(() =>
      ledger.inspect(orgId, (tx) => readMoment(tx, orgId, again, new Recount(), always, payers)),
    );
    if (second.result.version !== limits.version) {
      return undefined;
    }
    compared = [
      ...compared.filter(({ row }) => !doubtful.has(row.key)),
      ...compareCounters(again, second).filter(({ row }) => doubtful.has(row.key)),
    ];
    paid = second.result.paid;
  }
  return conclusion(compared, paid, totals ?? (await sumTotals(db, orgId, { fromMs: 0, toMs: 0 })), now);
}

interface Moment {
  readonly version: bigint;
  readonly recount: Recount;
  readonly paid: readonly ComparedPayment[];
  readonly kinds: ReadonlyMap<string, KindAndUnit>;
}

/**
 * Adds the rest of the period to the sums that were read in advance, and reads the tallies and limits of the same
 * moment.
 */
async function readMoment(
  tx: Transaction,
  orgId: string,
  plan: RecountPlan,
  recount: Recount,
  rest: TimeRange,
  payers: boolean,
): Promise<Moment> {
  const { version } = await readOrgLimits(tx, orgId);
  await recount.add(tx, orgId, plan, rest, payers);
  await recount.addClosed(tx, orgId, plan, payers);
  return {
    version,
    recount,
    paid: paidOf(recount, payers ? await findTallies(tx, orgId) : []),
    kinds: await findKinds(tx, orgId, plan.retiredLimits),
  };
}

/** Payments of a pack or the prepaid balance, according to the entries and to the tallies. */
interface ComparedPayment {
  readonly kind: Payment['kind'];
  readonly entries: bigint;
  readonly tallies: bigint;
}

function paidOf({ payments }: Recount, tallies: readonly Payment[]): ComparedPayment[] {
  const tallied = new Map(tallies.map(({ kind, id, nanos }) => [paidName(kind, id), nanos]));
  return [...new Set([...payments.keys(), ...tallied.keys()])].map((name) => ({
    kind: name.startsWith('credits') ? 'credits' : 'prepaid',
    entries: payments.get(name) ?? 0n,
    tallies: tallied.get(name) ?? 0n,
  }));
}

interface ComparedCounter {
  readonly row: CounterRow;
  readonly drift: bigint;
  readonly isMoney: boolean;
}

/** Compares the counters of the plan; counters that were created after the plan are skipped. */
function compareCounters(
  plan: RecountPlan,
  { counters, holds, result }: Inspection<Moment>,
): ComparedCounter[] {
  const held = heldByHolds(holds);
  const growth = growthByCounter(holds);
  const retired = new Set(plan.retiredLimits);
  return counters.flatMap((counter) => {
    const known = plan.planned.has(counter.key) || retired.has(limitIdOf(counter.key));
    const byHolds = { held: held.get(counter.key) ?? 0n, growth: growth.get(counter.key) ?? 0n };
    return known ? compareOne(plan, result, counter, byHolds) : [];
  });
}

function heldByHolds(holds: readonly Hold[]): ReadonlyMap<string, bigint> {
  const held = new Map<string, bigint>();
  for (const hold of holds) {
    for (const { key, amount } of debitsOf(hold)) {
      held.set(key, (held.get(key) ?? 0n) + amount);
    }
  }
  return held;
}

function compareOne(
  { planned }: RecountPlan,
  { recount, kinds }: Moment,
  { key, settled, held, growth }: InspectedCounter,
  byHolds: Pick<InspectedCounter, 'held' | 'growth'>,
): ComparedCounter[] {
  const plan = planned.get(key);
  const limit = plan?.limit ?? kinds.get(limitIdOf(key));
  if (limit === undefined) {
    return [];
  }
  const settledBy = plan && recount.settled(plan);
  const drift =
    (settledBy === undefined ? 0n : distance(settled, settledBy)) +
    distance(held, byHolds.held) +
    distance(growth, byHolds.growth);
  const windowed = plan !== undefined && plan.window.endMs !== lifetime.endMs;
  const { startMs } = counterName(key);
  const shown = (amount: bigint) => (limit.unit === 'usd' ? formatUsd(amount) : Number(amount));
  return [
    {
      drift,
      isMoney: limit.unit === 'usd',
      row: {
        key,
        limit_id: limitIdOf(key),
        ...shownKind(limit),
        window_start: startMs === lifetime.startMs ? null : new Date(startMs).toISOString(),
        window_end: windowed ? new Date(plan.window.endMs).toISOString() : null,
        settled: shown(settled),
        settled_by_entries: settledBy === undefined ? null : shown(settledBy),
        held: shown(held),
        held_by_holds: shown(byHolds.held),
        growth: shown(growth),
        growth_by_holds: shown(byHolds.growth),
        drift: shown(drift),
      },
    },
  ];
}

function conclusion(
  compared: readonly ComparedCounter[],
  paid: readonly ComparedPayment[],
  { sums: { entries, runs, usage }, drift }: Totals,
  now: Date,
): Reconciliation {
  const rows = [...compared].sort(largestDriftFirst);
  const countersDrift = rows.reduce((sum, one) => (one.isMoney ? sum + one.drift : sum), 0n);
  const paidDrift = paid.reduce((sum, one) => sum + distance(one.entries, one.tallies), 0n);
  const driftNanos = countersDrift + paidDrift + drift.usd + drift.uncovered;
  const paidBy = (kind: ComparedPayment['kind'], source: 'entries' | 'tallies') =>
    formatUsd(paid.filter((one) => one.kind === kind).reduce((sum, one) => sum + one[source], 0n));
  return {
    driftNanos,
    view: {
      balanced:
        driftNanos === 0n &&
        drift.tokens === 0n &&
        drift.requests === 0n &&
        rows.every((one) => one.drift === 0n),
      drift_usd: formatUsd(driftNanos),
      checked_at: now.toISOString(),
      totals: {
        cost_usd: { entries: formatUsd(entries.usd), runs: formatUsd(runs.usd), usage: formatUsd(usage.usd) },
        tokens: { entries: `${entries.tokens}`, runs: `${runs.tokens}`, usage: `${usage.tokens}` },
        runs: { entries: `${entries.requests}`, runs: `${runs.requests}`, usage: `${usage.requests}` },
        uncovered_usd: { entries: formatUsd(entries.uncovered), runs: formatUsd(runs.uncovered) },
        credits_usd: { entries: paidBy('credits', 'entries'), tallies: paidBy('credits', 'tallies') },
        prepaid_usd: { entries: paidBy('prepaid', 'entries'), tallies: paidBy('prepaid', 'tallies') },
      },
      counters_checked: rows.length,
      counters: rows.slice(0, rowsMax).map(({ row }) => row),
    },
  };
}

function largestDriftFirst(a: ComparedCounter, b: ComparedCounter): number {
  return a.drift === b.drift ? (a.row.key < b.row.key ? -1 : 1) : a.drift > b.drift ? -1 : 1;
}

function distance(a: bigint, b: bigint): bigint {
  return a > b ? a - b : b - a;
}
