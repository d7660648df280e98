/**
 * The columns of an export: those of FOCUS 1.2 in alphabetical order, then columns of Purser, prefixed by `x_`. The guide
 * `docs/guides/focus.md` describes each of them.
 */
import { type FocusCharge, priceDecimals } from './charge.ts';

/** `amount`, `price` and `quantity` are decimals, as integers with the number of `decimalsOf`. */
export type FocusColumnType = 'text' | 'json' | 'time' | 'amount' | 'price' | 'quantity' | 'integer';

export interface FocusColumn {
  readonly name: string;
  readonly type: FocusColumnType;
  readonly nullable: boolean;
  /** A text, an integer, or milliseconds for a time. */
  value(charge: FocusCharge): string | bigint | number | null;
}

/** Number of decimals of each type of decimal. */
export const decimalsOf = { amount: 9, price: priceDecimals, quantity: 0, integer: 0 } as const;

const column = (
  name: string,
  type: FocusColumnType,
  value: FocusColumn['value'],
  { nullable = false } = {},
): FocusColumn => ({ name, type, nullable, value });

const nullable = { nullable: true };
const cost: FocusColumn['value'] = ({ costNanos }) => costNanos;
const unitPrice: FocusColumn['value'] = ({ priced }) => priced?.unitPrice ?? null;
const quantity: FocusColumn['value'] = ({ priced }) => priced?.quantity ?? null;
const unit: FocusColumn['value'] = ({ priced }) => priced?.unit ?? null;
const provider: FocusColumn['value'] = (charge) => charge.provider;
const model: FocusColumn['value'] = (charge) => charge.model;

export const focusColumns: readonly FocusColumn[] = [
  column('BilledCost', 'amount', cost),
  column('BillingAccountId', 'text', ({ account }) => account.id),
  column('BillingAccountName', 'text', ({ account }) => account.name),
  column('BillingCurrency', 'text', () => 'USD'),
  column('BillingPeriodEnd', 'time', ({ billingPeriod }) => billingPeriod.endMs),
  column('BillingPeriodStart', 'time', ({ billingPeriod }) => billingPeriod.startMs),
  column('ChargeCategory', 'text', ({ category }) => category),
  column('ChargeClass', 'text', ({ isCorrection }) => (isCorrection ? 'Correction' : null), nullable),
  column('ChargeDescription', 'text', description),
  column('ChargeFrequency', 'text', ({ priced }) => (priced === null ? 'One-Time' : 'Usage-Based')),
  column('ChargePeriodEnd', 'time', ({ chargePeriod }) => chargePeriod.endMs),
  column('ChargePeriodStart', 'time', ({ chargePeriod }) => chargePeriod.startMs),
  column('ConsumedQuantity', 'quantity', quantity, nullable),
  column('ConsumedUnit', 'text', unit, nullable),
  column('ContractedCost', 'amount', cost),
  column('ContractedUnitPrice', 'price', unitPrice, nullable),
  column('EffectiveCost', 'amount', cost),
  column('InvoiceId', 'text', () => null, nullable),
  column('InvoiceIssuerName', 'text', provider),
  column('ListCost', 'amount', cost),
  column('ListUnitPrice', 'price', unitPrice, nullable),
  column('PricingCategory', 'text', ({ priced }) => (priced === null ? null : 'Standard'), nullable),
  column('PricingQuantity', 'quantity', quantity, nullable),
  column('PricingUnit', 'text', unit, nullable),
  column('ProviderName', 'text', provider),
  column('PublisherName', 'text', provider),
  column('ServiceCategory', 'text', () => 'AI and Machine Learning'),
  column('ServiceName', 'text', () => 'Model inference'),
  column('ServiceSubcategory', 'text', () => 'Generative AI'),
  column('SkuId', 'text', model),
  column('SkuMeter', 'text', ({ priced }) => priced?.unit ?? 'Corrections'),
  column('SkuPriceDetails', 'json', () => null, nullable),
  column('SkuPriceId', 'text', model),
  column('SubAccountId', 'text', ({ subAccount }) => subAccount?.value ?? null, nullable),
  column('SubAccountName', 'text', ({ subAccount }) => subAccount?.value ?? null, nullable),
  column('SubAccountType', 'text', ({ subAccount }) => subAccount?.type ?? null, nullable),
  column('Tags', 'json', ({ tags }) => tags, nullable),
  column('x_Requests', 'integer', ({ requests }) => requests),
  column('x_UncachedInputTokens', 'integer', ({ tokens }) => tokens.uncachedInput),
  column('x_CachedInputTokens', 'integer', ({ tokens }) => tokens.cachedInput),
  column('x_CacheWriteTokens', 'integer', ({ tokens }) => tokens.cacheWrite),
  column('x_OutputTokens', 'integer', ({ tokens }) => tokens.output),
];

function description({ category, isCorrection, model }: FocusCharge): string {
  const usage = `Usage of ${model}`;
  return isCorrection ? `Correction: ${usage}` : category === 'Adjustment' ? `Adjustment: ${usage}` : usage;
}
