/** FOCUS 1.4: a row per kind of usage, with its own SKU. */
import { kindOfCode, unsplitCode } from '../../../kernel/cost-parts.ts';
import { type Params, selectRows } from '../usage/index.ts';
import {
  type ChargeContext,
  type ChargeGroup,
  capitalized,
  chargeOf,
  type FocusCharge,
  type MeteredQuantity,
  modelOf,
  pricedAt,
} from './charge.ts';
import { column, columnsWith, decimalsOf, nullable, provider } from './columns.ts';
import type { FocusPlan } from './plan.ts';
import { groupColumns, selectCorrections, valueColumns } from './queries.ts';
import type { FocusVersion } from './version.ts';

export interface KindCharge extends FocusCharge {
  /** Name of the kind, as in usage. */
  readonly kind: string;
}

/** `tokens_left` are tokens whose cost is not split, `runs` all runs; both are 0 unless the kind is unsplit. */
const sums = ['quantity', 'tokens_left', 'runs', 'usd_nanos'] as const;
type KindChargeGroup = ChargeGroup<(typeof sums)[number]>;

export const kindCharges: FocusVersion<KindCharge, (typeof sums)[number]> = {
  isByKind: true,
  sums,
  selectCharges,
  chargeOf: kindChargeOf,
  columns: columnsWith<KindCharge>(
    [
      column('HostProviderName', 'text', provider),
      column('InvoiceDetailId', 'text', () => null, nullable),
      column('PricingQuantity', 'priced_quantity', pricingQuantity, nullable),
      column('ServiceProviderName', 'text', provider),
      // FOCUS requires a price of everything that has the id of a price.
      column('SkuPriceId', 'text', ({ priced, sku }) => (priced === null ? null : sku.id), nullable),
    ],
    [column('x_Kind', 'text', ({ kind }) => kind), column('x_Model', 'text', ({ model }) => model)],
  ),
};

/** The name of a kind of tokens in SKUs. `details` are properties that FOCUS defines. */
interface TokenMeter {
  readonly meter: string;
  readonly details: {
    readonly TokenCacheAction?: 'Uncached' | 'Read' | 'Write';
    readonly TokenDirection: 'Input' | 'Output';
  };
}

/** Meter and details of each kind of tokens. Those of audio and images name no cache action, because these tokens may have been cached. */
const tokenMeters: Readonly<Record<string, TokenMeter>> = {
  i: { meter: 'Input Tokens', details: { TokenCacheAction: 'Uncached', TokenDirection: 'Input' } },
  c: { meter: 'Cache Read Input Tokens', details: { TokenCacheAction: 'Read', TokenDirection: 'Input' } },
  d: {
    meter: 'Cache Read Image Input Tokens',
    details: { TokenCacheAction: 'Read', TokenDirection: 'Input' },
  },
  w: { meter: 'Cache Write Input Tokens', details: { TokenCacheAction: 'Write', TokenDirection: 'Input' } },
  l: {
    meter: 'One Hour Cache Write Input Tokens',
    details: { TokenCacheAction: 'Write', TokenDirection: 'Input' },
  },
  a: { meter: 'Audio Input Tokens', details: { TokenDirection: 'Input' } },
  m: { meter: 'Image Input Tokens', details: { TokenDirection: 'Input' } },
  o: { meter: 'Output Tokens', details: { TokenDirection: 'Output' } },
  r: { meter: 'Reasoning Output Tokens', details: { TokenDirection: 'Output' } },
  s: { meter: 'Audio Output Tokens', details: { TokenDirection: 'Output' } },
};
const tokenCodes = Object.keys(tokenMeters);
const otherUnits: Readonly<Record<string, string>> = { g: 'Images', q: 'Requests', t: 'Tool Calls' };
const adjustmentCode = 'j';
/** Prices of tokens are for a million. */
const tokenBlock = { size: 10n ** BigInt(decimalsOf.priced_quantity), unit: '1000000 Tokens' };

/**
 * Selects the cost and quantity of each kind. The unsplit kind also has the tokens that no other kind has, which makes it a row even
 * if they were free, and the runs. Corrections that were posted after the month of their charge are rows of their own, and are subtracted
 * from the rollups, which contain them.
 */
