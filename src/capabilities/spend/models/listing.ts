/** The models as a caller's org sees them. The prices are in memory, so their pages are made there too. */
import { invalidField } from '../../../contract/api-error.ts';
import type { PageOf } from '../../../platform/http/routes/list.ts';
import { formatPercent } from './discount.ts';
import { type ModelCapabilities, noCapabilities, viewCapabilities } from './model-capabilities.ts';
import type { ListedPrice } from './prices.ts';
import { viewRates } from './rates.ts';
import type { ModelFilters, ModelView } from './schema.ts';

const pageSize = 50;

/** No two models have the same name, so that this pair orders them all. */
type Position = readonly [value: string, model: string];

/** How long runs of a model took. */
export interface Latency {
  readonly p50Ms: bigint;
  readonly p95Ms: bigint;
}

export interface KnownOfModels {
  readonly capabilities: ReadonlyMap<string, ModelCapabilities>;
  readonly latencies: ReadonlyMap<string, Latency>;
}

export function modelPage(
  prices: readonly ListedPrice[],
  known: KnownOfModels,
  query: ModelFilters,
): PageOf<ModelView> {
  const { limit = pageSize, sort = 'model', cursor, capability, region } = query;
  const factsOf = ({ model }: ListedPrice) => known.capabilities.get(model) ?? noCapabilities;
  const direction = sort.startsWith('-') ? -1 : 1;
  const byProvider = sort.endsWith('provider');
  const positionOf = ({ provider, model }: ListedPrice): Position => [
    byProvider ? (provider ?? '') : model,
    model,
  ];
  const after = cursor === undefined ? undefined : decodeCursor(cursor, sort);
  const rest = prices
    .filter(({ model }) => query.model === undefined || model === query.model)
    .filter(({ provider }) => query.provider === undefined || provider === query.provider)
    .filter((price) => capability === undefined || factsOf(price).capabilities?.includes(capability) === true)
    .filter((price) => region === undefined || factsOf(price).regions?.includes(region) === true)
    .map((price) => ({ price, position: positionOf(price) }))
    .filter(({ position }) => after === undefined || compare(position, after) * direction > 0)
    .sort((a, b) => compare(a.position, b.position) * direction);
  const shown = rest.slice(0, limit);
  const last = shown.at(-1);
  return {
    data: shown.map(({ price }) => viewModel(price, factsOf(price), known.latencies.get(price.model))),
    next_cursor: rest.length > limit && last !== undefined ? encodeCursor(sort, last.position) : null,
  };
}

function viewModel(
  { model, provider, versionId, source, discountBasisPoints, rates }: ListedPrice,
  capabilities: ModelCapabilities,
  latency: Latency | undefined,
): ModelView {
  return {
    model,
    provider,
    price_version: versionId,
    source,
    discount_percent: discountBasisPoints === null ? null : formatPercent(discountBasisPoints),
    ...viewRates(rates),
    ...viewCapabilities(capabilities),
    latency_p50_ms: latency === undefined ? null : Number(latency.p50Ms),
    latency_p95_ms: latency === undefined ? null : Number(latency.p95Ms),
  };
}

function compare([value, model]: Position, [otherValue, otherModel]: Position): number {
  return order(value, otherValue) || order(model, otherModel);
}

function order(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}

function encodeCursor(sort: string, position: Position): string {
  return Buffer.from(JSON.stringify([sort, ...position])).toString('base64url');
}

function decodeCursor(cursor: string, sort: string): Position {
  try {
    const [madeFor, value, model] = JSON.parse(
      Buffer.from(cursor, 'base64url').toString('utf8'),
    ) as unknown[];
    if (madeFor === sort && typeof value === 'string' && typeof model === 'string') {
      return [value, model];
    }
  } catch {
    // Falls through to the refusal: whatever it was, we did not make it.
  }
  throw invalidField('cursor', 'invalid_value', 'This cursor was not given out for this list in this order.');
}
