/** Tokens as a provider counts them: texts by the tokenizer of the model, images by the formulas that providers publish. */
import { countTokens as countCl100k } from 'gpt-tokenizer/encoding/cl100k_base';
import { o200kTokens } from '../support/o200k.ts';

export type Tokenizer = 'o200k' | 'cl100k';

const counters: Readonly<Record<Tokenizer, (text: string) => number>> = {
  o200k: o200kTokens,
  cl100k: (text) => countCl100k(text, { disallowedSpecial: new Set() }),
};

/** The tokenizers take a time that grows with the square of a word's length, and mutations repeat texts. */
const counts = new Map<string, number>();
const countsMax = 20_000;

export function tokensOf(tokenizer: Tokenizer, text: string): number {
  const id = `${tokenizer} ${text}`;
  const known = counts.get(id);
  if (known !== undefined) {
    return known;
  }
  const count = counters[tokenizer](text);
  if (counts.size >= countsMax) {
    counts.clear();
  }
  counts.set(id, count);
  return count;
}

export interface Size {
  readonly width: number;
  readonly height: number;
}

/** Returns the size of a PNG; undefined for other bytes, which the provider rejects as no image. */
export function sizeOfPng(bytes: Buffer): Size | undefined {
  return bytes.length >= 24 && bytes.toString('latin1', 1, 4) === 'PNG'
    ? { width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) }
    : undefined;
}

/** GPT-4o: 85 tokens, and 170 for each tile of 512 pixels after scaling. An image at a URL may be of any size. */
export function tokensOfTiles(size: Size | undefined, isLow: boolean): number {
  if (isLow) {
    return 85;
  }
  if (size === undefined) {
    return 85 + 8 * 170;
  }
  const inBox = Math.min(1, 2_048 / Math.max(size.width, size.height));
  const scale = inBox * Math.min(1, 768 / (Math.min(size.width, size.height) * inBox));
  const tiles = (pixels: number) => Math.ceil(Math.round(pixels * scale) / 512);
  return 85 + tiles(size.width) * tiles(size.height) * 170;
}

/** Gemini: 258 tokens for each tile of 768 pixels; small images are one tile. */
export function tokensOfGeminiTiles(size: Size): number {
  const isSmall = Math.max(size.width, size.height) <= 384;
  return 258 * (isSmall ? 1 : Math.ceil(size.width / 768) * Math.ceil(size.height / 768));
}

/** Claude: a token for 750 pixels, at most 1,600. */
export function tokensOfPixels(size: Size | undefined): number {
  return size === undefined ? 1_600 : Math.min(1_600, Math.ceil((size.width * size.height) / 750));
}
