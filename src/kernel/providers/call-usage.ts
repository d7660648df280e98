/** Usage of a call as its provider reports it, in each shape, and its conversion to the usage of a run. */
import { wordPattern } from '../service-words.ts';
import { type Fields, fieldsOf } from './fields.ts';
import {
  freeTool,
  type ServerTools,
  searchesOfModel,
  toolsInOutput,
  withServerTools,
} from './server-tools.ts';

export type { ServerTools } from './server-tools.ts';

/** No run has more tokens. A larger count is an error of the provider. */
const countMax = 1_000_000_000_000;

/** Shapes of requests and responses. Each is one operation of a dialect. */
export const shapes = ['chat', 'responses', 'embeddings', 'messages'] as const;
export type Shape = (typeof shapes)[number];

/** Tokens of a model that advised the model of a call. They are included in the counts of the call. */
export type AdvisorUsage = Pick<
  CallUsage,
  'inputTokens' | 'cachedInputTokens' | 'cacheWriteTokens' | 'outputTokens'
>;

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
  readonly serverTools: ServerTools;
  readonly advisors: readonly AdvisorUsage[];
  /** The tier that the call was served in; null if the provider does not report one. */
  readonly serviceTier: string | null;
  /** The region that the call was served in, if the provider reports one. */
  readonly region: string | null;
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
  advisors: [],
  serviceTier: null,
  region: null,
};

/** No answer costs nothing: a usage without tokens is that of a provider that does not count. */
export function hasTokens({ inputTokens, outputTokens }: CallUsage): boolean {
  return inputTokens > 0 || outputTokens > 0;
}

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
  readonly region?: string;
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
  if (isServiceWord(usage.serviceTier)) {
    fields.service_tier = usage.serviceTier;
  }
  if (isServiceWord(usage.region)) {
    fields.region = usage.region;
  }
  if (Object.keys(usage.serverTools).length > 0) {
    fields.units = usage.serverTools;
  }
  return fields;
}

const serviceWord = new RegExp(wordPattern);

/** Tiers and regions come from clients and providers; one that no price can name has the flat rates. */
export function isServiceWord(value: unknown): value is string {
  return typeof value === 'string' && serviceWord.test(value);
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
    advisors: one.advisors.length === 0 ? other.advisors : [...one.advisors, ...other.advisors],
    serviceTier: other.serviceTier ?? one.serviceTier,
    region: other.region ?? one.region,
  };
}

/** Returns the usage in a response body that was not streamed; undefined if it reports none that can be read. */
export function usageOfBody(shape: Shape, body: unknown): CallUsage | undefined {
  const { usage, service_tier, model, output } = fieldsOf(body);
  const reported = usageOf(shape, usage, service_tier);
  if (reported === undefined) {
    return undefined;
  }
  switch (shape) {
    case 'chat':
      return withServerTools(reported, searchesOfModel(model));
    case 'responses':
      return withServerTools(reported, toolsInOutput(output));
    default:
      return reported;
  }
}

/** Returns the usage of a `usage` object; undefined if a count of its shape is missing or no count. */
export function usageOf(shape: Shape, usage: unknown, serviceTier?: unknown): CallUsage | undefined {
  const fields = fieldsOf(usage);
  const tier = typeof serviceTier === 'string' ? serviceTier : null;
  switch (shape) {
    case 'chat':
    case 'embeddings':
    case 'responses': {
      const counts = namedCounts(fields);
      return isCount(counts.input) && (shape === 'embeddings' || isCount(counts.output))
        ? { ...tokenUsage(fields, counts), serviceTier: tier }
        : undefined;
    }
    case 'messages':
      return isCount(fields.input_tokens) && isCount(fields.output_tokens)
        ? usageOfCounts(messagesCounts(fields))
        : undefined;
  }
}

interface NamedCounts {
  readonly input: unknown;
  readonly output: unknown;
}

/** Chats and responses name their counts differently. Some providers send the names of the other, or both, of which one is 0. */
function namedCounts(fields: Fields): NamedCounts {
  return {
    input: largerCount(fields.prompt_tokens, fields.input_tokens),
    output: largerCount(fields.completion_tokens, fields.output_tokens) ?? fields.total_tokens,
  };
}

function largerCount(one: unknown, other: unknown): unknown {
  return isCount(other) && countOf(other) > countOf(one) ? other : (one ?? other);
}

function tokenUsage(usage: Fields, counts: NamedCounts): CallUsage {
  const input = detailsOf(usage.prompt_tokens_details, usage.input_tokens_details);
  const output = detailsOf(usage.completion_tokens_details, usage.output_tokens_details);
  const inputTokens = countOf(counts.input);
  const completion = countOf(largerCount(usage.completion_tokens, usage.output_tokens));
  const reasoning = output('reasoning_tokens');
  // Some leave reasoning out of the output: it is only in the total, or in a detail that is larger than the output.
  const generated = reasoning > completion ? completion + reasoning : completion;
  return {
    ...noUsage,
    inputTokens,
    cachedInputTokens: input('cached_tokens'),
    cacheWriteTokens: input('cache_write_tokens'),
    outputTokens: Math.max(generated, countOf(usage.total_tokens) - inputTokens),
    audioInputTokens: input('audio_tokens'),
    audioOutputTokens: output('audio_tokens'),
    serverTools: toolCounts(fieldsOf(usage.server_tool_use)),
  };
}

/** Returns a function that finds a count in the details, under either of their names. */
function detailsOf(one: unknown, other: unknown): (name: string) => number {
  return (name) => countOf(largerCount(fieldsOf(one)[name], fieldsOf(other)[name]));
}

interface MessagesTokens {
  readonly input: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
  readonly cacheWrite1h: number;
  readonly output: number;
}

