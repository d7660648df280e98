/**
 * Estimates the input tokens of a request before it is sent. Like the gateway, but without a vocabulary, whose file is larger than this
 * package: words count by their length, so that prose counts about one and a half times its tokens. Sizes of images are not read: each
 * counts as the largest.
 */

import type { CallFormat } from '../../../src/kernel/providers/call-format.ts';
import {
  estimatedInputTokens,
  type InputReaders,
  inputPartsOf,
  type TextScore,
} from '../../../src/kernel/providers/estimate-input.ts';
import type { Fields } from '../../../src/kernel/providers/fields.ts';
import { familyOf } from '../../../src/kernel/providers/model-family.ts';

/** Assumed for content that the request only refers to: the context of common models. */
export const defaultUnseenTokens = 200_000;

/** Tokens per point of the score: those of o200k, and of tokenizers that make more. */
const ratioOfO200k = 1.2;
const ratioOfOthers = 2;

/** Letters of a known word that are one token, and of a long one, which is rarely known. */
const lettersPerToken = 4;
const longWord = 12;
const lettersPerTokenOfLong = 2;

const readers: InputReaders = { scoreOfText, scoreOfName: scoreOfText, sizeOfImage: () => undefined };

export function estimateInput(format: CallFormat, body: Fields, model: string, unseenTokens: number): number {
  return estimatedInputTokens(inputPartsOf(format, body, model, readers), {
    ratio: familyOf(model) === 'o200k' ? ratioOfO200k : ratioOfOthers,
    unseenTokens,
    contextTokens: undefined,
    isContextEnforced: false,
    hasTools: Array.isArray(body.tools) || Array.isArray(body.functions),
  });
}

/** Bytes of a text in UTF-8. No tokenizer makes more tokens of it. */
export function utf8Length(text: string): number {
  let bytes = text.length;
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    if (unit >= 0x80) {
      // Each half of a surrogate pair has two of its four bytes.
      bytes += unit < 0x800 || (unit >= 0xd800 && unit < 0xe000) ? 1 : 2;
    }
  }
  return bytes;
}

const isLower = (unit: number) => unit >= 0x61 && unit <= 0x7a;
const isUpper = (unit: number) => unit >= 0x41 && unit <= 0x5a;
const isDigit = (unit: number) => unit >= 0x30 && unit <= 0x39;
const space = 0x20;

const isLetter = (unit: number) => isLower(unit) || isUpper(unit);

/**
 * A single space belongs to the word after it; every other character that is not a letter is a token of its own, except that two digits
 * of a number are one. A word that follows another one or a digit without a space is rarely a known one, above all in random text.
 */
export function scoreOfText(text: string): TextScore {
  let score = 0;
  let word = 0;
  let isGlued = false;
  let before = 0;
  const endWord = () => {
    const perToken = isGlued || word > longWord ? lettersPerTokenOfLong : lettersPerToken;
    score += Math.ceil(word / perToken);
    word = 0;
  };
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    if (!isLower(unit) && !(isUpper(unit) && isUpper(before))) {
      endWord();
    }
    if (isLetter(unit)) {
      isGlued = word === 0 ? isLetter(before) || isDigit(before) : isGlued;
      word += 1;
    } else if (isDigit(unit)) {
      score += isDigit(before) ? 0.5 : 1;
    } else {
      score += unit === space && before !== space ? 0 : 1;
    }
    before = unit;
  }
  endWord();
  return { bytes: utf8Length(text), score: Math.ceil(score), floor: 0 };
}
