/** Usage of a call as its provider reports it, in each shape, and its conversion to the usage of a run. */
import { wordPattern } from '../service-words.ts';

/** Shapes of requests and responses. Each is one operation of a dialect. */
export const shapes = ['chat', 'responses', 'embeddings', 'messages'] as const;
export type Shape = (typeof shapes)[number];

export interface CallUsage {
  /** All input tokens, including cached ones and those written to a cache. */
  readonly inputTokens: number;
  readonly cachedInputTokens: number;
  /** Tokens written to a cache, of any lifetime. */
  readonly cacheWriteTokens: number;
  /** The part of `cacheWriteTokens` with a lifetime of an hour. */
  readonly cacheWrite1hTokens: number;
  readonly outputTokens: number;
  readonly audioInputTokens: number;
  readonly audioOutputTokens: number;
  /** Calls of tools that the provider runs and charges for, such as web searches, by their name. */
  readonly serverTools: Readonly<Record<string, number>>;
  /** The tier that the call was served in; null if the provider does not report one. */
  readonly serviceTier: string | null;
}

export const noUsage: CallUsage = {
  inputTokens: 0,
  cachedInputTokens: 0,
  cacheWriteTokens: 0,
  cacheWrite1hTokens: 0,
  outputTokens: 0,
  audioInputTokens: 0,
  audioOutputTokens: 0,
  serverTools: {},
  serviceTier: null,
};

/** The fields of a completed run that usage sets. */
export interface RunUsageFields {
  readonly input_tokens: number;
  readonly cached_input_tokens: number;
  readonly cache_write_tokens: number;
  readonly cache_write_1h_tokens?: number;
  readonly output_tokens: number;
  readonly audio_input_tokens?: number;
  readonly audio_output_tokens?: number;
  readonly service_tier?: string;
  readonly units?: Readonly<Record<string, number>>;
}

/** The only place that maps usage of providers to fields of runs. */
export function runUsageOf(usage: CallUsage): RunUsageFields {
  const parts = usage.cachedInputTokens + usage.cacheWriteTokens + usage.audioInputTokens;
  const fields: { -readonly [Name in keyof RunUsageFields]: RunUsageFields[Name] } = {
    // A run rejects parts that exceed their total, and a report that contradicts itself must not lose the charge.
    input_tokens: Math.max(usage.inputTokens, parts),
    cached_input_tokens: usage.cachedInputTokens,
    cache_write_tokens: usage.cacheWriteTokens - usage.cacheWrite1hTokens,
    output_tokens: Math.max(usage.outputTokens, usage.audioOutputTokens),
  };
  if (usage.cacheWrite1hTokens > 0) {
    fields.cache_write_1h_tokens = usage.cacheWrite1hTokens;
  }
  if (usage.audioInputTokens > 0) {
    fields.audio_input_tokens = usage.audioInputTokens;
  }
  if (usage.audioOutputTokens > 0) {
    fields.audio_output_tokens = usage.audioOutputTokens;
  }
  const { service_tier: tier } = serviceTierOf(usage.serviceTier);
  if (tier !== undefined) {
    fields.service_tier = tier;
  }
  if (Object.keys(usage.serverTools).length > 0) {
    fields.units = usage.serverTools;
  }
  return fields;
}

const isTier = new RegExp(wordPattern);

/** Returns the field of a run. Tiers come from clients and providers; one that no price can name has the flat rates. */
export function serviceTierOf(tier: unknown): { readonly service_tier?: string } {
  return typeof tier === 'string' && isTier.test(tier) ? { service_tier: tier } : {};
}

export function addUsage(one: CallUsage, other: CallUsage): CallUsage {
  const serverTools: Record<string, number> = { ...one.serverTools };
  for (const [name, count] of Object.entries(other.serverTools)) {
    serverTools[name] = (serverTools[name] ?? 0) + count;
  }
  return {
    inputTokens: one.inputTokens + other.inputTokens,
    cachedInputTokens: one.cachedInputTokens + other.cachedInputTokens,
    cacheWriteTokens: one.cacheWriteTokens + other.cacheWriteTokens,
    cacheWrite1hTokens: one.cacheWrite1hTokens + other.cacheWrite1hTokens,
    outputTokens: one.outputTokens + other.outputTokens,
    audioInputTokens: one.audioInputTokens + other.audioInputTokens,
    audioOutputTokens: one.audioOutputTokens + other.audioOutputTokens,
    serverTools,
    serviceTier: other.serviceTier ?? one.serviceTier,
  };
}

/** Returns the usage in a response body that was not streamed; undefined if it reports none. */
export function usageOfBody(shape: Shape, body: unknown): CallUsage | undefined {
  const { usage, service_tier } = fieldsOf(body);
  return usage == null ? undefined : usageOf(shape, usage, service_tier);
}

