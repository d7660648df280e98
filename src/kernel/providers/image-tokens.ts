/** Tokens of images in a prompt, by the formulas that OpenAI, Anthropic and Google publish. An unknown size counts as the largest. */

export interface ImageSize {
  readonly width: number;
  readonly height: number;
}

export type ImageDetail = 'low' | 'high' | 'original';

interface TileRule {
  readonly base: number;
  readonly tile: number;
}

/** Models that count tiles of 512 pixels, by the start of their name; the first match applies. */
const tileRules: readonly (readonly [RegExp, TileRule])[] = [
  [/^gpt-4o-mini/, { base: 2_833, tile: 5_667 }],
  [/^(o1|o3)(?!-mini)/, { base: 75, tile: 150 }],
  [/^gpt-5(\.[01])?(?![.\d])(?!-mini|-nano)/, { base: 70, tile: 140 }],
  [/^(gpt-4o|gpt-4\.1(?!-mini|-nano)|gpt-4\.5|gpt-4-turbo|gpt-4-vision)/, { base: 85, tile: 170 }],
  [/^computer-use/, { base: 65, tile: 129 }],
];

interface PatchRule {
  readonly factor: number;
  /** Maximum number of patches; larger images are scaled down to it. */
  readonly patchesMax: number;
  /** The same for `detail: original`, if it differs. */
  readonly originalMax?: number;
}

/** Models that count patches of 32 pixels; the first match applies. */
const patchRules: readonly (readonly [RegExp, PatchRule])[] = [
  [/^(gpt-4\.1-mini|gpt-5(\.\d+)?-mini)/, { factor: 1.62, patchesMax: 1_536 }],
  [/^(gpt-4\.1-nano|gpt-5(\.\d+)?-nano)/, { factor: 2.46, patchesMax: 1_536 }],
  [/^o4-mini/, { factor: 1.72, patchesMax: 1_536 }],
  [/^gpt-5\.[23](?!\d)/, { factor: 1.2, patchesMax: 1_536, originalMax: 10_000 }],
  [/^gpt-5\.4(?!\d)/, { factor: 1.2, patchesMax: 2_500, originalMax: 10_000 }],
  [/^gpt-5\.5(?!\d)/, { factor: 1.2, patchesMax: 10_000 }],
  [/^gpt-5\.([6-9]|\d\d)/, { factor: 1.2, patchesMax: 30_000 }],
];

const tileSide = 512;
const tileBoxSide = 2_048;
const tileShortSide = 768;
/** The most tiles of an image that was scaled: 768 by 2,048 pixels. */
const tilesMax = 8;

/** Anthropic: a token for each 750 square pixels, after scaling to at most this many tokens. */
const anthropicPixelsPerToken = 750;
const anthropicTokensMax = 1_600;
/** Models from this version on accept larger images. */
const anthropicLargeImages = /^claude-(opus|sonnet|fable|mythos)-(4-[7-9]|[5-9])/;
const anthropicLargeTokensMax = 4_784;

/** Gemini counts tiles of 768 pixels, or of two thirds of the shorter side; small images are one tile. */
const geminiTile = { side: 768, tokens: 258, smallSide: 384 };
/** From version 3 on, an image has as many tokens as its resolution says: 2,240 at most. */
const geminiTokensMax = 2_240;
const isOldGemini = /^gemini-[12](?![0-9])/;

export function imageTokens(model: string, size: ImageSize | undefined, detail: ImageDetail): number {
  const name = model.slice(model.lastIndexOf('/') + 1).toLowerCase();
  if (name.startsWith('claude')) {
    const max = anthropicLargeImages.test(name) ? anthropicLargeTokensMax : anthropicTokensMax;
    return size === undefined
      ? max
      : Math.min(max, Math.ceil((size.width * size.height) / anthropicPixelsPerToken));
  }
  if (name.startsWith('gemini') && size !== undefined) {
    const tokens = geminiTile.tokens * geminiTilesOf(size);
    return isOldGemini.test(name) ? tokens : Math.max(tokens, geminiTokensMax);
  }
  const patchRule = patchRules.find(([pattern]) => pattern.test(name))?.[1];
  if (patchRule !== undefined) {
    return Math.ceil(patchesOf(patchRule, size, detail) * patchRule.factor);
  }
  const rule = tileRules.find(([pattern]) => pattern.test(name))?.[1] ?? { base: 2_833, tile: 5_667 };
  return detail === 'low' ? rule.base : rule.base + rule.tile * tilesOf(size);
}

function geminiTilesOf({ width, height }: ImageSize): number {
  if (Math.max(width, height) <= geminiTile.smallSide) {
    return 1;
  }
  const tilesOf = (side: number) => Math.ceil(width / side) * Math.ceil(height / side);
  return Math.max(tilesOf(geminiTile.side), tilesOf(Math.max(1, Math.floor(Math.min(width, height) / 1.5))));
}

function patchesOf(
  { patchesMax, originalMax = patchesMax }: PatchRule,
  size: ImageSize | undefined,
  detail: ImageDetail,
): number {
  const most = detail === 'original' ? originalMax : patchesMax;
  return size === undefined ? most : Math.min(most, Math.ceil(size.width / 32) * Math.ceil(size.height / 32));
}

/** Scales into a square of 2,048 pixels, then the shorter side to 768 pixels. */
function tilesOf(size: ImageSize | undefined): number {
  if (size === undefined || size.width === 0 || size.height === 0) {
    return tilesMax;
  }
  const boxed = Math.min(1, tileBoxSide / Math.max(size.width, size.height));
  const shorter = Math.min(size.width, size.height) * boxed;
  const scale = boxed * Math.min(1, tileShortSide / shorter);
  return (
    Math.ceil(Math.round(size.width * scale) / tileSide) *
    Math.ceil(Math.round(size.height * scale) / tileSide)
  );
}
