/**
 * Recomputes what the books say and compares: every counter with the entries and the open holds, and the entries with
 * the runs, the usage and the tallies. All of it is read in one moment of the ledger.
 *
 * Which counters there are is read a moment before, because what has to be summed follows from it: one statement for
 * all counters that go by the same fields. A counter that comes to be in between is left for the next time.
 */
import {
  type Amounts,
  applicable,
  counterKey,
  each,
  type Limit,
  type OrgLimits,
  type Scope,
  windowOf,
} from '../../kernel/limits.ts';
import { formatUsd } from '../../kernel/money.ts';
import { lifetime, type Window } from '../../kernel/windows.ts';
import { DatabaseUnavailable, type Transaction } from '../../platform/db/database.ts';
import type { Hold } from '../../platform/ledger/hold.ts';
import type { CounterState, Inspection, Ledger } from '../../platform/ledger/ledger.ts';
import { readOrgLimits } from '../../platform/ledger/org-limits.ts';
import { counterName, limitIdOf } from './counter-keys.ts';
import {
  type EntryField,
  entryFields,
  findKinds,
  type KindAndUnit,
  type Paid,
  sumEntries,
  sumPaid,
  sumTotals,
  type Totals,
} from './queries.ts';
import type { CounterRow, ReconciliationView } from './schema.ts';

export interface Reconciliation {
  readonly view: ReconciliationView;
  readonly driftNanos: bigint;
}

/** How many counters an answer lists; all of them are compared. */
const rowsMax = 1_000;
const attempts = 3;

export async function reconcile(
  ledger: Pick<Ledger, 'inspect'>,
  orgId: string,
  now: Date,
): Promise<Reconciliation> {
  for (let attempt = 0; attempt < attempts; attempt += 1) {
    const { counters, result: limits } = await ledger.inspect(orgId, (tx) => readOrgLimits(tx, orgId));
    const plan = planFor(limits, counters);
    const inspection = await ledger.inspect(orgId, (tx) => readAll(tx, orgId, plan));
    // Counters of limits that were changed in between would be compared with what they no longer count.
    if (inspection.result.version === limits.version) {
      return compare(plan, inspection, now);
    }
  }
  throw new DatabaseUnavailable('the limits keep changing');
}

/** Where to look up what a counter should say. */
type Place =
  | { readonly kind: 'entries'; readonly group: Group; readonly name: string }
  | { readonly kind: 'paid'; readonly name: string };

interface Planned {
  readonly limit: Limit;
  readonly window: Window;
  readonly place: Place;
}

interface Group {
  readonly fields: readonly EntryField[];
  readonly windows: Map<string, Window>;
  /** For each field the values that matter; null: all of them. */
  readonly values: (Set<string> | null)[];
  /** Limits that count each combination of several values by itself, whose sums go by the name of the counter. */
  readonly combining: Set<Limit>;
}

interface Plan {
  readonly planned: ReadonlyMap<string, Planned>;
  readonly groups: readonly Group[];
  /** Limits of counters that nobody counts in any more. */
  readonly retiredLimits: readonly string[];
}

function planFor(limits: OrgLimits, counters: readonly CounterState[]): Plan {
  const byId = new Map(limits.all.map((limit) => [limit.id, limit]));
  const planned = new Map<string, Planned>();
  const groups = new Map<string, Group>();
  const retiredLimits = new Set<string>();
  for (const { key } of counters) {
    const limit = byId.get(limitIdOf(key));
    const one = limit && planOne(limits, limit, key, groups);
    if (one === undefined) {
      retiredLimits.add(limitIdOf(key));
    } else {
      planned.set(key, one);
    }
  }
  return { planned, groups: [...groups.values()], retiredLimits: [...retiredLimits] };
}

