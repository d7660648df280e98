/**
 * Reference model of the ledger: a list of events from which every sum is recomputed on each call. Slow but
 * obviously correct, and written independently of the code under test; it only shares money and windows.
 */
import type { Amounts, CheckedKind, Limit, Scope } from '../../src/kernel/limits.ts';
import { calendarWindow, fixedWindow, lifetime, type Period, type Window } from '../../src/kernel/windows.ts';

export type Surface = 'edge' | 'run' | 'record';

/** A credit pack and the amount it pays. */
export type Paid = readonly [packId: string, amount: bigint];

export interface Entry {
  readonly runId: string;
  readonly atMs: number;
  readonly scope: Scope;
  readonly amounts: Amounts;
  readonly packs: readonly Paid[];
  readonly uncovered: bigint;
  /** The prepaid balance and the amount taken from it. */
  readonly prepaid: Paid | undefined;
}

export interface ModelHold {
  readonly id: string;
  readonly runId: string | null;
  readonly surface: 'edge' | 'run';
  readonly scope: Scope;
  amounts: Amounts;
  /** The growth of a call; undefined for every other hold. */
  growth: Amounts | undefined;
  /** True if the amount is posted when the hold expires. */
  readonly isPostedAtExpiry: boolean;
  readonly atMs: number;
  packs: readonly Paid[];
  expiresAtMs: number;
  endedAs: 'settled' | 'voided' | 'expired' | undefined;
  /** The run that settled the hold, possibly late. */
  settledBy: string | undefined;
}

/** A temporary raise of a limit. */
export interface ModelRaise {
  readonly limitId: string;
  readonly amount: bigint;
  readonly untilMs: number;
  /** The value of the limit's wildcard; undefined: each value. */
  readonly value: string | undefined;
}

export type Verdict =
  | { readonly allowed: true; readonly packs: readonly Paid[] }
  | { readonly allowed: false; readonly code: string; readonly limitId?: string; readonly used: bigint };

const checkedKinds: Record<Surface, readonly CheckedKind[]> = {
  edge: ['prepaid', 'quota', 'spend_cap', 'budget', 'customer'],
  run: [
    'plan_runs',
    'plan_tokens',
    'prepaid',
    'quota',
    'spend_cap',
    'budget',
    'customer',
    'chain_cost',
    'chain_depth',
    'chain_tokens',
    'credits',
  ],
  record: [
    'plan_runs',
    'plan_tokens',
    'quota',
    'spend_cap',
    'budget',
    'customer',
    'chain_cost',
    'chain_tokens',
  ],
};
/** Budgets of tags come after these. */
const budgetOrder = [
  'department',
  'team',
  'member_id',
  'workflow',
  'deployment',
  'key_id',
  'provider',
  'model',
];
const codes: Partial<Record<CheckedKind, string>> = {
  plan_runs: 'plan_limit_exceeded',
  plan_tokens: 'plan_limit_exceeded',
  prepaid: 'quota_exhausted',
  quota: 'quota_exhausted',
  spend_cap: 'spend_cap_exceeded',
  budget: 'budget_exceeded',
  customer: 'budget_exceeded',
  chain_cost: 'chain_budget_exceeded',
  chain_depth: 'chain_budget_exceeded',
  chain_tokens: 'chain_budget_exceeded',
};

const sum = (amounts: readonly bigint[]) => amounts.reduce((total, amount) => total + amount, 0n);
const least = (a: bigint, b: bigint) => (a < b ? a : b);

export class Model {
  timezone = 'UTC';
  limits: Limit[] = [];
  raises: ModelRaise[] = [];
  readonly entries: Entry[] = [];
  readonly holds = new Map<string, ModelHold>();
  /**
   * Alerts that must have been emitted, and alerts that may have been: `<counter> <percent>`, or for a limit without a window
   * `<counter>#<capacity> <percent>`.
   */
  readonly alertsDue = new Set<string>();
  readonly alertsAllowed = new Set<string>();

  window({ span }: Limit, atMs: number): Window {
    switch (span.kind) {
      case 'calendar':
        return this.#calendarWindow(span.period, span.timezone ?? this.timezone, atMs);
      case 'fixed':
        return fixedWindow(span.seconds, atMs);
      case 'lifetime':
        return lifetime;
    }
  }

  /** Cache: computing a window takes longer than all sums. */
  readonly #windows = new Map<string, Window>();

