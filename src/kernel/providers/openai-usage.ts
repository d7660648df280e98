/** Usage as OpenAI reports it, and the providers with a compatible API. */
import { type CallUsage, noUsage } from './call-usage.ts';
import { type Fields, fieldsOf } from './fields.ts';
import { countOf, isCount, largerCount, toolCounts } from './usage-counts.ts';

/** Returns the usage of a `usage` object; undefined if a count is missing or no count. */
export function openAiUsage(usage: unknown, serviceTier: unknown, hasOutput = true): CallUsage | undefined {
  const fields = fieldsOf(usage);
  const counts = namedCounts(fields);
  return isCount(counts.input) && (!hasOutput || isCount(counts.output))
    ? { ...tokenUsage(fields, counts), serviceTier: typeof serviceTier === 'string' ? serviceTier : null }
    : undefined;
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
