/** The token counts of a call, from the attributes of its span. */
import type { CallUsage } from '../../../kernel/providers/call-usage.ts';
import { type Fields, fieldsOf } from '../../../kernel/providers/fields.ts';
import { messagesUsage } from '../../../kernel/providers/messages/usage.ts';
import { openAiUsage } from '../../../kernel/providers/openai-usage.ts';
import { tokensMax } from '../../../ledger/scope.ts';
import { type Attributes, amountOf, countOf, isInvalidCount, names, textOf } from './attributes.ts';
import type { CallTokens } from './model-call.ts';
import type { TelemetryRecord } from './telemetry-record.ts';
import { type Count, tokenNames } from './token-names.ts';

type StatedCounts = Readonly<Partial<Record<Count, number>>>;

/** An object of usage, if there is one, has all that the provider reported; attributes may lack details. */
export function tokensOf(span: Pick<TelemetryRecord, 'attributes' | 'scopeName'>): CallTokens {
  const { attributes } = span;
  const metadata = objectIn(attributes, names.providerMetadata);
  const reported =
    messagesUsage(fieldsOf(metadata.anthropic).usage) ??
    openAiUsage(objectIn(attributes, names.usageObject), undefined) ??
    usageDetails(objectIn(attributes, names.usageDetails));
  if (reported !== undefined) {
    return 'inputTokens' in reported ? tokensOfUsage(reported) : consistent(reported);
  }
  const counts = { ...detailsIn(metadata), ...statedCounts(attributes) };
  const inOutput = leavesReasoningOut(attributes) ? withReasoning(counts) : counts;
  const tokens = consistent(leavesCacheOut(span) ? withCache(inOutput) : inOutput);
  return hasInvalidCounts(attributes) ? { ...tokens, isKnown: false } : tokens;
}

function statedCounts(attributes: Attributes): StatedCounts {
  const counts: Partial<Record<Count, number>> = {};
  for (const [count, wanted] of Object.entries(tokenNames) as [Count, readonly string[]][]) {
    const value = countOf(wanted, attributes);
    if (value !== undefined) {
      counts[count] = value;
    }
  }
  return counts;
}

function hasInvalidCounts(attributes: Attributes): boolean {
  return Object.values(tokenNames).some((wanted) => isInvalidCount(wanted, attributes));
}

/**
 * In all conventions the details are parts of input and output: cached tokens, reasoning, audio. An emitter that leaves a detail out of
 * its whole is found by counts that contradict each other: a total that is larger by just this detail, or a whole that is smaller.
 */
function consistent(counts: StatedCounts): CallTokens {
  const {
    cached = 0,
    cacheWrite = 0,
    reasoning = 0,
    audioInput = 0,
    audioOutput = 0,
    cachedAudio = 0,
    imageInput = 0,
    cachedImage = 0,
  } = counts;
  const { input: statedInput = 0, output: statedOutput = 0 } = counts;
  const fromCache = cached + cacheWrite;
  const missing = Math.max(0, (counts.total ?? 0) - statedInput - statedOutput);
  const isWithoutReasoning = missing > 0 && missing === reasoning;
  const isWithoutCache = missing > 0 && missing === fromCache && !isWithoutReasoning;
  const output = isWithoutReasoning
    ? statedOutput + reasoning
    : withParts(statedOutput, Math.max(reasoning, audioOutput));
  const fullInput = isWithoutCache ? statedInput + fromCache : withParts(statedInput, fromCache);
  const input = withParts(fullInput, audioInput + imageInput);
  // Cached audio has the rate of cached tokens. Without a count of it, it is the audio that does not fit beside them.
  const uncachedAudio = audioInput - Math.min(cachedAudio, audioInput, cached);
  const audio = Math.min(uncachedAudio, input - fromCache);
  const cachedOfImages = Math.min(cachedImage, imageInput, cached);
  return {
    input,
    cached,
    cacheWrite,
    cacheWrite1h: Math.min(counts.cacheWrite1h ?? 0, cacheWrite),
    output,
    reasoning: Math.min(reasoning, output - audioOutput),
    audioInput: audio,
    audioOutput,
    // Images of which the emitter does not say how many were cached are cached if they do not fit beside the cached tokens.
    imageInput: Math.min(imageInput - cachedOfImages, input - fromCache - audio),
    cachedImage: cachedOfImages,
    // An emitter that could not count reports no counts, or zeros.
    isKnown: input + output > 0,
  };
}

function withParts(whole: number, parts: number): number {
  return parts > whole ? whole + parts : whole;
}

function tokensOfUsage(usage: CallUsage): CallTokens {
  return consistent({
    input: usage.inputTokens,
    cached: usage.cachedInputTokens,
    cacheWrite: usage.cacheWriteTokens,
    cacheWrite1h: usage.cacheWrite1hTokens,
    output: usage.outputTokens,
    reasoning: usage.reasoningTokens,
    audioInput: usage.audioInputTokens,
    audioOutput: usage.audioOutputTokens,
    imageInput: usage.imageInputTokens + usage.cachedImageInputTokens,
    cachedImage: usage.cachedImageInputTokens,
  });
}

