/**
 * The columns of an export: those of FOCUS in alphabetical order, then columns of Purser, prefixed by `x_`. The guide
 * `docs/guides/focus.md` describes each of them.
 */
import { type FocusCharge, priceDecimals } from './charge.ts';

/**
 * `amount`, `price`, `quantity` and `priced_quantity` are decimals, as integers with the number of `decimalsOf`. Prices may be for a
 * million units, so quantities that are priced have six decimals.
 */
export type FocusColumnType =
  | 'text'
  | 'json'
  | 'time'
  | 'amount'
  | 'price'
  | 'quantity'
  | 'priced_quantity'
  | 'integer';

export interface FocusColumn<Charge extends FocusCharge = FocusCharge> {
  readonly name: string;
  readonly type: FocusColumnType;
  readonly nullable: boolean;
  /** A text, an integer, or milliseconds for a time. */
  value(charge: Charge): string | bigint | number | null;
}

/** Number of decimals of each type of decimal. */
export const decimalsOf = {
  amount: 9,
  price: priceDecimals,
  quantity: 0,
  priced_quantity: 6,
  integer: 0,
} as const;

export const column = <Charge extends FocusCharge>(
  name: string,
  type: FocusColumnType,
  value: FocusColumn<Charge>['value'],
  { nullable = false } = {},
): FocusColumn<Charge> => ({ name, type, nullable, value });

export const nullable = { nullable: true };
const cost: FocusColumn['value'] = ({ costNanos }) => costNanos;
const unitPrice: FocusColumn['value'] = ({ priced }) => priced?.unitPrice ?? null;
export const provider: FocusColumn['value'] = (charge) => charge.provider;

/** Columns that are the same in all versions. */
const commonColumns: readonly FocusColumn[] = [
  column('BilledCost', 'amount', cost),
  column('BillingAccountId', 'text', ({ account }) => account.id),
  column('BillingAccountName', 'text', ({ account }) => account.name),
  column('BillingCurrency', 'text', () => 'USD'),
  column('BillingPeriodEnd', 'time', ({ billingPeriod }) => billingPeriod.endMs),
  column('BillingPeriodStart', 'time', ({ billingPeriod }) => billingPeriod.startMs),
  column('ChargeCategory', 'text', ({ category }) => category),
  column('ChargeClass', 'text', ({ isCorrection }) => (isCorrection ? 'Correction' : null), nullable),
  column('ChargeDescription', 'text', ({ description }) => description),
  column('ChargeFrequency', 'text', ({ priced }) => (priced === null ? 'One-Time' : 'Usage-Based')),
  column('ChargePeriodEnd', 'time', ({ chargePeriod }) => chargePeriod.endMs),
  column('ChargePeriodStart', 'time', ({ chargePeriod }) => chargePeriod.startMs),
  column('ConsumedQuantity', 'quantity', ({ priced }) => priced?.quantity ?? null, nullable),
  column('ConsumedUnit', 'text', ({ priced }) => priced?.unit ?? null, nullable),
  column('ContractedCost', 'amount', cost),
  column('ContractedUnitPrice', 'price', unitPrice, nullable),
  column('EffectiveCost', 'amount', cost),
  column('InvoiceId', 'text', () => null, nullable),
  column('InvoiceIssuerName', 'text', provider),
  column('ListCost', 'amount', cost),
  column('ListUnitPrice', 'price', unitPrice, nullable),
  column('PricingCategory', 'text', ({ priced }) => (priced === null ? null : 'Standard'), nullable),
  column('PricingUnit', 'text', ({ priced }) => priced?.pricingUnit ?? null, nullable),
  column('ServiceCategory', 'text', () => 'AI and Machine Learning'),
  column('ServiceName', 'text', () => 'Model inference'),
  column('ServiceSubcategory', 'text', () => 'Generative AI'),
  column('SkuId', 'text', ({ sku }) => sku.id),
  column('SkuMeter', 'text', ({ sku }) => sku.meter),
  column('SkuPriceDetails', 'json', ({ sku }) => sku.details, nullable),
  column('SubAccountId', 'text', ({ subAccount }) => subAccount?.value ?? null, nullable),
  column('SubAccountName', 'text', ({ subAccount }) => subAccount?.value ?? null, nullable),
  column('SubAccountType', 'text', ({ subAccount }) => subAccount?.type ?? null, nullable),
  column('Tags', 'json', ({ tags }) => tags, nullable),
];

/** Returns the columns of a version: the common ones, its own ones, and those of Purser. */
export function columnsWith<Charge extends FocusCharge>(
  own: readonly FocusColumn<Charge>[],
  custom: readonly FocusColumn<Charge>[],
): readonly FocusColumn<Charge>[] {
  const ofFocus: FocusColumn<Charge>[] = [...commonColumns, ...own];
  return [...ofFocus.sort((a, b) => (a.name < b.name ? -1 : 1)), ...custom];
}