/** Returns the usage of a `usage` object; undefined if it has none of the counts of its shape. */
export function usageOf(shape: Shape, usage: unknown, serviceTier?: unknown): CallUsage | undefined {
  const fields = fieldsOf(usage);
  const tier = typeof serviceTier === 'string' ? serviceTier : null;
  switch (shape) {
    case 'chat':
    case 'embeddings':
      return 'prompt_tokens' in fields ? { ...chatUsage(fields), serviceTier: tier } : undefined;
    case 'responses':
      return 'input_tokens' in fields ? { ...responsesUsage(fields), serviceTier: tier } : undefined;
    case 'messages':
      return messagesUsage(fields, undefined);
  }
}

function chatUsage(usage: Fields): CallUsage {
  const input = fieldsOf(usage.prompt_tokens_details);
  const output = fieldsOf(usage.completion_tokens_details);
  return {
    ...noUsage,
    inputTokens: countOf(usage.prompt_tokens),
    cachedInputTokens: countOf(input.cached_tokens),
    outputTokens: countOf(usage.completion_tokens),
    audioInputTokens: countOf(input.audio_tokens),
    audioOutputTokens: countOf(output.audio_tokens),
  };
}

function responsesUsage(usage: Fields): CallUsage {
  const input = fieldsOf(usage.input_tokens_details);
  return {
    ...noUsage,
    inputTokens: countOf(usage.input_tokens),
    cachedInputTokens: countOf(input.cached_tokens),
    outputTokens: countOf(usage.output_tokens),
  };
}

/** The counts of Anthropic's usage, as far as they were reported. Those of a stream are cumulative. */
export interface MessagesCounts {
  readonly input: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
  readonly cacheWrite1h: number;
  readonly output: number;
  readonly serverTools: Readonly<Record<string, number>>;
  readonly serviceTier: string | null;
}

const noCounts: MessagesCounts = {
  input: 0,
  cacheRead: 0,
  cacheWrite: 0,
  cacheWrite1h: 0,
  output: 0,
  serverTools: {},
  serviceTier: null,
};

/** Returns the counts with those that `usage` reports; counts that it leaves out or sets to null keep their value. */
export function messagesCounts(usage: unknown, before: MessagesCounts = noCounts): MessagesCounts {
  const fields = fieldsOf(usage);
  const creation = fieldsOf(fields.cache_creation);
  const tools = fieldsOf(fields.server_tool_use);
  return {
    input: countOf(fields.input_tokens, before.input),
    cacheRead: countOf(fields.cache_read_input_tokens, before.cacheRead),
    cacheWrite: countOf(fields.cache_creation_input_tokens, before.cacheWrite),
    cacheWrite1h: countOf(creation.ephemeral_1h_input_tokens, before.cacheWrite1h),
    output: countOf(fields.output_tokens, before.output),
    serverTools: { ...before.serverTools, ...toolCounts(tools) },
    serviceTier: typeof fields.service_tier === 'string' ? fields.service_tier : before.serviceTier,
  };
}

/** Anthropic's `input_tokens` leaves cached tokens out; that of a run includes them. */
export function usageOfCounts(counts: MessagesCounts): CallUsage {
  return {
    ...noUsage,
    inputTokens: counts.input + counts.cacheRead + counts.cacheWrite,
    cachedInputTokens: counts.cacheRead,
    cacheWriteTokens: counts.cacheWrite,
    cacheWrite1hTokens: Math.min(counts.cacheWrite1h, counts.cacheWrite),
    outputTokens: counts.output,
    serverTools: counts.serverTools,
    serviceTier: counts.serviceTier,
  };
}

function messagesUsage(fields: Fields, before: MessagesCounts | undefined): CallUsage | undefined {
  return 'input_tokens' in fields || 'output_tokens' in fields
    ? usageOfCounts(messagesCounts(fields, before))
    : undefined;
}

function toolCounts(tools: Fields): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const [name, value] of Object.entries(tools)) {
    if (name.endsWith('_requests') && countOf(value) > 0) {
      counts[name.slice(0, -'_requests'.length)] = countOf(value);
    }
  }
  return counts;
}

/** Returns the id of a response or of a chunk of it, as its provider has sent it. */
export function responseIdOf({ id }: Fields): string | undefined {
  return typeof id === 'string' ? id : undefined;
}

export type Fields = Readonly<Record<string, unknown>>;

/** Returns the fields of an object; none for any other value. Responses of providers are not validated. */
export function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? (value as Fields) : {};
}

function countOf(value: unknown, otherwise = 0): number {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? Math.ceil(value) : otherwise;
}
