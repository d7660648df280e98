/**
 * Scores of the texts in a large body. They are computed in slices before the call is planned, because planning reads them without
 * a pause.
 */
import { randomInt } from 'node:crypto';
import type { TextScore } from '../../kernel/providers/estimate-input.ts';
import type { Fields } from '../../kernel/providers/fields.ts';
import type { Sliced } from '../../platform/sliced-work.ts';
import { cachedTextScore, slicedTextScore } from './score-cache.ts';

/** Minimum size of bodies that are scored in slices. */
export const slicedBytesMin = 16_384;
/** Maximum length of strings that are hashed. Longer ones are compared with strings of the same length. */
const hashedLengthMax = 16_000;
/** Positions at which long texts are compared first. They are random, so that a client cannot construct texts that agree there. */
const samples = Array.from({ length: 16 }, () => randomInt(2 ** 40) / 2 ** 40);
const sameSamplesMax = 8;
/** Maximum number of characters to score while planning, in texts that planning composes itself, such as the JSON of a list. */
const unexpectedMax = 65_536;
/** Number of values that are visited between two pauses. */
const valuesPerStep = 500;

const scoredTexts = new WeakMap<Fields, ScoredTexts>();

/** Returns the scores of a body; undefined for a small one. */
export function scoredTextsOf(body: Fields): ScoredTexts | undefined {
  return scoredTexts.get(body);
}

export class ScoredTexts {
  readonly #short = new Map<string, TextScore>();
  readonly #long = new Map<string, { readonly text: string; readonly score: TextScore }[]>();
  #unexpected = 0;

  has(text: string): boolean {
    return this.#find(text) !== undefined;
  }

  add(text: string, score: TextScore): void {
    if (text.length <= hashedLengthMax) {
      this.#short.set(text, score);
      return;
    }
    const key = keyOf(text);
    const same = this.#long.get(key) ?? [];
    if (same.length < sameSamplesMax) {
      this.#long.set(key, [...same, { text, score }]);
    }
  }

  scoreOf(text: string): TextScore {
    const found = this.#find(text);
    if (found !== undefined) {
      return found;
    }
    this.#unexpected += text.length;
    return this.#unexpected <= unexpectedMax ? cachedTextScore(text) : unread(text);
  }

  #find(text: string): TextScore | undefined {
    return text.length <= hashedLengthMax
      ? this.#short.get(text)
      : this.#long.get(keyOf(text))?.find((one) => one.text === text)?.score;
  }
}

/** Returns the score of a text that was not scored. No tokenizer makes more tokens than bytes. */
function unread(text: string): TextScore {
  const bytes = Buffer.byteLength(text);
  return { bytes, score: bytes, floor: bytes };
}

function keyOf(text: string): string {
  let key = `${text.length}`;
  for (const sample of samples) {
    key += text[Math.floor(sample * text.length)];
  }
  return key;
}

/** Fields whose object is scored as one text, in the form of JSON. */
const jsonFields = new Set(['input_schema', 'parameters', 'schema', 'arguments', 'input']);

export function* scoreTexts(body: Fields): Sliced<void> {
  const scored = new ScoredTexts();
  const open: unknown[] = [body];
  let values = 0;
  const texts: string[] = [];
  while (open.length > 0) {
    const value = open.pop();
    if (typeof value === 'string') {
      texts.push(value);
    } else if (Array.isArray(value)) {
      for (const item of value) {
        open.push(item);
      }
    } else if (typeof value === 'object' && value !== null) {
      for (const [name, inner] of Object.entries(value)) {
        open.push(inner);
        if (typeof inner === 'object' && inner !== null && jsonFields.has(name) && !Array.isArray(inner)) {
          texts.push(JSON.stringify(inner));
          yield;
        }
      }
    }
    for (let text = texts.pop(); text !== undefined; text = texts.pop()) {
      if (!scored.has(text)) {
        scored.add(text, yield* slicedTextScore(text));
        values += text.length >> 5;
      }
    }
    values += 1;
    if (values >= valuesPerStep) {
      values = 0;
      yield;
    }
  }
  scoredTexts.set(body, scored);
}