/** Undefined where charges no longer count in this counter: the limit's window or customers are others by now. */
function planOne(
  limits: OrgLimits,
  limit: Limit,
  key: string,
  groups: Map<string, Group>,
): Planned | undefined {
  const { startMs, values: own = '' } = counterName(key);
  const window = windowOf(limit, limits.timezone, startMs);
  const fields = entryFields.filter((field) => limit.match[field] !== undefined);
  const combines = fields.filter((field) => limit.match[field] === each).length > 1;
  const values = fields.map((field) => (limit.match[field] === each ? own : (limit.match[field] ?? '')));
  if (window.startMs !== startMs || !counts(limits, limit, scopeWith(fields, values))) {
    return undefined;
  }
  if (limit.kind === 'credits' || limit.kind === 'prepaid') {
    const name = paidName(limit.kind, limit.kind === 'credits' ? limit.id : '');
    return { limit, window, place: { kind: 'paid', name } };
  }
  const group = groupOf(groups, fields);
  group.windows.set(windowName(window), window);
  for (const [index, field] of fields.entries()) {
    if (combines && limit.match[field] === each) {
      group.values[index] = null;
    } else {
      group.values[index]?.add(values[index] ?? '');
    }
  }
  if (combines) {
    group.combining.add(limit);
  }
  const name = combines ? key : placeName(window, values);
  return { limit, window, place: { kind: 'entries', group, name } };
}

function groupOf(groups: Map<string, Group>, fields: readonly EntryField[]): Group {
  const there = groups.get(fields.join());
  const group = there ?? {
    fields,
    windows: new Map(),
    values: fields.map(() => new Set<string>()),
    combining: new Set(),
  };
  groups.set(fields.join(), group);
  return group;
}

/** Whether a charge with this scope counts in this limit, or in another one instead. */
function counts(limits: OrgLimits, limit: Limit, scope: Scope): boolean {
  return applicable(limits, scope).includes(limit);
}

function scopeWith(fields: readonly EntryField[], values: readonly string[]): Scope {
  const of = (field: EntryField) => values[fields.indexOf(field)] ?? null;
  return {
    key_id: of('key_id') ?? '',
    model: of('model'),
    provider: null,
    action: null,
    workflow: of('workflow'),
    deployment: of('deployment'),
    department: of('department'),
    team: null,
    customer_id: of('customer_id'),
    chain_id: of('chain_id'),
  };
}

function windowName({ startMs, endMs }: Window): string {
  return `${startMs} ${endMs}`;
}

function placeName(window: Window, values: readonly string[]): string {
  return JSON.stringify([windowName(window), ...values]);
}

function paidName(kind: Paid['kind'], id: string): string {
  return `${kind} ${id}`;
}

interface Read {
  readonly version: bigint;
  readonly sums: ReadonlyMap<Group, ReadonlyMap<string, Amounts>>;
  readonly paid: ReadonlyMap<string, Paid>;
  readonly totals: Totals;
  readonly retired: ReadonlyMap<string, KindAndUnit>;
}

async function readAll(tx: Transaction, orgId: string, plan: Plan): Promise<Read> {
  const { version } = await readOrgLimits(tx, orgId);
  const sums = new Map<Group, ReadonlyMap<string, Amounts>>();
  for (const group of plan.groups) {
    sums.set(group, await readGroup(tx, orgId, group));
  }
  return {
    version,
    sums,
    paid: new Map((await sumPaid(tx, orgId)).map((one) => [paidName(one.kind, one.id), one])),
    totals: await sumTotals(tx, orgId),
    retired: await findKinds(tx, orgId, plan.retiredLimits),
  };
}

async function readGroup(
  tx: Transaction,
  orgId: string,
  { fields, windows, values, combining }: Group,
): Promise<ReadonlyMap<string, Amounts>> {
  const spans = [...windows.values()];
  const found = await sumEntries(tx, orgId, {
    fields,
    windows: spans,
    values: values.map((some) => some && [...some]),
  });
  const sums = new Map<string, Amounts>();
  for (const { window: index, values: texts, amounts } of found) {
    const window = spans[index] ?? lifetime;
    sums.set(placeName(window, texts), amounts);
    for (const limit of combining) {
      if (fields.every((field, at) => [each, texts[at]].includes(limit.match[field]))) {
        const key = counterKey(limit, window, scopeWith(fields, texts));
        sums.set(key, added(sums.get(key), amounts));
      }
    }
  }
  return sums;
}

function added(a: Amounts | undefined, b: Amounts): Amounts {
  return a === undefined
    ? b
    : { usd: a.usd + b.usd, tokens: a.tokens + b.tokens, requests: a.requests + b.requests };
}

