/** FOCUS 1.2: a row for all kinds of usage, with the tokens of each kind in columns of Purser. */
import { type Params, selectRows } from '../usage/index.ts';
import {
  type ChargeContext,
  type ChargeGroup,
  chargeOf,
  type FocusCharge,
  modelOf,
  type PricedQuantity,
  pricedAt,
} from './charge.ts';
import { column, columnsWith, nullable, provider } from './columns.ts';
import type { FocusPlan } from './plan.ts';
import { groupColumns, selectCorrections, valueColumns } from './queries.ts';
import type { FocusVersion } from './version.ts';

export interface WholeCharge extends FocusCharge {
  readonly requests: bigint;
  readonly tokens: ChargedTokens;
}

/** Tokens by kind, which do not overlap. */
interface ChargedTokens {
  readonly uncachedInput: bigint;
  readonly cachedInput: bigint;
  readonly cacheWrite: bigint;
  readonly output: bigint;
}

const sums = [
  'runs',
  'input_tokens',
  'cached_input_tokens',
  'cache_write_tokens',
  'output_tokens',
  'usd_nanos',
] as const;
type WholeChargeGroup = ChargeGroup<(typeof sums)[number]>;

export const wholeCharges: FocusVersion<WholeCharge, (typeof sums)[number]> = {
  isByKind: false,
  sums,
  selectCharges,
  chargeOf: wholeChargeOf,
  columns: columnsWith<WholeCharge>(
    [
      column('PricingQuantity', 'quantity', ({ priced }) => priced?.quantity ?? null, nullable),
      column('ProviderName', 'text', provider),
      column('PublisherName', 'text', provider),
      column('SkuPriceId', 'text', ({ sku }) => sku.id),
    ],
    [
      column('x_Requests', 'integer', ({ requests }) => requests),
      column('x_UncachedInputTokens', 'integer', ({ tokens }) => tokens.uncachedInput),
      column('x_CachedInputTokens', 'integer', ({ tokens }) => tokens.cachedInput),
      column('x_CacheWriteTokens', 'integer', ({ tokens }) => tokens.cacheWrite),
      column('x_OutputTokens', 'integer', ({ tokens }) => tokens.output),
    ],
  ),
};

/**
 * Selects the sums of the usage rollups, and corrections that were posted after the month of their charge as rows of their own: the
 * rollups contain them, so they are subtracted there.
 */
function selectCharges(plan: FocusPlan, params: Params): string {
  const values = valueColumns(plan).join(', ');
  const groups = groupColumns(plan).join(', ');
  const usage = `SELECT ${values}, '' AS corrected_in, ${sums.join(', ')} FROM (${selectRows(plan, params)}) AS rows`;
  const corrections = selectCorrections(plan, params);
  const moved = (sign: string, correctedIn: string) =>
    `SELECT ${values}, ${correctedIn}, 0, 0, 0, 0, 0, ${sign}usd_nanos FROM corrections`;
  const charges =
    corrections === undefined
      ? usage
      : `${usage} UNION ALL ${moved('-', "''")} UNION ALL ${moved('', 'corrected_in')}`;
  return `${corrections === undefined ? '' : `WITH corrections AS (${corrections})`}
     SELECT ${groups}, ${sums.map((name) => `sum(${name}) AS ${name}`).join(', ')} FROM (${charges}) AS charges
      GROUP BY ${groups} HAVING ${sums.map((name) => `sum(${name}) <> 0`).join(' OR ')}`;
}

function wholeChargeOf(group: WholeChargeGroup, context: ChargeContext): WholeCharge {
  const { runs, input_tokens, cached_input_tokens, cache_write_tokens, output_tokens } = group.sums;
  const model = modelOf(group);
  return {
    ...chargeOf(group, context, {
      subject: `Usage of ${model}`,
      priced: pricedQuantity(group),
      skuOf: (priced) => ({ id: model, meter: priced?.unit ?? 'Corrections', details: null }),
    }),
    requests: runs,
    tokens: {
      uncachedInput: input_tokens - cached_input_tokens - cache_write_tokens,
      cachedInput: cached_input_tokens,
      cacheWrite: cache_write_tokens,
      output: output_tokens,
    },
  };
}

/** Tokens if there are any, otherwise requests. */
function pricedQuantity({
  sums: { input_tokens, output_tokens, runs, usd_nanos },
}: WholeChargeGroup): PricedQuantity | null {
  const tokens = input_tokens + output_tokens;
  return pricedAt(
    usd_nanos,
    tokens > 0n ? { quantity: tokens, unit: 'Tokens' } : { quantity: runs, unit: 'Requests' },
  );
}
