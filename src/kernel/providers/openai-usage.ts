/** Usage as OpenAI reports it, and the providers with a compatible API. */
import { type CallUsage, noUsage } from './call-usage.ts';
import { type Fields, fieldsOf } from './fields.ts';
import { statedNanosOf } from './stated-cost.ts';
import { countOf, isCount, largerCount, toolCounts } from './usage-counts.ts';

/** Returns the usage of a `usage` object; undefined if a count is missing or is not a number. */
export function openAiUsage(usage: unknown, serviceTier: unknown, hasOutput = true): CallUsage | undefined {
  const fields = fieldsOf(usage);
  const counts = namedCounts(fields, hasOutput);
  return isCount(counts.input) && (!hasOutput || isCount(counts.output))
    ? { ...tokenUsage(fields, counts), serviceTier: typeof serviceTier === 'string' ? serviceTier : null }
    : undefined;
}

interface NamedCounts {
  readonly input: unknown;
  readonly output: unknown;
}

/**
 * Returns the counts under the names of chats and of responses. Some providers use the names of the other format, or both with one
 * of them 0. For embeddings, some, such as Voyage, report only a total.
 */
function namedCounts(fields: Fields, hasOutput: boolean): NamedCounts {
  const input = largerCount(fields.prompt_tokens, fields.input_tokens);
  return {
    input: hasOutput ? input : (input ?? fields.total_tokens),
    output: largerCount(fields.completion_tokens, fields.output_tokens) ?? fields.total_tokens,
  };
}

function tokenUsage(usage: Fields, counts: NamedCounts): CallUsage {
  const input = countsIn(usage.prompt_tokens_details, usage.input_tokens_details, usage.prompt_token_details);
  const output = countsIn(usage.completion_tokens_details, usage.output_tokens_details);
  const besides = countsIn(usage);
  const inputTokens = countOf(counts.input);
  const completion = countOf(largerCount(usage.completion_tokens, usage.output_tokens));
  const reasoning = output('reasoning_tokens');
  // Some providers do not count reasoning as output: only the total includes it, or the detail for reasoning exceeds the output.
  const isBesides = reasoning > completion && countOf(usage.total_tokens) !== inputTokens + completion;
  const generated = isBesides ? completion + reasoning : completion;
  const cached = Math.max(input('cached_tokens'), besides(...cachedNames));
  const written = withoutOverlap(input(...writtenNames), cached, inputTokens);
  const audio = input('audio_tokens');
  const images = input('image_tokens');
  const cachedImages = Math.min(cachedPart(usage)('image_tokens'), cached, images);
  return {
    ...noUsage,
    inputTokens,
    cachedInputTokens: cached,
    cachedImageInputTokens: cachedImages,
    cacheWriteTokens: written,
    outputTokens: Math.max(generated, countOf(usage.total_tokens) - inputTokens),
    reasoningTokens: reasoning,
    audioInputTokens: audio,
    // Cached images are counted as both, and not always told apart.
    imageInputTokens: Math.max(0, Math.min(images - cachedImages, inputTokens - cached - written - audio)),
    audioOutputTokens: output('audio_tokens'),
    statedNanos: statedNanosOf(usage),
    serverTools: {
      ...toolCounts(fieldsOf(usage.server_side_tool_usage_details), '_calls'),
      ...toolCounts({ ...fieldsOf(usage.server_tool_use), ...fieldsOf(usage.server_tool_use_details) }),
    },
  };
}

/** Returns a function that finds a count among those of the cached tokens alone. */
function cachedPart({ prompt_tokens_details, input_tokens_details }: Fields) {
  return countsIn(
    fieldsOf(prompt_tokens_details).cached_tokens_details,
    fieldsOf(input_tokens_details).cached_tokens_details,
  );
}

/** Members for cached tokens beside the other counts, of Mistral, Moonshot and DeepSeek. */
const cachedNames = ['num_cached_tokens', 'cached_tokens', 'prompt_cache_hit_tokens'] as const;
/** Members for tokens that were written to a cache, of OpenAI and OpenRouter, of LiteLLM, and of Alibaba. */
const writtenNames = ['cache_write_tokens', 'cache_creation_tokens', 'cache_creation_input_tokens'] as const;

/** Returns a function that finds the largest count under any of the given names in these objects. */
function countsIn(...objects: readonly unknown[]): (...names: readonly string[]) => number {
  return (...names) => {
    let largest: unknown;
    for (const fields of objects.map(fieldsOf)) {
      for (const name of names) {
        largest = largerCount(largest, fields[name]);
      }
    }
    return countOf(largest);
  };
}

/** OpenRouter reports tokens that Gemini wrote to its cache and read from it in the same call as both. They are charged as read. */
function withoutOverlap(written: number, cached: number, inputTokens: number): number {
  return cached <= inputTokens && written <= inputTokens ? Math.min(written, inputTokens - cached) : written;
}