/** Instrumentations that pass on the input of Anthropic, which leaves cached tokens out. */
const scopesWithoutCache = new Set(['@traceloop/instrumentation-anthropic']);

/** Before its version 6, the AI SDK does so for Anthropic and Bedrock. */
function leavesCacheOut({
  attributes,
  scopeName,
}: Pick<TelemetryRecord, 'attributes' | 'scopeName'>): boolean {
  return (
    scopesWithoutCache.has(scopeName) ||
    (attributes.has('ai.operationId') &&
      !attributes.has('ai.usage.inputTokenDetails.noCacheTokens') &&
      /anthropic|bedrock/.test(textOf(names.provider, attributes) ?? ''))
  );
}

/** Gemini and Grok count reasoning beside the answer, and some instrumentations report it in the total alone. */
function leavesReasoningOut(attributes: Attributes): boolean {
  return /(^|\/)(gemini|grok)-/.test(
    textOf([...names.requestModel, ...names.responseModel], attributes) ?? '',
  );
}

function withReasoning(counts: StatedCounts): StatedCounts {
  const { input = 0, output = 0, reasoning = 0, total = 0 } = counts;
  const missing = total - input - output;
  return missing > 0 && reasoning === 0
    ? { ...counts, output: output + missing, reasoning: missing }
    : counts;
}

function withCache(counts: StatedCounts): StatedCounts {
  const { input, cached = 0, cacheWrite = 0 } = counts;
  return input === undefined ? counts : { ...counts, input: input + cached + cacheWrite };
}

/** StatedCounts that the AI SDK has no attributes for, by its provider packages. */
function detailsIn(metadata: Fields): StatedCounts {
  const openai = fieldsOf(metadata.openai);
  const anthropic = fieldsOf(metadata.anthropic);
  const bedrock = fieldsOf(fieldsOf(metadata.bedrock).usage);
  return {
    ...stated(
      'cached',
      openai.cachedPromptTokens,
      anthropic.cacheReadInputTokens,
      bedrock.cacheReadInputTokens,
    ),
    ...stated(
      'cacheWrite',
      fieldsOf(openai.usage).cacheWriteTokens,
      anthropic.cacheCreationInputTokens,
      bedrock.cacheWriteInputTokens,
    ),
    ...stated('reasoning', openai.reasoningTokens),
  };
}

/** Returns the first of the values that is a count, under its name. */
function stated(name: Count, ...values: readonly unknown[]): StatedCounts {
  const value = values.find(isCount);
  return value === undefined ? {} : { [name]: value };
}

function isCount(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) >= 0 && (value as number) <= tokensMax;
}

/**
 * Langfuse has the usage of OpenAI or Anthropic as it was reported, or else its own kinds of tokens, which do not include each other:
 * its `input` is without cached and audio tokens.
 */
function usageDetails(details: Fields): CallUsage | StatedCounts | undefined {
  const asReported =
    details.cache_read_input_tokens === undefined ? openAiUsage(details, undefined) : messagesUsage(details);
  if (asReported !== undefined) {
    return asReported;
  }
  const count = (...keys: readonly string[]) => keys.map((key) => details[key]).find(isCount);
  const sumOf = (isPart: (key: string) => boolean) =>
    Object.entries(details).reduce(
      (sum, [key, value]) => sum + (isPart(key) && isCount(value) ? value : 0),
      0,
    );
  const input = sumOf((key) => /^input(_|$)/.test(key) || /^cache_(read|creation)_input_tokens$/.test(key));
  const output = sumOf((key) => /^output(_|$)/.test(key));
  return input + output === 0
    ? undefined
    : {
        input,
        output,
        cached: count('input_cache_read', 'input_cached_tokens', 'cache_read_input_tokens') ?? 0,
        cacheWrite:
          count('input_cache_creation', 'input_cache_write_tokens', 'cache_creation_input_tokens') ?? 0,
        cacheWrite1h: count('cache_creation_ephemeral_1h_input_tokens') ?? 0,
        reasoning: count('output_reasoning', 'output_reasoning_tokens') ?? 0,
        audioInput: count('input_audio', 'input_audio_tokens') ?? 0,
        audioOutput: count('output_audio', 'output_audio_tokens') ?? 0,
      };
}

/** The cost that Langfuse was given. */
export function costDetailsOf(attributes: Attributes): number | undefined {
  const { total } = objectIn(attributes, names.costDetails);
  return amountOf(typeof total === 'number' ? String(total) : undefined);
}

/** Returns the object that an attribute has as JSON, or, from LiteLLM, as Python prints it. */
function objectIn(attributes: Attributes, wanted: readonly string[]): Fields {
  const text = textOf(wanted, attributes);
  if (text === undefined) {
    return {};
  }
  return parsed(text) ?? parsed(jsonOfPython(text)) ?? {};
}

function parsed(text: string): Fields | undefined {
  try {
    return fieldsOf(JSON.parse(text));
  } catch {
    return undefined;
  }
}

function jsonOfPython(text: string): string {
  return text.replaceAll("'", '"').replaceAll(/\b(?:None|True|False)\b/g, 'null');
}