function compare(plan: Plan, { counters, holds, result }: Inspection<Read>, now: Date): Reconciliation {
  const held = heldByHolds(holds);
  const compared = counters.flatMap((counter) =>
    compareOne(plan, result, counter, held.get(counter.key) ?? 0n),
  );
  compared.sort(largestDriftFirst);
  const totals = viewTotals(result);
  const driftNanos = compared.reduce(
    (sum, { drift, isMoney }) => (isMoney ? sum + drift : sum),
    totals.driftNanos,
  );
  return {
    driftNanos,
    view: {
      balanced: totals.balanced && compared.every(({ drift }) => drift === 0n),
      drift_usd: formatUsd(driftNanos),
      checked_at: now.toISOString(),
      totals: totals.view,
      counters_checked: compared.length,
      counters: compared.slice(0, rowsMax).map(({ row }) => row),
    },
  };
}

function heldByHolds(holds: readonly Hold[]): ReadonlyMap<string, bigint> {
  const held = new Map<string, bigint>();
  for (const { takes, packs } of holds) {
    for (const { key, amount } of [...takes, ...packs]) {
      held.set(key, (held.get(key) ?? 0n) + amount);
    }
  }
  return held;
}

interface Compared {
  readonly row: CounterRow;
  readonly drift: bigint;
  readonly isMoney: boolean;
}

function compareOne(
  { planned }: Plan,
  read: Read,
  { key, settled, held }: CounterState,
  heldBy: bigint,
): Compared[] {
  const plan = planned.get(key);
  const limit = plan?.limit ?? read.retired.get(limitIdOf(key));
  if (limit === undefined) {
    return [];
  }
  const settledBy = plan && settledByEntries(plan, read);
  const drift = (settledBy === undefined ? 0n : distance(settled, settledBy)) + distance(held, heldBy);
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
        kind: limit.kind,
        unit: limit.unit,
        window_start: startMs === lifetime.startMs ? null : new Date(startMs).toISOString(),
        window_end: windowed ? new Date(plan.window.endMs).toISOString() : null,
        settled: shown(settled),
        settled_by_entries: settledBy === undefined ? null : shown(settledBy),
        held: shown(held),
        held_by_holds: shown(heldBy),
        drift: shown(drift),
      },
    },
  ];
}

function settledByEntries({ limit, place }: Planned, { sums, paid }: Read): bigint {
  return place.kind === 'paid'
    ? (paid.get(place.name)?.entries ?? 0n)
    : (sums.get(place.group)?.get(place.name)?.[limit.unit] ?? 0n);
}

function largestDriftFirst(a: Compared, b: Compared): number {
  return a.drift === b.drift ? (a.row.key < b.row.key ? -1 : 1) : a.drift > b.drift ? -1 : 1;
}

function viewTotals({ totals: { sums, drift }, paid }: Read) {
  const { entries, runs, usage } = sums;
  const payers = [...paid.values()];
  const paidBy = (kind: Paid['kind'], source: 'entries' | 'tallies') =>
    formatUsd(payers.filter((one) => one.kind === kind).reduce((sum, one) => sum + one[source], 0n));
  const paidDrift = payers.reduce((sum, one) => sum + distance(one.entries, one.tallies), 0n);
  const driftNanos = drift.usd + drift.uncovered + paidDrift;
  return {
    driftNanos,
    balanced: driftNanos === 0n && drift.tokens === 0n && drift.requests === 0n,
    view: {
      cost_usd: { entries: formatUsd(entries.usd), runs: formatUsd(runs.usd), usage: formatUsd(usage.usd) },
      tokens: { entries: `${entries.tokens}`, runs: `${runs.tokens}`, usage: `${usage.tokens}` },
      runs: { entries: `${entries.requests}`, runs: `${runs.requests}`, usage: `${usage.requests}` },
      uncovered_usd: { entries: formatUsd(entries.uncovered), runs: formatUsd(runs.uncovered) },
      credits_usd: { entries: paidBy('credits', 'entries'), tallies: paidBy('credits', 'tallies') },
      prepaid_usd: { entries: paidBy('prepaid', 'entries'), tallies: paidBy('prepaid', 'tallies') },
    },
  };
}

function distance(a: bigint, b: bigint): bigint {
  return a > b ? a - b : b - a;
}
