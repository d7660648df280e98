/** Usage that the Gemini API has reported, from recordings and documentation of public projects. */
import { expect, test } from 'vitest';
import { geminiUsage } from './usage.ts';

const text = (tokenCount: number) => [{ modality: 'TEXT', tokenCount }];

test.each<[string, object, object]>([
  [
    'an answer without thoughts, in the usual tier',
    {
      promptTokenCount: 844,
      candidatesTokenCount: 278,
      totalTokenCount: 1_122,
      promptTokensDetails: text(844),
      serviceTier: 'standard',
    },
    { inputTokens: 844, outputTokens: 278, reasoningTokens: 0, serviceTier: 'standard' },
  ],
  [
    'an answer whose maximum the thoughts have used up',
    {
      promptTokenCount: 844,
      candidatesTokenCount: 46,
      totalTokenCount: 2_040,
      promptTokensDetails: text(844),
      thoughtsTokenCount: 1_150,
      serviceTier: 'standard',
    },
    { inputTokens: 844, outputTokens: 1_196, reasoningTokens: 1_150, audioInputTokens: 0 },
  ],
  [
    'an answer with thoughts and no tier',
    {
      promptTokenCount: 34,
      candidatesTokenCount: 418,
      totalTokenCount: 890,
      promptTokensDetails: text(34),
      thoughtsTokenCount: 438,
    },
    { inputTokens: 34, outputTokens: 856, reasoningTokens: 438, serviceTier: null },
  ],
  [
    'images, of which some are cached',
    {
      promptTokenCount: 900,
      promptTokensDetails: [
        { modality: 'TEXT', tokenCount: 100 },
        { modality: 'AUDIO', tokenCount: 26 },
        { modality: 'IMAGE', tokenCount: 774 },
      ],
      cachedContentTokenCount: 358,
      cacheTokensDetails: [
        { modality: 'TEXT', tokenCount: 100 },
        { modality: 'IMAGE', tokenCount: 258 },
      ],
      totalTokenCount: 900,
    },
    {
      inputTokens: 900,
      cachedInputTokens: 358,
      cachedImageInputTokens: 258,
      audioInputTokens: 26,
      imageInputTokens: 516,
    },
  ],
])('%s', (_, usageMetadata, expected) => {
  expect(geminiUsage({ usageMetadata })).toMatchObject(expected);
});
