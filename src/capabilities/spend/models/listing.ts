/** Lists the models as the caller's org sees them. Prices are cached in memory, so pages are built in memory too. */
import { invalidField } from '../../../contract/api-error.ts';
import type { PageOf } from '../../../platform/http/routes/list.ts';
import { formatPercent } from './discount.ts';
import { type ModelCapabilities, noCapabilities, viewCapabilities } from './model-capabilities.ts';
import { viewNames } from './model-names.ts';
import type { ModelNamesRow } from './name-queries.ts';
import { noPrice, viewPriceColumns, viewTariff } from './price-columns.ts';
import type { ListedPrice, PriceInForce, Resolution } from './prices.ts';
import type { ModelFilters, ModelResolution, ModelView, OnUnpriced } from './schema.ts';

const pageSize = 50;

/** Sort position. Model names are unique, so the pair is a total order. */
type ListedPosition = readonly [value: string, model: string];

/** Latency percentiles of the runs of a model. */
export interface Latency {
  readonly p50Ms: bigint;
  readonly p95Ms: bigint;
}

export interface ModelInfo {
  readonly capabilities: ReadonlyMap<string, ModelCapabilities>;
  readonly latencies: ReadonlyMap<string, Latency>;
  readonly names: ReadonlyMap<string, ModelNamesRow>;
}

export function modelPage(
  prices: readonly ListedPrice[],
  info: ModelInfo,
  query: ModelFilters,
): PageOf<ModelView> {
  const { limit = pageSize, sort = 'model', cursor, capability, region } = query;
  const capabilitiesOf = ({ model }: ListedPrice) => info.capabilities.get(model) ?? noCapabilities;
  const direction = sort.startsWith('-') ? -1 : 1;
  const byProvider = sort.endsWith('provider');
  const positionOf = ({ provider, model }: ListedPrice): ListedPosition => [
    byProvider ? (provider ?? '') : model,
    model,
  ];
  const after = cursor === undefined ? undefined : decodeCursor(cursor, sort);
  const rest = prices
    .filter(({ model }) => query.model === undefined || model === query.model)
    .filter(({ provider }) => query.provider === undefined || provider === query.provider)
    .filter(
      (price) =>
        capability === undefined || capabilitiesOf(price).capabilities?.includes(capability) === true,
    )
    .filter((price) => region === undefined || capabilitiesOf(price).regions?.includes(region) === true)
    .map((price) => ({ price, position: positionOf(price) }))
    .filter(({ position }) => after === undefined || compare(position, after) * direction > 0)
    .sort((a, b) => compare(a.position, b.position) * direction);
  const shown = rest.slice(0, limit);
  const last = shown.at(-1);
  return {
    data: shown.map(({ price }) => viewModel(price, capabilitiesOf(price), info)),
    next_cursor: rest.length > limit && last !== undefined ? encodeCursor(sort, last.position) : null,
  };
}

function viewModel(
  price: ListedPrice,
  capabilities: ModelCapabilities,
  { latencies, names }: ModelInfo,
): ModelView {
  const { model, provider, versionId, source, discountBasisPoints } = price;
  const latency = latencies.get(model);
  return {
    model,
    provider,
    price_version: versionId,
    source,
    discount_percent: discountBasisPoints === null ? null : formatPercent(discountBasisPoints),
    ...viewTariff(price),
    ...viewCapabilities(capabilities),
    ...viewNames(names.get(model)),
    latency_p50_ms: latency === undefined ? null : Number(latency.p50Ms),
    latency_p95_ms: latency === undefined ? null : Number(latency.p95Ms),
  };
}

/** The org's policy for models without a price, and the price that it provides for them. */
export interface UnpricedPolicy {
  readonly onUnpriced: OnUnpriced;
  readonly price: PriceInForce | undefined;
}

export function viewResolution(
  model: string,
  { price, steps }: Resolution,
  policy: UnpricedPolicy,
): ModelResolution {
  const discount = price?.discountBasisPoints ?? null;
  const applied = price ?? (policy.onUnpriced === 'hold_default' ? policy.price : undefined);
  return {
    model,
    priced_as: price?.model ?? null,
    provider: price?.provider ?? null,
    price_version: applied?.versionId ?? null,
    source: price?.source ?? null,
    discount_percent: discount === null ? null : formatPercent(discount),
    ...(applied === undefined ? viewPriceColumns(noPrice) : viewTariff(applied)),
    on_unpriced: price === undefined ? policy.onUnpriced : null,
    steps: steps.map((step) => ({ ...step })),
  };
}

function compare([value, model]: ListedPosition, [otherValue, otherModel]: ListedPosition): number {
  return order(value, otherValue) || order(model, otherModel);
}

function order(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}

function encodeCursor(sort: string, position: ListedPosition): string {
  return Buffer.from(JSON.stringify([sort, ...position])).toString('base64url');
}

function decodeCursor(cursor: string, sort: string): ListedPosition {
  try {
    const [cursorSort, value, model] = JSON.parse(
      Buffer.from(cursor, 'base64url').toString('utf8'),
    ) as unknown[];
    if (cursorSort === sort && typeof value === 'string' && typeof model === 'string') {
      return [value, model];
    }
  } catch {
    // The cursor is not from this service and is rejected below.
  }
  throw invalidField('cursor', 'invalid_value', 'This cursor does not belong to this list and sort order.');
}
