/** Decides what an update does with each model. Pure: the caller applies the plan. */
import {
  followsUpdates,
  hasRoom,
  type ListPrices,
  type ModelPriceRow,
  type PriceRequest,
  priceColumnsOf,
  viewPriceColumns,
} from '../models/index.ts';
import {
  differenceBetween,
  type PriceForm,
  type RateDifference,
  withMissingTerms,
} from './rate-differences.ts';

/** The price of a model in a price list. */
export interface ListEntry {
  readonly model: string;
  readonly provider: string;
  /** Undefined if prices cannot express how the model is billed. */
  readonly price: PriceRequest | undefined;
  readonly source: string;
}

export const plannedStatuses = ['added', 'changed', 'pending', 'kept', 'skipped', 'unchanged'] as const;
export type PlannedStatus = (typeof plannedStatuses)[number];

export const plannedReasons = {
  operator_price: 'An operator set the price.',
  name_of_operator_price:
    'The name stands for a model whose price an operator set, for all or for an organization.',
  rejected: 'An operator rejected this change.',
  no_price: 'Prices cannot express how the model is billed.',
  too_many_versions: 'The price has the maximum number of versions.',
} as const;
export type PlannedReason = keyof typeof plannedReasons;

export interface PlannedModel {
  readonly entry: ListEntry;
  readonly status: PlannedStatus;
  readonly reason: PlannedReason | null;
  /** The version in force before; if the name stands for another model, the version of that model. */
  readonly current: ModelPriceRow | undefined;
  readonly rates: readonly RateDifference[];
}

export interface PriceUpdateOptions {
  /** Rates that the list does not have are kept. */
  readonly keepsMissingRates: boolean;
  /** Large changes are applied instead of waiting. */
  readonly appliesLargeChanges: boolean;
  /** Returns true if an operator rejected this price of the model while the same version was in force. */
  wasRejected(entry: ListEntry, current: ModelPriceRow): boolean;
}

/**
 * Plans all entries. Those without a price of their own are planned last, because they follow the model that their name stands
 * for: they need a price of their own if the list moves only that model.
 */
export function planUpdate(
  entries: readonly ListEntry[],
  prices: ListPrices,
  options: PriceUpdateOptions,
): PlannedModel[] {
  const planned = new Map<string, PlannedModel>();
  const followers = entries.filter(
    ({ model }) => prices.exact(model) === undefined && prices.resolved(model) !== undefined,
  );
  const isFollower = new Set(followers);
  for (const entry of entries.filter((one) => !isFollower.has(one))) {
    planned.set(entry.model, planModel(entry, prices, options, formOf));
  }
  const afterUpdate = (row: ModelPriceRow): PriceForm => {
    const { status, entry } = planned.get(row.model) ?? {};
    return (status === 'changed' || status === 'pending') && entry?.price !== undefined
      ? viewPriceColumns(priceColumnsOf(entry.price))
      : formOf(row);
  };
  const followed = followers.map((entry) => planModel(entry, prices, options, afterUpdate));
  for (const one of followed) {
    planned.set(one.entry.model, one);
  }
  return entries.flatMap(({ model }) => planned.get(model) ?? []);
}

function planModel(
  listed: ListEntry,
  prices: ListPrices,
  options: PriceUpdateOptions,
  afterUpdate: (row: ModelPriceRow) => PriceForm,
): PlannedModel {
  const own = prices.exact(listed.model);
  const current = own ?? prices.resolved(listed.model);
  const entry = options.keepsMissingRates ? withMissingRates(listed, current) : listed;
  const plan = (
    status: PlannedStatus,
    reason: PlannedReason | null = null,
    rates: readonly RateDifference[] = [],
  ) => ({ entry, status, reason, current, rates });
  if (entry.price === undefined) {
    return plan('skipped', 'no_price');
  }
  const form = viewPriceColumns(priceColumnsOf(entry.price));
  const { rates, isLarge } = differenceBetween(current === undefined ? {} : formOf(current), form);
  if (current !== undefined && differenceBetween(afterUpdate(current), form).rates.length === 0) {
    return plan('unchanged');
  }
  if (current !== undefined && !followsUpdates(current)) {
    return plan('kept', own === undefined ? 'name_of_operator_price' : 'operator_price', rates);
  }
  // A price of its own would take the name away from the organization's price of the other model.
  if (current !== undefined && own === undefined && prices.hasOrgPrice(current.model)) {
    return plan('kept', 'name_of_operator_price', rates);
  }
  if (!hasRoom(prices, entry.model)) {
    return plan('skipped', 'too_many_versions', rates);
  }
  // Without a difference, the name keeps the price that the other model had.
  if (current === undefined || rates.length === 0) {
    return plan('added', null, rates);
  }
  if (isLarge && !options.appliesLargeChanges) {
    return options.wasRejected(entry, current)
      ? plan('kept', 'rejected', rates)
      : plan('pending', null, rates);
  }
  return plan('changed', null, rates);
}

/** A stored price in the form that entries are compared in. */
export function formOf(row: ModelPriceRow): PriceForm {
  return viewPriceColumns(row);
}

function withMissingRates(entry: ListEntry, current: ModelPriceRow | undefined): ListEntry {
  return entry.price === undefined || current === undefined
    ? entry
    : { ...entry, price: withMissingTerms({ ...entry.price }, formOf(current)) as PriceRequest };
}

/**
 * Returns the entries of a list with an entry for each alias that has, or stands for, a price of its own: it would otherwise
 * keep an old price. The other aliases follow their model.
 */
export function withPricedAliases(
  entries: readonly (ListEntry & { readonly aliases?: readonly string[] })[],
  prices: ListPrices,
): ListEntry[] {
  const listed = new Set(entries.map(({ model }) => model));
  return entries.flatMap(({ aliases = [], ...entry }) => {
    const ofTheirOwn = aliases.filter((alias) => {
      const current = prices.exact(alias) ?? prices.resolved(alias);
      const isFirst = !listed.has(alias);
      listed.add(alias);
      return isFirst && current !== undefined && current.model !== entry.model;
    });
    return [entry, ...ofTheirOwn.map((model) => ({ ...entry, model }))];
  });
}
