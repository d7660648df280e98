/** Usage as Google reports it in `usageMetadata`. */
import { type CallUsage, modelIn, noUsage } from '../call-usage.ts';
import { type Fields, fieldsOf } from '../fields.ts';
import type { ServerTools } from '../server-tools.ts';
import { countOf, isCount } from '../usage-counts.ts';
import { GroundingTally } from './grounding.ts';

export function geminiUsage(answer: unknown): CallUsage | undefined {
  const fields = fieldsOf(answer);
  const grounding = new GroundingTally();
  for (const candidate of candidatesOf(fields)) {
    grounding.add(candidate);
  }
  return usageOfMetadata(fields.usageMetadata, grounding.callsOf(modelIn(fields)));
}

export function candidatesOf({ candidates }: Fields): readonly Fields[] {
  return Array.isArray(candidates) ? candidates.map(fieldsOf) : [];
}

/** Returns undefined if the input was not counted. Counts of 0 are left out. */
export function usageOfMetadata(metadata: unknown, serverTools: ServerTools): CallUsage | undefined {
  const usage = fieldsOf(metadata);
  if (!isCount(usage.promptTokenCount)) {
    return undefined;
  }
  // What tools return is input in addition to the prompt; thoughts are output in addition to the candidates.
  const inputTokens = countOf(usage.promptTokenCount) + countOf(usage.toolUsePromptTokenCount);
  const thoughts = countOf(usage.thoughtsTokenCount);
  const answered = countOf(usage.candidatesTokenCount);
  const cachedAudio = tokensIn(usage.cacheTokensDetails, 'AUDIO');
  const cachedInputTokens = Math.max(0, countOf(usage.cachedContentTokenCount) - cachedAudio);
  const cachedImages = Math.min(tokensIn(usage.cacheTokensDetails, 'IMAGE'), cachedInputTokens);
  const audioInputTokens =
    tokensIn(usage.promptTokensDetails, 'AUDIO') + tokensIn(usage.toolUsePromptTokensDetails, 'AUDIO');
  const images =
    tokensIn(usage.promptTokensDetails, 'IMAGE') + tokensIn(usage.toolUsePromptTokensDetails, 'IMAGE');
  return {
    ...noUsage,
    inputTokens,
    // Cached audio costs more than other cached input, and prices have no rate for it, so it counts as not cached.
    cachedInputTokens,
    cachedImageInputTokens: cachedImages,
    outputTokens: Math.max(answered + thoughts, countOf(usage.totalTokenCount) - inputTokens),
    reasoningTokens: thoughts,
    audioInputTokens,
    // Only models that create images or embeddings have a rate of their own for them.
    imageInputTokens: Math.max(
      0,
      Math.min(images - cachedImages, inputTokens - cachedInputTokens - audioInputTokens),
    ),
    audioOutputTokens: tokensIn(usage.candidatesTokensDetails, 'AUDIO'),
    serverTools,
    serviceTier: tierOf(usage),
  };
}

/** Vertex AI reports the type of the traffic, which selects the rates there. Its own names of tiers are those of the Gemini API with a prefix. */
function tierOf({ serviceTier, trafficType }: Fields): string | null {
  const tier = typeof serviceTier === 'string' ? serviceTier : trafficType;
  return typeof tier === 'string' ? tier.toLowerCase().replace(/^on_demand_/, '') : null;
}

function tokensIn(details: unknown, kind: 'AUDIO' | 'IMAGE'): number {
  return (Array.isArray(details) ? details : [])
    .map(fieldsOf)
    .filter(({ modality }) => modality === kind)
    .reduce((sum, { tokenCount }) => sum + countOf(tokenCount), 0);
}
