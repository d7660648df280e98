/** Usage as Anthropic reports it. */
import { type CallUsage, type ModelUsage, noUsage } from '../call-usage.ts';
import { type Fields, fieldsOf } from '../fields.ts';
import type { ServerTools } from '../server-tools.ts';
import { countOf, isCount, toolCounts } from '../usage-counts.ts';

/** Returns the usage of a `usage` object; undefined if a count is missing or is not a number. */
export function messagesUsage(usage: unknown): CallUsage | undefined {
  const fields = fieldsOf(usage);
  return isCount(fields.input_tokens) && isCount(fields.output_tokens)
    ? usageOfCounts(messagesCounts(fields))
    : undefined;
}

interface MessagesTokens {
  readonly input: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
  readonly cacheWrite1h: number;
  readonly output: number;
  readonly thinking: number;
}

interface OtherIteration extends MessagesTokens {
  /** Null for the model that serves the call. */
  readonly model: string | null;
}

/** The counts of Anthropic's usage that were reported so far. Those of a stream are cumulative. */
export interface MessagesCounts extends MessagesTokens {
  /** Iterations that the counts above do not include. */
  readonly others: readonly OtherIteration[];
  readonly serverTools: ServerTools;
  readonly serviceTier: string | null;
  readonly region: string | null;
}

const noTokens: MessagesTokens = {
  input: 0,
  cacheRead: 0,
  cacheWrite: 0,
  cacheWrite1h: 0,
  output: 0,
  thinking: 0,
};
const noCounts: MessagesCounts = {
  ...noTokens,
  others: [],
  serverTools: {},
  serviceTier: null,
  region: null,
};

/**
 * Returns the earlier counts updated by a report. A count that the report leaves out, or that is smaller there, keeps its value. A
 * report with iterations replaces the earlier counts: the start of a stream has those of the first iteration, which may be a
 * compaction.
 */
export function messagesCounts(usage: unknown, before: MessagesCounts = noCounts): MessagesCounts {
  const fields = fieldsOf(usage);
  const tools = fieldsOf(fields.server_tool_use);
  const iterations = iterationsIn(fields);
  return {
    ...tokenCounts(
      fields,
      iterations === undefined ? before : sumOf(iterations.filter((one) => isOwn(one, iterations))),
    ),
    others: iterations === undefined ? before.others : othersIn(iterations),
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
  const output = Math.max(countOf(fields.output_tokens), before.output);
  const thinking = Math.max(countOf(fieldsOf(fields.output_tokens_details).thinking_tokens), before.thinking);
  return {
    input: Math.max(countOf(fields.input_tokens), before.input),
    cacheRead: Math.max(countOf(fields.cache_read_input_tokens), before.cacheRead),
    cacheWrite: Math.max(
      countOf(fields.cache_creation_input_tokens),
      countOf(creation.ephemeral_1h_input_tokens) + countOf(creation.ephemeral_5m_input_tokens),
      before.cacheWrite,
    ),
    cacheWrite1h: Math.max(countOf(creation.ephemeral_1h_input_tokens), before.cacheWrite1h),
    output,
    // A part of the output: a larger count would be that of another iteration in the sum.
    thinking: Math.min(thinking, output),
  };
}

function iterationsIn({ iterations }: Fields): readonly Fields[] | undefined {
  return Array.isArray(iterations) && iterations.length > 0 ? iterations.map(fieldsOf) : undefined;
}

/**
 * Only iterations of the model that answers are included in the total counts: of several attempts, that is the last fallback.
 * Compactions of the context and advisors are charged in addition.
 */
function isOwn(one: Fields, all: readonly Fields[]): boolean {
  const fallback = all.findLast(({ type }) => type === 'fallback_message');
  return fallback === undefined ? one.type === 'message' : one === fallback;
}

function isAttempt({ type }: Fields): boolean {
  return type === 'message' || type === 'fallback_message';
}

function sumOf(iterations: readonly Fields[]): MessagesTokens {
  return iterations.map((one) => tokenCounts(one, noTokens)).reduce(addTokens, noTokens);
}

function addTokens(one: MessagesTokens, other: MessagesTokens): MessagesTokens {
  return {
    input: one.input + other.input,
    cacheRead: one.cacheRead + other.cacheRead,
    cacheWrite: one.cacheWrite + other.cacheWrite,
    cacheWrite1h: one.cacheWrite1h + other.cacheWrite1h,
    output: one.output + other.output,
    thinking: one.thinking + other.thinking,
  };
}

/** Returns the iterations that the other counts leave out. An attempt that was declined before it had output is not charged. */
function othersIn(iterations: readonly Fields[]): OtherIteration[] {
  return iterations
    .filter((one) => !isOwn(one, iterations) && !(isAttempt(one) && countOf(one.output_tokens) === 0))
    .map((one) => ({
      model: one.type !== 'compaction' && typeof one.model === 'string' ? one.model : null,
      ...tokenCounts(one, noTokens),
    }));
}

/** Converts the counts. Anthropic's `input_tokens` excludes cached tokens; that of a run includes them. */
export function usageOfCounts(counts: MessagesCounts): CallUsage {
  const { serverTools, serviceTier, region } = counts;
  const all = counts.others.reduce(addTokens, counts);
  return {
    ...noUsage,
    inputTokens: all.input + all.cacheRead + all.cacheWrite,
    cachedInputTokens: all.cacheRead,
    cacheWriteTokens: all.cacheWrite,
    cacheWrite1hTokens: Math.min(all.cacheWrite1h, all.cacheWrite),
    outputTokens: all.output,
    reasoningTokens: all.thinking,
    serverTools,
    others: counts.others.flatMap(otherModelOf),
    serviceTier,
    region,
  };
}

function otherModelOf({ model, ...tokens }: OtherIteration): ModelUsage[] {
  const { input, cacheRead, cacheWrite, cacheWrite1h, output, thinking } = tokens;
  return model === null
    ? []
    : [
        {
          model,
          inputTokens: input + cacheRead + cacheWrite,
          cachedInputTokens: cacheRead,
          cachedImageInputTokens: 0,
          cacheWriteTokens: cacheWrite,
          cacheWrite1hTokens: Math.min(cacheWrite1h, cacheWrite),
          imageInputTokens: 0,
          outputTokens: output,
          reasoningTokens: thinking,
        },
      ];
}