function selectCharges(plan: FocusPlan, params: Params): string {
  const columns = valueColumns(plan);
  const values = columns.join(', ');
  const shared = columns.slice(0, -1).join(', ');
  const kind = columns.at(-1);
  const groups = groupColumns(plan).join(', ');
  const whole = { ...plan, groupBy: plan.groupBy.slice(0, -1) };
  const corrections =
    selectCorrections(plan, params) ??
    `SELECT ${values}, '' AS corrected_in, 0 AS quantity, 0 AS usd_nanos FROM split WHERE false`;
  const unsplit = params.add(unsplitCode, 'text');
  return `WITH split AS (SELECT ${values}, quantity, usd_nanos FROM (${selectRows(plan, params)}) AS rows),
     corrections AS (${corrections}),
     charged AS (
       SELECT ${values}, quantity, usd_nanos FROM split
       UNION ALL SELECT ${values}, -quantity, -usd_nanos FROM corrections
     ), charges AS (
       SELECT ${values}, '' AS corrected_in, quantity, 0 AS tokens_left, 0 AS runs, usd_nanos FROM charged
       UNION ALL SELECT ${shared}, ${unsplit}, '', 0, -quantity, 0, 0 FROM charged
                  WHERE ${kind} = ANY (${params.add(tokenCodes, 'text[]')})
       UNION ALL SELECT ${shared}, ${unsplit}, '', 0, input_tokens + output_tokens, runs, 0 FROM (${selectRows(whole, params)}) AS rows
       UNION ALL SELECT ${values}, corrected_in, quantity, 0, 0, usd_nanos FROM corrections
     ), summed AS (
       SELECT ${groups}, ${sums.map((name) => `sum(${name}) AS ${name}`).join(', ')},
              count(CASE WHEN sum(quantity) <> 0 OR sum(usd_nanos) <> 0 THEN 1 END) OVER (PARTITION BY ${shared}, corrected_in) AS kinds
         FROM charges GROUP BY ${groups}
     )
     SELECT ${groups}, ${sums.join(', ')} FROM summed
      WHERE quantity <> 0 OR usd_nanos <> 0 OR tokens_left > 0 OR (runs > 0 AND kinds = 0)`;
}

function kindChargeOf(group: KindChargeGroup, context: ChargeContext): KindCharge {
  const kind = kindOfCode(group.kind);
  const model = modelOf(group);
  const metered = meteredQuantity(group);
  const block = metered?.unit === 'Tokens' ? tokenBlock : undefined;
  return {
    ...chargeOf(group, context, {
      subject: `${subjectOf(group)} of ${model}`,
      priced: metered && pricedAt(group.sums.usd_nanos, metered, block),
      skuOf: (priced) => ({
        id: `${model}:${kind}`,
        meter: meterOf(group),
        details: priced && priceDetails(group),
      }),
    }),
    kind,
  };
}

function meterOf(group: KindChargeGroup): string {
  return tokenMeters[group.kind]?.meter ?? meteredQuantity(group)?.unit ?? 'Adjustments';
}

function subjectOf(group: KindChargeGroup): string {
  return group.kind === unsplitCode || group.kind === adjustmentCode ? 'Usage' : meterOf(group);
}

/** Unsplit costs are for the tokens that are left; if there are none, for the requests. Adjustments have no quantity. */
function meteredQuantity({
  kind,
  sums: { quantity, tokens_left, runs },
}: KindChargeGroup): MeteredQuantity | null {
  if (kind === adjustmentCode) {
    return null;
  }
  if (kind === unsplitCode && tokens_left > 0n) {
    return { quantity: tokens_left, unit: 'Tokens' };
  }
  if (kind === unsplitCode) {
    return runs > 0n ? { quantity: runs, unit: 'Requests' } : null;
  }
  return { quantity, unit: kind in tokenMeters ? 'Tokens' : (otherUnits[kind] ?? unitLabel(kind)) };
}

/** Returns a unit of a price as words in the format of FOCUS, such as `Web Search` for `web_search`. */
function unitLabel(code: string): string {
  const words = kindOfCode(code)
    .split(':')
    .slice(1)
    .join(' ')
    .split(/[^A-Za-z0-9]+(?=[A-Za-z])/);
  return words.map((word) => capitalized(word.replace(/[^A-Za-z0-9]/g, ''))).join(' ');
}

/** The model is left out if the runs name none. The keys are in alphabetical order, as in the examples of the specification. */
function priceDetails({ kind, model }: KindChargeGroup): string | null {
  const details = { ...(model !== '' && { ModelId: model }), ...tokenMeters[kind]?.details };
  return Object.keys(details).length === 0 ? null : JSON.stringify(details);
}

function pricingQuantity({ priced }: KindCharge): bigint | null {
  if (priced === null) {
    return null;
  }
  return priced.pricingUnit === tokenBlock.unit ? priced.quantity : priced.quantity * tokenBlock.size;
}
