/**
 * Names of the token counts of a call, by the generation of a convention or the emitter that introduced them. Emitters mix them: an
 * instrumentation adds its own details to the counts of a convention. Each count is therefore read on its own, by the first of
 * its names that a span has, in the order of this table.
 */

/** Names of a count: one, several in order of preference, or none. */
type Names = string | readonly string[];

interface Generation {
  readonly of: string;
  readonly input?: Names;
  readonly output?: Names;
  readonly cached?: Names;
  readonly cacheWrite?: Names;
  /** The part of the cache writes with a lifetime of an hour. */
  readonly cacheWrite1h?: Names;
  readonly reasoning?: Names;
  readonly audioInput?: Names;
  readonly audioOutput?: Names;
  /** Tokens that are both audio and read from a cache. */
  readonly cachedAudio?: Names;
  readonly imageInput?: Names;
  /** Tokens that are both of an image and read from a cache. */
  readonly cachedImage?: Names;
  /** Input and output together. */
  readonly total?: Names;
}

export const generations: readonly Generation[] = [
  {
    of: 'GenAI conventions since August 2026',
    input: 'gen_ai.usage.input_tokens',
    output: 'gen_ai.usage.output_tokens',
    cached: 'gen_ai.usage.cache_read.input_tokens',
    cacheWrite: 'gen_ai.usage.cache_write.input_tokens',
    reasoning: 'gen_ai.usage.reasoning.output_tokens',
    audioInput: 'gen_ai.usage.audio.input_tokens',
    audioOutput: 'gen_ai.usage.audio.output_tokens',
    cachedAudio: 'gen_ai.usage.audio.cache_read.input_tokens',
    imageInput: 'gen_ai.usage.image.input_tokens',
    cachedImage: 'gen_ai.usage.image.cache_read.input_tokens',
  },
  { of: 'GenAI conventions 1.40 to 1.44', cacheWrite: 'gen_ai.usage.cache_creation.input_tokens' },
  {
    of: 'GenAI conventions before 1.27',
    input: 'gen_ai.usage.prompt_tokens',
    output: 'gen_ai.usage.completion_tokens',
  },
  {
    of: 'SDKs of Anthropic',
    cacheWrite1h: 'anthropic.usage.cache_creation.ephemeral_1h_input_tokens',
  },
  {
    of: 'OpenLLMetry',
    input: 'llm.usage.prompt_tokens',
    output: 'llm.usage.completion_tokens',
    cached: 'gen_ai.usage.cache_read_input_tokens',
    cacheWrite: 'gen_ai.usage.cache_creation_input_tokens',
    reasoning: ['gen_ai.usage.reasoning_tokens', 'llm.usage.reasoning_tokens'],
    total: ['gen_ai.usage.total_tokens', 'llm.usage.total_tokens'],
  },
  {
    of: 'OpenInference',
    input: ['llm.token_count.prompt', 'decision.token_count.input'],
    output: ['llm.token_count.completion', 'decision.token_count.output'],
    cached: ['llm.token_count.prompt_details.cache_read', 'llm.token_count.prompt_details.cache_input'],
    cacheWrite: 'llm.token_count.prompt_details.cache_write',
    reasoning: 'llm.token_count.completion_details.reasoning',
    audioInput: 'llm.token_count.prompt_details.audio',
    audioOutput: 'llm.token_count.completion_details.audio',
    total: 'llm.token_count.total',
  },
  {
    of: 'pydantic-ai',
    cached: [
      'gen_ai.usage.details.cache_read_tokens',
      'gen_ai.usage.details.cached_tokens',
      'gen_ai.usage.details.cache_read_input_tokens',
    ],
    cacheWrite: [
      'gen_ai.usage.details.cache_write_tokens',
      'gen_ai.usage.details.cache_creation_input_tokens',
    ],
    cacheWrite1h: 'gen_ai.usage.details.ephemeral_1h_input_tokens',
    reasoning: 'gen_ai.usage.details.reasoning_tokens',
    audioInput: 'gen_ai.usage.details.input_audio_tokens',
    audioOutput: 'gen_ai.usage.details.output_audio_tokens',
    cachedAudio: 'gen_ai.usage.details.cache_audio_read_tokens',
  },
  {
    of: 'AI SDK 6',
    cached: 'ai.usage.inputTokenDetails.cacheReadTokens',
    cacheWrite: 'ai.usage.inputTokenDetails.cacheWriteTokens',
    reasoning: 'ai.usage.outputTokenDetails.reasoningTokens',
  },
  {
    of: 'AI SDK 5',
    input: ['ai.usage.inputTokens', 'ai.usage.tokens'],
    output: 'ai.usage.outputTokens',
    cached: 'ai.usage.cachedInputTokens',
    reasoning: 'ai.usage.reasoningTokens',
    total: 'ai.usage.totalTokens',
  },
  { of: 'AI SDK 4', input: 'ai.usage.promptTokens', output: 'ai.usage.completionTokens' },
];

export type Count = Exclude<keyof Generation, 'of'>;

const namesOf = (count: Count): readonly string[] =>
  generations.flatMap((generation): Names => generation[count] ?? []);

export const tokenNames: Readonly<Record<Count, readonly string[]>> = {
  input: namesOf('input'),
  output: namesOf('output'),
  cached: namesOf('cached'),
  cacheWrite: namesOf('cacheWrite'),
  cacheWrite1h: namesOf('cacheWrite1h'),
  reasoning: namesOf('reasoning'),
  audioInput: namesOf('audioInput'),
  audioOutput: namesOf('audioOutput'),
  cachedAudio: namesOf('cachedAudio'),
  imageInput: namesOf('imageInput'),
  cachedImage: namesOf('cachedImage'),
  total: namesOf('total'),
};
