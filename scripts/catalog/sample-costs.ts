/**
 * Writes usages of models of the catalog with their costs, one JSON object per line, for `compare-litellm.py`:
 *
 *   tsx scripts/catalog/sample-costs.ts > samples.ndjson
 *
 * The sample is always the same: 200 models, first those with most modifiers, and at least 1,000 usages, among them one for every
 * modifier and unit of these models. Costs take the way of a run: from the entry to the stored price to the cost.
 */
import { type CatalogModel, readCatalog } from '../../src/capabilities/spend/models/catalog.ts';
import { priceOf } from '../../src/capabilities/spend/models/catalog-price.ts';
import { priceColumnsOf, tariffOf } from '../../src/capabilities/spend/models/price-columns.ts';
import { chargeOf } from '../../src/capabilities/spend/runs/price-run.ts';
import { formatUsd } from '../../src/kernel/money.ts';
import type { RateModifier, Tariff } from '../../src/kernel/rate-modifiers.ts';

const modelsMax = 200;
const usagesMin = 1_000;

interface Usage {
  readonly input_tokens: number;
  readonly cached_input_tokens: number;
  readonly cache_write_tokens: number;
  readonly cache_write_1h_tokens: number;
  readonly audio_input_tokens: number;
  readonly audio_output_tokens: number;
  readonly output_tokens: number;
  readonly service_tier?: string;
  readonly region?: string;
  readonly units?: Readonly<Record<string, number>>;
}

interface SampledModel {
  readonly entry: CatalogModel;
  readonly tariff: Tariff;
}

const random = seededRandom(20_261_116);
const models = sampledModels();
const samples = models.flatMap(({ entry, tariff }) =>
  focusesOf(tariff).map((focus) => ({ entry, tariff, usage: usageFor(tariff, focus) })),
);
for (let i = 0; samples.length < usagesMin; i += 1) {
  const { entry, tariff } = models[i % models.length] as SampledModel;
  samples.push({ entry, tariff, usage: usageFor(tariff, pick(focusesOf(tariff))) });
}
for (const { entry, tariff, usage } of samples) {
  process.stdout.write(
    `${JSON.stringify({ model: entry.model, usage, cost_usd: costOf(tariff, usage), terms: termsOf(tariff, usage) })}\n`,
  );
}

/** Models whose figures come from LiteLLM, and that are charged by tokens or by units that it charges too. */
function sampledModels(): SampledModel[] {
  return readCatalog()
    .models.filter(({ source, rates = {}, units = {} }) => {
      const isImage = rates.image_usd !== undefined || rates.request_usd !== undefined;
      const isVideo = 'second_4k' in units || 'second_1080p' in units;
      return source === 'litellm' && !isImage && !isVideo;
    })
    .map((entry) => ({ entry, tariff: tariffOf(priceColumnsOf(priceOf(entry) ?? {})) }))
    .sort((a, b) => focusesOf(b.tariff).length - focusesOf(a.tariff).length || order(a.entry, b.entry))
    .slice(0, modelsMax);
}

function order(a: CatalogModel, b: CatalogModel): number {
  return a.model < b.model ? -1 : 1;
}

/** A usage of the model: an ordinary one, or one that meets a modifier, or one of a unit. */
type Focus = 'plain' | RateModifier | { readonly unit: string };

function focusesOf({ modifiers, unitNanos }: Tariff): Focus[] {
  return ['plain', ...modifiers, ...[...unitNanos.keys()].map((unit) => ({ unit }))];
}

function usageFor(tariff: Tariff, focus: Focus): Usage {
  const { rates, modifiers } = tariff;
  const when = focus !== 'plain' && 'when' in focus ? focus.when : undefined;
  const hasOneHour = modifiers.some((one) => one.when.cacheWriteTtl !== null);
  const perToken = rates.inputNanosPerMillion > 0n || (rates.outputNanosPerMillion ?? 0n) > 0n;
  const above = Number(when?.aboveInputTokens ?? 0n);
  const part = () => (perToken ? integer(0, 9_999) : 0);
  const parts = {
    cached_input_tokens: rates.cachedInputNanosPerMillion === null ? 0 : part(),
    cache_write_tokens: rates.cacheWriteNanosPerMillion === null ? 0 : part(),
    cache_write_1h_tokens: hasOneHour && when?.cacheWriteTtl != null ? integer(1, 9_999) : 0,
    audio_input_tokens: rates.audioInputNanosPerMillion === null ? 0 : part(),
  };
  const plain = perToken ? integer(1, 30_000) + above : 0;
  const audioOutput = rates.audioOutputNanosPerMillion === null ? 0 : part();
  const output = perToken && rates.outputNanosPerMillion !== null ? integer(0, 20_000) : 0;
  return {
    ...parts,
    input_tokens: Object.values(parts).reduce((sum, tokens) => sum + tokens, plain),
    output_tokens: output + audioOutput,
    audio_output_tokens: audioOutput,
    ...(when?.tier != null && { service_tier: when.tier }),
    ...(when?.region != null && { region: when.region }),
    ...(focus !== 'plain' && 'unit' in focus && { units: { [focus.unit]: integer(1, 500) } }),
  };
}

function costOf(tariff: Tariff, usage: Usage): string {
  return formatUsd(
    chargeOf(tariff, usage, {
      inputTokens: BigInt(usage.input_tokens),
      cachedInputTokens: BigInt(usage.cached_input_tokens),
      cacheWriteTokens: BigInt(usage.cache_write_tokens),
      cacheWrite1hTokens: BigInt(usage.cache_write_1h_tokens),
      audioInputTokens: BigInt(usage.audio_input_tokens),
      audioOutputTokens: BigInt(usage.audio_output_tokens),
      outputTokens: BigInt(usage.output_tokens),
    }).usd,
  );
}

/** Names of the modifiers that the usage meets, for the table of results. */
function termsOf({ modifiers, unitNanos }: Tariff, usage: Usage): string[] {
  const isAbove = modifiers.some(
    ({ when }) => when.aboveInputTokens !== null && BigInt(usage.input_tokens) > when.aboveInputTokens,
  );
  return [
    ...(usage.service_tier === undefined ? [] : [`tier ${usage.service_tier}`]),
    ...(isAbove ? ['long context'] : []),
    ...(usage.cache_write_1h_tokens > 0 ? ['one-hour write'] : []),
    ...(usage.region === undefined ? [] : [`region ${usage.region}`]),
    ...[...unitNanos.keys()].filter((unit) => unit in (usage.units ?? {})).map((unit) => `unit ${unit}`),
  ];
}

function integer(least: number, most: number): number {
  return least + Math.floor(random() * (most - least + 1));
}

function pick<Item>(items: readonly Item[]): Item {
  return items[integer(0, items.length - 1)] as Item;
}

/** Mulberry32. */
function seededRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