  #calendarWindow(period: Period, timezone: string, atMs: number): Window {
    const key = `${period} ${timezone} ${atMs}`;
    const window = this.#windows.get(key) ?? calendarWindow(period, timezone, atMs);
    this.#windows.set(key, window);
    return window;
  }

  /** Returns the capacity of a limit for a scope at the time of a decision. */
  capacityOf(limit: Limit, scope: Scope, nowMs: number): bigint {
    const active = this.raises.filter(
      ({ limitId, untilMs, value }) =>
        limitId === limit.id &&
        nowMs < untilMs &&
        (value === undefined || value === this.valueOf(limit, scope)),
    );
    return limit.capacity + sum(active.map(({ amount }) => amount));
  }

  get openHolds(): ModelHold[] {
    return [...this.holds.values()].filter(({ endedAs }) => endedAs === undefined);
  }

  /** Returns the limits that count this scope on this surface, in the order of checks. */
  limitsOf(surface: Surface, scope: Scope): Limit[] {
    return this.limits
      .filter((limit) => checkedKinds[surface].includes(limit.kind) && this.#counts(limit, scope))
      .sort((a, b) => {
        const byKind = checkedKinds[surface].indexOf(a.kind) - checkedKinds[surface].indexOf(b.kind);
        const field = ({ kind, match }: Limit) => {
          const [name] = kind === 'budget' ? Object.keys(match) : [];
          return name === undefined ? -1 : [...budgetOrder, name].indexOf(name);
        };
        return byKind || field(a) - field(b) || (a.id < b.id ? -1 : 1);
      });
  }

  #counts(limit: Limit, scope: Scope): boolean {
    const matches = Object.entries(limit.match).every(([field, wanted]) => {
      const value = valueIn(scope, field);
      return wanted === '*' ? value !== undefined : value === wanted;
    });
    const isDefault = limit.kind === 'customer' && limit.match.customer_id === '*';
    return matches && !(isDefault && this.hasOwnLimit(scope.customer_id));
  }

  hasOwnLimit(customer: string | null | undefined): boolean {
    // A customer named like the wildcard has no limit of its own: that row is the wildcard limit.
    return (
      customer !== '*' &&
      this.limits.some(({ kind, match }) => kind === 'customer' && match.customer_id === customer)
    );
  }

  /** Returns the value that a wildcard limit counts separately. */
  valueOf({ match }: Limit, scope: Scope): string | undefined {
    const [field] = Object.entries(match).find(([, value]) => value === '*') ?? [];
    return field === undefined ? undefined : valueIn(scope, field);
  }

  keyOf(limit: Limit, scope: Scope, atMs: number): string {
    const value = this.valueOf(limit, scope);
    const { startMs } = this.window(limit, atMs);
    return value === undefined ? `${limit.id}@${startMs}` : `${limit.id}@${startMs}:${value}`;
  }

  settled(limit: Limit, value: string | undefined, { startMs, endMs }: Window): bigint {
    if (limit.kind === 'prepaid') {
      return sum(this.entries.map(({ prepaid }) => (prepaid?.[0] === limit.id ? prepaid[1] : 0n)));
    }
    if (limit.kind === 'credits') {
      return sum(this.entries.map(({ packs }) => paidBy(packs, limit.id)));
    }
    return sum(
      this.entries
        .filter(({ atMs }) => startMs <= atMs && atMs < endMs)
        .filter(({ scope }) => this.#counts(limit, scope) && this.valueOf(limit, scope) === value)
        .map(({ amounts }) => amounts[limit.unit]),
    );
  }

  held(limit: Limit, value: string | undefined, { startMs, endMs }: Window): bigint {
    if (limit.kind === 'credits') {
      return sum(this.openHolds.map(({ packs }) => paidBy(packs, limit.id)));
    }
    return sum(
      this.openHolds
        .filter(({ surface }) => checkedKinds[surface].includes(limit.kind))
        .filter(({ atMs }) => startMs <= atMs && atMs < endMs)
        .filter(({ scope }) => this.#counts(limit, scope) && this.valueOf(limit, scope) === value)
        .map(({ amounts }) => amounts[limit.unit]),
    );
  }

  /** Returns what the open holds of a limit are expected to be increased by. Credit packs keep nothing free. */
  growth(limit: Limit, value: string | undefined, { startMs, endMs }: Window): bigint {
    return sum(
      this.openHolds
        .filter(({ surface }) => limit.kind !== 'credits' && checkedKinds[surface].includes(limit.kind))
        .filter(({ atMs }) => startMs <= atMs && atMs < endMs)
        .filter(({ scope }) => this.#counts(limit, scope) && this.valueOf(limit, scope) === value)
        .map(({ growth }) => growth?.[limit.unit] ?? 0n),
    );
  }

  used(limit: Limit, scope: Scope, atMs: number): bigint {
    const [value, window] = [this.valueOf(limit, scope), this.window(limit, atMs)];
    return this.settled(limit, value, window) + this.held(limit, value, window);
  }

  decide(
    surface: 'edge' | 'run',
    scope: Scope,
    amounts: Amounts,
    depth: number | null,
    atMs: number,
    leavesGrowth = false,
  ): Verdict {
    const limits = this.limitsOf(surface, scope);
    for (const limit of limits) {
      const { kind } = limit;
      const capacity = this.capacityOf(limit, scope, atMs);
      const code = codes[kind];
      if (kind === 'chain_depth') {
        if (depth !== null && BigInt(depth) > capacity) {
          return { allowed: false, code: 'chain_budget_exceeded', used: BigInt(depth - 1) };
        }
      } else if (code !== undefined && limit.enforcement === 'block') {
        const used = this.used(limit, scope, atMs);
        const amount = amounts[limit.unit];
        const kept = leavesGrowth
          ? this.growth(limit, this.valueOf(limit, scope), this.window(limit, atMs))
          : 0n;
        if (amount > 0n && used + kept + amount > capacity) {
          return { allowed: false, code, limitId: limit.id, used };
        }
      }
    }
    const live = this.livePacks(surface, scope, atMs);
    const available = sum(live.map(([, left]) => left));
    if (live.length > 0 && available < amounts.usd) {
      return { allowed: false, code: 'credits_exhausted', used: available };
    }
    return { allowed: true, packs: live.length > 0 ? spread(live, amounts.usd) : [] };
  }

  /** Decides an increase of an open hold. The packs are all those of the increased hold. */
  decideIncrease({ surface, scope, amounts, atMs, packs }: ModelHold, by: Amounts, nowMs: number): Verdict {
    for (const limit of this.limitsOf(surface, scope)) {
      const code = codes[limit.kind];
      if (limit.kind !== 'chain_depth' && code !== undefined && limit.enforcement === 'block') {
        const used = this.used(limit, scope, atMs);
        if (by[limit.unit] > 0n && used + by[limit.unit] > this.capacityOf(limit, scope, nowMs)) {
          return { allowed: false, code, limitId: limit.id, used };
        }
      }
    }
    const live = this.livePacks(surface, scope, atMs);
    const missing = amounts.usd + by.usd - sum(packs.map(([, amount]) => amount));
    const available = sum(live.map(([, left]) => left));
    return live.length > 0 && available < missing
      ? { allowed: false, code: 'credits_exhausted', used: available }
      : { allowed: true, packs: merged([...packs, ...spread(live, missing)]) };
  }

  /** Returns the live packs with their remaining amounts, in burn order. */
  livePacks(surface: Surface, scope: Scope, atMs: number): Paid[] {
    const noExpiry = Number.MAX_SAFE_INTEGER;
    return this.limitsOf(surface, scope)
      .filter(({ kind, expiresAtMs }) => kind === 'credits' && atMs < (expiresAtMs ?? noExpiry))
      .sort(
        (a, b) =>
          (a.expiresAtMs ?? noExpiry) - (b.expiresAtMs ?? noExpiry) ||
          a.createdAtMs - b.createdAtMs ||
          (a.id < b.id ? -1 : 1),
      )
      .map((pack): Paid => {
        const left = pack.capacity - this.used(pack, scope, atMs);
        return [pack.id, left > 0n ? left : 0n];
      });
  }

  /** Returns the entry for a cost: held packs pay first, then live ones; the rest is uncovered. */
  entryFor(
    surface: Surface,
    fields: Pick<Entry, 'runId' | 'atMs' | 'scope' | 'amounts'>,
    heldPacks: readonly Paid[],
  ): Entry {
    const { scope, atMs, amounts } = fields;
    const held = sum(heldPacks.map(([, amount]) => amount));
    const fromHold = spread(heldPacks, amounts.usd);
    const beyond = amounts.usd > held ? amounts.usd - held : 0n;
    const live = beyond > 0n ? this.livePacks(surface, scope, atMs) : [];
    const extra = spread(live, beyond);
    const usesCredits = live.length > 0 || heldPacks.length > 0;
    const prepaid = this.limitsOf(surface, scope).find(({ kind }) => kind === 'prepaid');
    return {
      ...fields,
      packs: merged([...fromHold, ...extra]),
      uncovered: usesCredits ? beyond - sum(extra.map(([, amount]) => amount)) : 0n,
      prepaid: prepaid && [prepaid.id, amounts.usd],
    };
  }

  /**
   * Returns the entry of a correction: an increase is paid like any cost; a decrease is returned, first from the
   * uncovered amount, then to the last pack.
   */
  correctionFor(runId: string, scope: Scope, delta: bigint, atMs: number): Entry {
    const fields = { runId, atMs, scope, amounts: { usd: delta, tokens: 0n, requests: 0n } };
    if (delta >= 0n) {
      return this.entryFor('run', fields, []);
    }
    const earlier = this.entries.filter((entry) => entry.runId === runId);
    const forgiven = least(sum(earlier.map(({ uncovered }) => uncovered)), -delta);
    const burned = merged(earlier.flatMap(({ packs }) => packs)).filter(([, amount]) => amount > 0n);
    const back = spread([...burned].reverse(), -delta - forgiven);
    // The balance that paid gets its share back, even if it has ended since.
    const balance = earlier.find(({ prepaid }) => prepaid !== undefined)?.prepaid?.[0];
    const paidBefore = sum(earlier.map((entry) => entry.prepaid?.[1] ?? 0n));
    return {
      ...fields,
      packs: back.map(([id, amount]): Paid => [id, -amount]),
      uncovered: -forgiven,
      prepaid: balance === undefined ? undefined : [balance, -least(paidBefore, -delta)],
    };
  }

  post(entries: readonly { readonly entry: Entry; readonly surface: Surface }[], nowMs: number): void {
    this.entries.push(...entries.map(({ entry }) => entry));
    this.noteAlerts(entries, nowMs);
  }

  /** Records the alerts of new entries. An alert is due if its counter certainly exists. */
  noteAlerts(entries: readonly { readonly entry: Entry; readonly surface: Surface }[], nowMs: number): void {
    for (const { entry, surface } of entries) {
      const { scope, atMs } = entry;
      for (const limit of this.limitsOf(surface, scope)) {
        const window = this.window(limit, atMs);
        const settled = this.settled(limit, this.valueOf(limit, scope), window);
        const counter = this.keyOf(limit, scope, atMs);
        const capacity = this.capacityOf(limit, scope, nowMs);
        const key = limit.span.kind === 'lifetime' ? `${counter}#${limit.capacity}` : counter;
        const certain = nowMs < window.endMs && (surface !== 'record' || atMs === nowMs);
        const fired = [...this.alertsDue].filter((name) => name.startsWith(`${key} `));
        const highest = Math.max(0, ...fired.map((name) => Number(name.slice(key.length + 1))));
        for (const percent of limit.thresholds) {
          if (settled > 0n && settled * 100n >= BigInt(percent) * capacity) {
            this.alertsAllowed.add(`${key} ${percent}`);
            if (certain && percent > highest) {
              this.alertsDue.add(`${key} ${percent}`);
            }
          }
        }
      }
    }
  }
}

function paidBy(packs: readonly Paid[], packId: string): bigint {
  return sum(packs.filter(([id]) => id === packId).map(([, amount]) => amount));
}

/** Spreads an amount over packs in order. */
function spread(packs: readonly Paid[], amount: bigint): Paid[] {
  let rest = amount;
  return packs.flatMap(([id, left]): Paid[] => {
    const used = least(left, rest);
    rest -= used;
    return used > 0n ? [[id, used]] : [];
  });
}

function merged(packs: readonly Paid[]): Paid[] {
  const ids = [...new Set(packs.map(([id]) => id))];
  return ids.map((id): Paid => [id, paidBy(packs, id)]);
}

/** Returns the value of a scope in a field or tag. Independent of the code under test on purpose. */
function valueIn(scope: Scope, field: string): string | undefined {
  const values: Readonly<Record<string, unknown>> = field.startsWith('tag:')
    ? { [field]: scope.tags?.[field.slice('tag:'.length)] }
    : { ...scope };
  return (values[field] ?? undefined) as string | undefined;
}
