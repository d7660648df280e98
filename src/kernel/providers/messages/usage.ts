/** Usage as Anthropic reports it. */
import { type AdvisorUsage, type CallUsage, noUsage } from '../call-usage.ts';
import { type Fields, fieldsOf } from '../fields.ts';
import type { ServerTools } from '../server-tools.ts';
import { countOf, isCount, toolCounts } from '../usage-counts.ts';

/** Returns the usage of a `usage` object; undefined if a count is missing or no count. */
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
