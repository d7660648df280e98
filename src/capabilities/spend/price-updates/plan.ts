/** Decides how an update treats each model. Pure: the caller applies the plan. */
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
  /** The price; undefined if prices cannot express the billing of the model. */
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
  /** The version in force before. If the name means another model, it is the version of that model. */
  readonly current: ModelPriceRow | undefined;
  readonly rates: readonly RateDifference[];
}

export interface PriceUpdateOptions {
  /** True to keep rates that the list does not have. */
  readonly keepsMissingRates: boolean;
  /** True to apply large changes instead of leaving them to an operator. */
  readonly appliesLargeChanges: boolean;
  /** Returns true if an operator rejected this price while the same version was in force. */
  wasRejected(entry: ListEntry, current: ModelPriceRow): boolean;
}

/**
 * Plans all entries. Entries without their own price are planned last, because they follow the model that their name means. They
 * need their own price if the list changes only that model.
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
  // Its own price would replace the organization's price of the other model for this name.
  if (current !== undefined && own === undefined && prices.hasOrgPrice(current.model)) {
    return plan('kept', 'name_of_operator_price', rates);
  }
  if (!hasRoom(prices, entry.model)) {
    return plan('skipped', 'too_many_versions', rates);
  }
  // If nothing differs, the name keeps the previous price of the other model.
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

/** Returns a stored price in the form in which prices are compared. */
export function formOf(row: ModelPriceRow): PriceForm {
  return viewPriceColumns(row);
}

function withMissingRates(entry: ListEntry, current: ModelPriceRow | undefined): ListEntry {
  return entry.price === undefined || current === undefined
    ? entry
    : { ...entry, price: withMissingTerms({ ...entry.price }, formOf(current)) as PriceRequest };
}

/**
 * Returns the entries of a list, plus one for each alias that has its own price or means a model that does. Otherwise such an alias
 * would keep an old price. All other aliases follow their model.
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
