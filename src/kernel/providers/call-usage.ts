/** Usage of a call as its provider reports it, and its conversion to the usage of a run. */
import { formatUsd } from '../money.ts';
import { wordPattern } from '../service-words.ts';
import type { Fields } from './fields.ts';
import { countedCalls, type ServerTools } from './server-tools.ts';

export type { ServerTools } from './server-tools.ts';

/** Tokens of another model within a call, such as an advisor. They are included in the counts of the call. */
export interface ModelUsage
  extends Pick<
    CallUsage,
    | 'inputTokens'
    | 'cachedInputTokens'
    | 'cachedImageInputTokens'
    | 'cacheWriteTokens'
    | 'cacheWrite1hTokens'
    | 'imageInputTokens'
    | 'outputTokens'
    | 'reasoningTokens'
  > {
  readonly model: string;
}

export interface CallUsage {
  /** All input tokens, including cached ones and those written to a cache. */
  readonly inputTokens: number;
  readonly cachedInputTokens: number;
  /** The part of `cachedInputTokens` that images have. Only some models report it. */
  readonly cachedImageInputTokens: number;
  /** Tokens written to a cache, of any lifetime. */
  readonly cacheWriteTokens: number;
  /** The part of `cacheWriteTokens` with a lifetime of an hour. */
  readonly cacheWrite1hTokens: number;
  readonly outputTokens: number;
  /** The part of `outputTokens` that was thought, not answered. */
  readonly reasoningTokens: number;
  readonly audioInputTokens: number;
  /** Tokens of images that were read, apart from cached ones. Only some models report them. */
  readonly imageInputTokens: number;
  readonly audioOutputTokens: number;
  readonly serverTools: ServerTools;
  /** The part of these counts that other models have used. */
  readonly others: readonly ModelUsage[];
  /** Tokens of models that tools use. They are not included in these counts. */
  readonly toolModels: readonly ModelUsage[];
  /** The cost that the provider states, with that of its tools; null if it states none. */
  readonly statedNanos: bigint | null;
  /** The tier that the call was served in; null if the provider does not report one. */
  readonly serviceTier: string | null;
  /** The region that the call was served in, if the provider reports one. */
  readonly region: string | null;
}

export const noTokens: Omit<ModelUsage, 'model'> = {
  inputTokens: 0,
  cachedInputTokens: 0,
  cachedImageInputTokens: 0,
  cacheWriteTokens: 0,
  cacheWrite1hTokens: 0,
  imageInputTokens: 0,
  outputTokens: 0,
  reasoningTokens: 0,
};

export const noUsage: CallUsage = {
  inputTokens: 0,
  cachedInputTokens: 0,
  cachedImageInputTokens: 0,
  cacheWriteTokens: 0,
  cacheWrite1hTokens: 0,
  outputTokens: 0,
  reasoningTokens: 0,
  audioInputTokens: 0,
  imageInputTokens: 0,
  audioOutputTokens: 0,
  serverTools: {},
  others: [],
  toolModels: [],
  statedNanos: null,
  serviceTier: null,
  region: null,
};

/** Returns false if the provider counted no output. A cost that it states includes the output. */
export function countsOutput({ outputTokens, statedNanos }: CallUsage): boolean {
  return outputTokens > 0 || (statedNanos ?? 0n) > 0n;
}

/** The tokens of another model, as a run states them. */
export interface OtherModelFields
  extends Pick<
    RunUsageFields,
    'input_tokens' | 'cached_input_tokens' | 'cache_write_tokens' | 'output_tokens'
  > {
  readonly model: string;
  readonly cache_write_1h_tokens: number;
  readonly cached_image_input_tokens?: number;
  readonly image_input_tokens?: number;
  readonly reasoning_tokens: number;
}

/** The fields of a completed run that usage sets. */
export interface RunUsageFields {
  readonly input_tokens: number;
  readonly cached_input_tokens: number;
  readonly cached_image_input_tokens?: number;
  readonly cache_write_tokens: number;
  readonly cache_write_1h_tokens?: number;
  readonly output_tokens: number;
  readonly reasoning_tokens?: number;
  readonly audio_input_tokens?: number;
  readonly image_input_tokens?: number;
  readonly audio_output_tokens?: number;
  readonly service_tier?: string;
  readonly region?: string;
  readonly units?: Readonly<Record<string, number>>;
  readonly stated_cost_usd?: string;
  readonly other_models?: OtherModelFields[];
}

/** The only place that maps usage of providers to fields of runs. */
export function runUsageOf(reported: CallUsage): RunUsageFields {
  const usage = withToolModels(reported);
  const parts =
    usage.cachedInputTokens + usage.cacheWriteTokens + usage.audioInputTokens + usage.imageInputTokens;
  const fields: { -readonly [Name in keyof RunUsageFields]: RunUsageFields[Name] } = {
    // A run rejects parts that exceed their total, and a report that contradicts itself must not lose the charge.
    input_tokens: Math.max(usage.inputTokens, parts),
    cached_input_tokens: usage.cachedInputTokens,
    cache_write_tokens: usage.cacheWriteTokens - usage.cacheWrite1hTokens,
    output_tokens: Math.max(usage.outputTokens, usage.audioOutputTokens),
  };
  const cachedImages = Math.min(usage.cachedImageInputTokens, usage.cachedInputTokens);
  if (cachedImages > 0) {
    fields.cached_image_input_tokens = cachedImages;
  }
  if (usage.cacheWrite1hTokens > 0) {
    fields.cache_write_1h_tokens = usage.cacheWrite1hTokens;
  }
  const reasoning = Math.min(usage.reasoningTokens, fields.output_tokens - usage.audioOutputTokens);
  if (reasoning > 0) {
    fields.reasoning_tokens = reasoning;
  }
  if (usage.audioInputTokens > 0) {
    fields.audio_input_tokens = usage.audioInputTokens;
  }
  if (usage.imageInputTokens > 0) {
    fields.image_input_tokens = usage.imageInputTokens;
  }
  if (usage.audioOutputTokens > 0) {
    fields.audio_output_tokens = usage.audioOutputTokens;
  }
  if (isServiceWord(usage.serviceTier)) {
    fields.service_tier = usage.serviceTier;
  }
  if (isServiceWord(usage.region)) {
    fields.region = usage.region;
  }
  if (Object.keys(usage.serverTools).length > 0) {
    fields.units = usage.serverTools;
  }
  if (usage.others.length > 0) {
    fields.other_models = otherModelsOf(usage.others);
  }
  if (usage.statedNanos !== null) {
    fields.stated_cost_usd = formatUsd(usage.statedNanos);
  }
  return fields;
}