interface OtherIteration extends MessagesTokens {
  readonly isAdvisor: boolean;
}

/** The counts of Anthropic's usage, as far as they were reported. Those of a stream are cumulative. */
export interface MessagesCounts extends MessagesTokens {
  /** Iterations that the other counts leave out. */
  readonly others: readonly OtherIteration[];
  readonly serverTools: ServerTools;
  readonly serviceTier: string | null;
  readonly region: string | null;
}

const noCounts: MessagesCounts = {
  input: 0,
  cacheRead: 0,
  cacheWrite: 0,
  cacheWrite1h: 0,
  output: 0,
  others: [],
  serverTools: {},
  serviceTier: null,
  region: null,
};

/** Returns the counts with those that `usage` reports. A count that it leaves out, or that is smaller, keeps its value. */
export function messagesCounts(usage: unknown, before: MessagesCounts = noCounts): MessagesCounts {
  const fields = fieldsOf(usage);
  const tools = fieldsOf(fields.server_tool_use);
  return {
    ...tokenCounts(fields, before),
    others: Array.isArray(fields.iterations) ? othersIn(fields.iterations) : before.others,
    serverTools: { ...before.serverTools, ...toolCounts(tools) },
    serviceTier: messagesTier(fields) ?? before.serviceTier,
    region: typeof fields.inference_geo === 'string' ? fields.inference_geo : before.region,
  };
}

/** The fast mode has rates of its own, whatever the tier is. */
function messagesTier({ speed, service_tier: tier }: Fields): string | undefined {
  return speed === 'fast' ? speed : typeof tier === 'string' ? tier : undefined;
}

function tokenCounts(fields: Fields, before: MessagesTokens): MessagesTokens {
  const creation = fieldsOf(fields.cache_creation);
  return {
    input: Math.max(countOf(fields.input_tokens), before.input),
    cacheRead: Math.max(countOf(fields.cache_read_input_tokens), before.cacheRead),
    cacheWrite: Math.max(
      countOf(fields.cache_creation_input_tokens),
      countOf(creation.ephemeral_1h_input_tokens) + countOf(creation.ephemeral_5m_input_tokens),
      before.cacheWrite,
    ),
    cacheWrite1h: Math.max(countOf(creation.ephemeral_1h_input_tokens), before.cacheWrite1h),
    output: Math.max(countOf(fields.output_tokens), before.output),
  };
}

/** Only iterations of the model itself are in the other counts. Compactions of the context and advisors are charged besides. */
function othersIn(iterations: readonly unknown[]): OtherIteration[] {
  return iterations
    .map(fieldsOf)
    .filter(({ type }) => type !== 'message')
    .map((fields) => ({ isAdvisor: fields.type === 'advisor_message', ...tokenCounts(fields, noCounts) }));
}

/** Anthropic's `input_tokens` leaves cached tokens out; that of a run includes them. */
export function usageOfCounts(counts: MessagesCounts): CallUsage {
  const { serverTools, serviceTier, region } = counts;
  const all = [counts, ...counts.others];
  const sumOf = (tokensOf: (one: MessagesTokens) => number) =>
    all.reduce((sum, one) => sum + tokensOf(one), 0);
  return {
    ...noUsage,
    inputTokens: sumOf(({ input, cacheRead, cacheWrite }) => input + cacheRead + cacheWrite),
    cachedInputTokens: sumOf(({ cacheRead }) => cacheRead),
    cacheWriteTokens: sumOf(({ cacheWrite }) => cacheWrite),
    cacheWrite1hTokens: sumOf(({ cacheWrite, cacheWrite1h }) => Math.min(cacheWrite1h, cacheWrite)),
    outputTokens: sumOf(({ output }) => output),
    serverTools,
    advisors: counts.others.filter(({ isAdvisor }) => isAdvisor).map(advisorOf),
    serviceTier,
    region,
  };
}

function advisorOf({ input, cacheRead, cacheWrite, output }: MessagesTokens): AdvisorUsage {
  return {
    inputTokens: input + cacheRead + cacheWrite,
    cachedInputTokens: cacheRead,
    cacheWriteTokens: cacheWrite,
    outputTokens: output,
  };
}

/** The name of a unit of a run. Another one has no price, and may be a text that cannot be stored. */
const toolName = /^[a-z][a-z0-9_]{0,63}$/;

function toolCounts(tools: Fields): ServerTools {
  const counts: Record<string, number> = {};
  for (const [name, value] of Object.entries(tools)) {
    const tool = name.slice(0, -'_requests'.length);
    if (name.endsWith('_requests') && toolName.test(tool) && tool !== freeTool && countOf(value) > 0) {
      counts[tool] = countOf(value);
    }
  }
  return counts;
}

/** Returns the id of a response or of a chunk of it, as its provider has sent it. */
export function responseIdOf({ id }: Fields): string | undefined {
  return typeof id === 'string' ? id : undefined;
}

/** Returns the model that a response or a chunk of it names. Azure's first chunk names none. */
export function modelIn({ model }: Fields): string | undefined {
  return typeof model === 'string' && model !== '' ? model : undefined;
}

/** True for a number of tokens or calls, also one that is written as a text. */
export function isCount(value: unknown): boolean {
  return numberOf(value) !== undefined;
}

function countOf(value: unknown): number {
  return Math.ceil(numberOf(value) ?? 0);
}

const digits = /^\d{1,13}(\.\d{1,20})?$/;

function numberOf(value: unknown): number | undefined {
  const number = typeof value === 'string' && digits.test(value) ? Number(value) : value;
  return typeof number === 'number' && number >= 0 && number <= countMax ? number : undefined;
}
