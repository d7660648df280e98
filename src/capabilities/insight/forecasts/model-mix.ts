/** Computes the effect on cost of moving tokens from one model to another, at the prices of the organization. */
import { costOf, type Rates } from '../../../kernel/prices.ts';
import { isBilledByUnitsOnly } from '../../../kernel/rate-modifiers.ts';
import type { Queryable } from '../../../platform/db/database.ts';
import type { Prices } from '../../spend/models/index.ts';
import { sumUsage } from '../usage/index.ts';
import { daysBefore, type Today } from './calendar.ts';
import type { ScopeFilter } from './history.ts';
import type { ModelCost } from './scenario-effects.ts';
import type { ScenarioChanges } from './scenario-schema.ts';

const mixDays = 28;
const modelsMax = 200;

export interface Mixed {
  readonly uses: readonly ModelCost[];
  readonly costBefore: number;
  /** Models of the scenario without a known price: their cost is assumed to be unchanged. */
  readonly unpriced: readonly string[];
}

interface Use {
  costNanos: number;
  runs: number;
  input: number;
  cached: number;
  written: number;
  output: number;
}

export interface MixReader {
  readonly db: Queryable;
  readonly prices: Pick<Prices, 'find'>;
}

export async function readMix(
  { db, prices }: MixReader,
  orgId: string,
  scope: ScopeFilter,
  today: Today,
  now: Date,
  moves: NonNullable<ScenarioChanges['model_mix']>,
): Promise<Mixed> {
  const { groups } = await sumUsage(db, {
    orgId,
    range: { fromMs: daysBefore(today, mixDays)[0] as number, toMs: today.startMs },
    now,
    filters: scope,
    groupBy: [{ kind: 'field', name: 'model' }],
    after: undefined,
    limit: modelsMax,
  });
  const uses = new Map<string, Use>(
    groups.map((group) => [
      group.values[0] ?? '',
      {
        costNanos: Number(group.usd_nanos),
        runs: Number(group.runs),
        input: Number(group.input_tokens),
        cached: Number(group.cached_input_tokens),
        written: Number(group.cache_write_tokens),
        output: Number(group.output_tokens),
      },
    ]),
  );
  const costBefore = [...uses.values()].reduce((sum, { costNanos }) => sum + costNanos, 0);
  const unpriced: string[] = [];
  for (const { from_model, to_model, percent } of moves) {
    const price = await prices.find(orgId, to_model, now.getTime());
    // Usage is summed without tiers and units: the flat rates apply, and a model charged by units alone has none.
    const rates = price === undefined || isBilledByUnitsOnly(price) ? undefined : price.rates;
    if (!move(uses, from_model, to_model, percent / 100, rates)) {
      unpriced.push(to_model);
    }
  }
  return {
    uses: [...uses].map(([model, { costNanos }]) => ({ model, costNanos })),
    costBefore,
    unpriced: [...new Set(unpriced)],
  };
}

/** Returns false if the cost of the moved part is unknown. */
function move(
  uses: Map<string, Use>,
  from: string,
  to: string,
  part: number,
  rates: Rates | undefined,
): boolean {
  const source = uses.get(from);
  if (source === undefined || from === to) {
    return true;
  }
  const moved = scale(source, part);
  const target = uses.get(to) ?? scale(source, 0);
  const cost = costElsewhere(moved, target, rates);
  uses.set(from, scale(source, 1 - part));
  uses.set(to, add(target, { ...moved, costNanos: cost ?? moved.costNanos }));
  return cost !== undefined;
}

/** Returns undefined if the cost is unknown: no price and no history, or nothing to apply a price to. */
function costElsewhere(moved: Use, target: Use, rates: Rates | undefined): number | undefined {
  const tokens = moved.input + moved.output;
  if (tokens === 0 && (rates?.requestNanosEach ?? null) === null) {
    return undefined;
  }
  if (rates !== undefined) {
    return priceOf(rates, moved);
  }
  const perToken = target.costNanos / (target.input + target.output);
  return Number.isFinite(perToken) ? perToken * tokens : undefined;
}

function priceOf(rates: Rates, use: Use): number {
  const whole = (count: number) => BigInt(Math.round(count));
  const tokens = costOf(
    { ...rates, requestNanosEach: null },
    {
      inputTokens: whole(use.input),
      cachedInputTokens: whole(use.cached),
      cacheWriteTokens: whole(use.written),
      outputTokens: whole(use.output),
    },
  );
  return Number(tokens) + use.runs * Number(rates.requestNanosEach ?? 0n);
}

function scale(use: Use, factor: number): Use {
  return {
    costNanos: use.costNanos * factor,
    runs: use.runs * factor,
    input: use.input * factor,
    cached: use.cached * factor,
    written: use.written * factor,
    output: use.output * factor,
  };
}

function add(a: Use, b: Use): Use {
  return {
    costNanos: a.costNanos + b.costNanos,
    runs: a.runs + b.runs,
    input: a.input + b.input,
    cached: a.cached + b.cached,
    written: a.written + b.written,
    output: a.output + b.output,
  };
}
