/** A charge in the terms of FOCUS: what the rows of all versions have in common. */
import { nounOf } from '../../../contract/run-dimensions.ts';
import { roundedQuotient } from '../../../kernel/decimals.ts';
import type { FocusPlan, Label } from './plan.ts';

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
  readonly description: string;
  readonly provider: string;
  readonly model: string;
  readonly costNanos: bigint;
  /** Null unless the cost is the product of a quantity and a price. */
  readonly priced: PricedQuantity | null;
  readonly sku: Sku;
  readonly subAccount: { readonly value: string; readonly type: string } | null;
  /** JSON; null: none. */
  readonly tags: string | null;
}

export interface BillingAccount {
  readonly id: string;
  readonly name: string;
}

export interface Sku {
  readonly id: string;
  readonly meter: string;
  /** JSON; null: none. */
  readonly details: string | null;
}

export interface PricedQuantity extends MeteredQuantity {
  /** The unit that the price is for; `quantity` divided by its block is the quantity that is priced. */
  readonly pricingUnit: string;
  /** Cost per pricing unit in dollars, with `priceDecimals` decimals. */
  readonly unitPrice: bigint;
}

export interface MeteredQuantity {
  readonly quantity: bigint;
  readonly unit: string;
}

/** The sums of one charge period, with the same provider, model, labels and kind. */
export interface ChargeGroup<Sum extends string = never> {
  /** Number of the charge period, from 1. */
  readonly period: number;
  /** Empty: none. */
  readonly provider: string;
  readonly model: string;
  readonly labels: readonly string[];
  /** Code of the kind of usage; empty if the version has a row for all kinds. */
  readonly kind: string;
  /** Month in which a correction was posted, as `YYYY-MM`; empty: not a correction of an earlier month. */
  readonly correctedIn: string;
  readonly sums: Readonly<Record<Sum | 'usd_nanos', bigint>>;
}

/** The data of a charge that is not in its group. */
export interface ChargeContext {
  readonly plan: FocusPlan;
  readonly account: BillingAccount;
  /** Used if the runs have none. */
  readonly provider: string | null;
}

/** So many that the product of price and quantity, rounded to a nanodollar, is the cost for any quantity below 1e15. */
export const priceDecimals = 24;
const pricePerNano = 10n ** BigInt(priceDecimals - 9);

/** Runs may have no provider or model, but the specification requires both. */
export const unknownName = 'unknown';
/** Prefix of tags in the export that come from fields of runs. It prevents clashes with the tags of runs. */
export const fieldTagPrefix = 'purser/';

interface ChargeTerms {
  /** Text that names what the charge is for. */
  readonly subject: string;
  /** The quantity and its price, unless the charge is a correction. */
  readonly priced: PricedQuantity | null;
  skuOf(priced: PricedQuantity | null): Sku;
}

/** Returns the charge of a group, with what the version says about its price and its SKU. */
export function chargeOf(
  group: ChargeGroup,
  { plan, account, provider }: ChargeContext,
  { subject, skuOf, ...terms }: ChargeTerms,
): FocusCharge {
  const chargePeriod = chargePeriodOf(plan, group.period);
  const isCorrection = group.correctedIn !== '';
  const priced = isCorrection ? null : terms.priced;
  const category = priced === null && !isCorrection ? 'Adjustment' : 'Usage';
  return {
    account,
    category,
    priced,
    sku: skuOf(priced),
    billingPeriod: monthOf(isCorrection ? Date.parse(`${group.correctedIn}-01`) : chargePeriod.startMs),
    chargePeriod,
    isCorrection,
    description: `${isCorrection ? 'Correction: ' : category === 'Adjustment' ? 'Adjustment: ' : ''}${subject}`,
    provider: group.provider || provider || unknownName,
    model: modelOf(group),
    costNanos: group.sums.usd_nanos,
    subAccount: subAccountOf(plan.labels[0], group.labels[0]),
    tags: tagsOf(plan.labels, group.labels),
  };
}

export function modelOf({ model }: ChargeGroup): string {
  return model || unknownName;
}

/**
 * Returns the average price of the quantity. Null if there is no quantity, or if the cost is negative, because prices are not: such
 * sums remain where a statement was below the recorded cost.
 */
export function pricedAt(
  costNanos: bigint,
  { quantity, unit }: MeteredQuantity,
  { size, unit: pricingUnit }: { readonly size: bigint; readonly unit: string } = { size: 1n, unit },
): PricedQuantity | null {
  return quantity <= 0n || costNanos < 0n
    ? null
    : {
        quantity,
        unit,
        pricingUnit,
        unitPrice: roundedQuotient(costNanos * pricePerNano * size, quantity),
      };
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

export function capitalized(name: string): string {
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