function withToolModels(usage: CallUsage): CallUsage {
  const { toolModels } = usage;
  return toolModels.length === 0
    ? usage
    : {
        ...usage,
        inputTokens: toolModels.reduce((sum, one) => sum + one.inputTokens, usage.inputTokens),
        imageInputTokens: toolModels.reduce((sum, one) => sum + one.imageInputTokens, usage.imageInputTokens),
        outputTokens: toolModels.reduce((sum, one) => sum + one.outputTokens, usage.outputTokens),
        others: [...usage.others, ...toolModels],
      };
}

/** Returns the tokens of each model, with one entry per model. */
function otherModelsOf(others: readonly ModelUsage[]): OtherModelFields[] {
  const byModel = new Map<string, OtherModelFields>();
  for (const one of others) {
    const before = byModel.get(one.model);
    const imageTokens = (before?.image_input_tokens ?? 0) + one.imageInputTokens;
    const cachedImages = (before?.cached_image_input_tokens ?? 0) + one.cachedImageInputTokens;
    byModel.set(one.model, {
      model: one.model,
      input_tokens: (before?.input_tokens ?? 0) + one.inputTokens,
      cached_input_tokens: (before?.cached_input_tokens ?? 0) + one.cachedInputTokens,
      cache_write_tokens: (before?.cache_write_tokens ?? 0) + one.cacheWriteTokens - one.cacheWrite1hTokens,
      cache_write_1h_tokens: (before?.cache_write_1h_tokens ?? 0) + one.cacheWrite1hTokens,
      ...(cachedImages > 0 && { cached_image_input_tokens: cachedImages }),
      ...(imageTokens > 0 && { image_input_tokens: imageTokens }),
      output_tokens: (before?.output_tokens ?? 0) + one.outputTokens,
      reasoning_tokens: (before?.reasoning_tokens ?? 0) + one.reasoningTokens,
    });
  }
  return [...byModel.values()].filter(({ model }) => otherModel(model, '') !== undefined);
}

const serviceWord = new RegExp(wordPattern);

/**
 * Returns true if a price can name this tier or region. Both come from clients and providers; one that no price can name has the
 * flat rates.
 */
export function isServiceWord(value: unknown): value is string {
  return typeof value === 'string' && serviceWord.test(value);
}

export function addUsage(one: CallUsage, other: CallUsage): CallUsage {
  const serverTools: Record<string, number> = { ...one.serverTools };
  for (const [name, count] of Object.entries(other.serverTools)) {
    serverTools[name] = countedCalls(serverTools, name) + count;
  }
  return {
    inputTokens: one.inputTokens + other.inputTokens,
    cachedInputTokens: one.cachedInputTokens + other.cachedInputTokens,
    cachedImageInputTokens: one.cachedImageInputTokens + other.cachedImageInputTokens,
    cacheWriteTokens: one.cacheWriteTokens + other.cacheWriteTokens,
    cacheWrite1hTokens: one.cacheWrite1hTokens + other.cacheWrite1hTokens,
    outputTokens: one.outputTokens + other.outputTokens,
    reasoningTokens: one.reasoningTokens + other.reasoningTokens,
    audioInputTokens: one.audioInputTokens + other.audioInputTokens,
    imageInputTokens: one.imageInputTokens + other.imageInputTokens,
    audioOutputTokens: one.audioOutputTokens + other.audioOutputTokens,
    serverTools,
    others: one.others.length === 0 ? other.others : [...one.others, ...other.others],
    toolModels: one.toolModels.length === 0 ? other.toolModels : [...one.toolModels, ...other.toolModels],
    statedNanos:
      one.statedNanos === null || other.statedNanos === null ? null : one.statedNanos + other.statedNanos,
    serviceTier: other.serviceTier ?? one.serviceTier,
    region: other.region ?? one.region,
  };
}

/** Returns the id of a response or of a chunk of it, as its provider has sent it. */
export function responseIdOf({ responseId, id = responseId }: Fields): string | undefined {
  return typeof id === 'string' ? id : undefined;
}

/** Returns the model that a response or a chunk of it names. Azure's first chunk names none. */
export function modelIn({ modelVersion, model = modelVersion }: Fields): string | undefined {
  return typeof model === 'string' && model !== '' ? model : undefined;
}

const modelNameMax = 200;

/** Returns the model that a response names if it is not the called model. Returns undefined also if the name cannot be stored. */
export function otherModel(name: string | undefined, called: string): string | undefined {
  const isStorable =
    name !== undefined && name.length <= modelNameMax && !name.includes('\u0000') && name.isWellFormed();
  return isStorable && name !== '' && name !== called ? name : undefined;
}
