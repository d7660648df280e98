/** The output in a candidate: its parts, with media as the tokens that they can have at most. */
import { type Fields, fieldsOf } from '../fields.ts';

/** The largest image that a model generates has 2,520 tokens. */
const imageTokensMax = 2_600;
/** Fewer characters of base64 than any audio has per token: 32 tokens are a second. */
const charactersPerAudioToken = 100;

export interface CandidateOutput {
  readonly parts: readonly unknown[];
  /** Tokens of images and audio. */
  readonly mediaTokens: number;
}

export function outputOf({ content }: Fields): CandidateOutput {
  const { parts: given } = fieldsOf(content);
  const parts: unknown[] = [];
  let mediaTokens = 0;
  for (const part of Array.isArray(given) ? given : [content]) {
    // A signature is encrypted reasoning, whose tokens are those of the thoughts.
    const { inlineData, thoughtSignature: _, ...others } = fieldsOf(part);
    parts.push(others);
    mediaTokens += inlineData === undefined ? 0 : tokensOfMedia(fieldsOf(inlineData));
  }
  return { parts, mediaTokens };
}

function tokensOfMedia({ mimeType, data }: Fields): number {
  const length = typeof data === 'string' ? data.length : 0;
  const audio = Math.ceil(length / charactersPerAudioToken);
  return String(mimeType).startsWith('image/') ? Math.min(imageTokensMax, length) : audio;
}
