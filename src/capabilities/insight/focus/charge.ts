/** A charge in the terms of FOCUS 1.2, derived from the sums of a group. */
import { nounOf } from '../../../contract/run-dimensions.ts';
import { roundedQuotient } from '../../../kernel/decimals.ts';
import type { FocusPlan, Label } from './plan.ts';
import type { ChargeGroup } from './queries.ts';

export interface ChargePeriod {
  readonly startMs: number;
  readonly endMs: number;
}

export interface FocusCharge {
  readonly account: BillingAccount;
  readonly billingPeriod: ChargePeriod;
  readonly chargePeriod: ChargePeriod;
  readonly category: 'Usage' | 'Adjustment';
  /** A correction of an earlier billing period. */
  readonly isCorrection: boolean;
  readonly provider: string;
  readonly model: string;
  readonly costNanos: bigint;
  /** Null unless the cost is the product of a quantity and a price. */
  readonly priced: PricedQuantity | null;
  readonly subAccount: { readonly value: string; readonly type: string } | null;
  /** JSON; null: none. */
  readonly tags: string | null;
  readonly requests: bigint;
  readonly tokens: ChargedTokens;
}

export interface BillingAccount {
  readonly id: string;
  readonly name: string;
}

export interface PricedQuantity {
  readonly quantity: bigint;
  readonly unit: 'Tokens' | 'Requests';
  /** Cost per unit in dollars, with `priceDecimals` decimals. */
  readonly unitPrice: bigint;
}

/** Tokens by kind, which do not overlap. */
export interface ChargedTokens {
  readonly uncachedInput: bigint;
  readonly cachedInput: bigint;
  readonly cacheWrite: bigint;
  readonly output: bigint;
}

/** So many that the product of price and quantity, rounded to a nanodollar, is the cost for any quantity below 1e15. */
export const priceDecimals = 24;
const pricePerNano = 10n ** BigInt(priceDecimals - 9);

/** Runs may have no provider or model, but the specification requires both. */
export const unknownName = 'unknown';
/** Prefix of tags in the export that come from fields of runs. It prevents clashes with the tags of runs. */
export const fieldTagPrefix = 'purser/';

/** Returns the charge of a group. `provider` is used if the runs have none. */
export function chargeOf(
  group: ChargeGroup,
  plan: FocusPlan,
  { account, provider }: { readonly account: BillingAccount; readonly provider: string | null },
): FocusCharge {
  const chargePeriod = chargePeriodOf(plan, group.period);
  const isCorrection = group.correctedIn !== '';
  const tokens: ChargedTokens = {
    uncachedInput: group.input_tokens - group.cached_input_tokens - group.cache_write_tokens,
    cachedInput: group.cached_input_tokens,
    cacheWrite: group.cache_write_tokens,
    output: group.output_tokens,
  };
  const priced = isCorrection ? null : pricedQuantity(group);
  return {
    account,
    billingPeriod: monthOf(isCorrection ? Date.parse(`${group.correctedIn}-01`) : chargePeriod.startMs),
    chargePeriod,
    category: priced === null && !isCorrection ? 'Adjustment' : 'Usage',
    isCorrection,
    provider: group.provider || provider || unknownName,
    model: group.model || unknownName,
    costNanos: group.usd_nanos,
    priced,
    subAccount: subAccountOf(plan.labels[0], group.labels[0]),
    tags: tagsOf(plan.labels, group.labels),
    requests: group.runs,
    tokens,
  };
}

/**
 * Tokens if there are any, otherwise requests. Null if there are neither, or if the cost is negative, because prices are not: such
 * sums remain where a statement was below the recorded cost.
 */
function pricedQuantity({
  input_tokens,
  output_tokens,
  runs,
  usd_nanos,
}: ChargeGroup): PricedQuantity | null {
  const tokens = input_tokens + output_tokens;
  const [quantity, unit] = tokens > 0n ? ([tokens, 'Tokens'] as const) : ([runs, 'Requests'] as const);
  return quantity <= 0n || usd_nanos < 0n
    ? null
    : { quantity, unit, unitPrice: roundedQuotient(usd_nanos * pricePerNano, quantity) };
}

/** The first and the last charge period may be shortened by the range. */
function chargePeriodOf({ range, startsMs }: FocusPlan, period: number): ChargePeriod {
  return {
    startMs: Math.max(startsMs[period - 1] ?? range.fromMs, range.fromMs),
    endMs: Math.min(startsMs[period] ?? range.toMs, range.toMs),
  };
}

function monthOf(ms: number): ChargePeriod {
  const at = new Date(ms);
  const startOf = (months: number) => Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + months);
  return { startMs: startOf(0), endMs: startOf(1) };
}

function subAccountOf(label: Label | undefined, value = ''): FocusCharge['subAccount'] {
  if (label === undefined || value === '') {
    return null;
  }
  const type = label.kind === 'tag' ? `Tag ${label.name}` : capitalized(nounOf(label.name) ?? label.name);
  return { value, type };
}

function capitalized(name: string): string {
  return `${name.slice(0, 1).toUpperCase()}${name.slice(1)}`;
}

function tagsOf(labels: readonly Label[], values: readonly string[]): string | null {
  const tags = labels.flatMap(({ kind, name }, index) => {
    const value = values[index] ?? '';
    return value === '' ? [] : [[kind === 'tag' ? name : `${fieldTagPrefix}${name}`, value] as const];
  });
  tags.sort(([a], [b]) => (a < b ? -1 : 1));
  return tags.length === 0 ? null : JSON.stringify(Object.fromEntries(tags));
}
