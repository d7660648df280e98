/** The parts of a request that become input tokens, with texts scored by the vocabulary and the sizes of images read. */

import {
  type InputParts,
  type InputReaders,
  inputPartsOf as partsOf,
  type TextScore,
} from '../../kernel/providers/estimate-input.ts';
import type { Fields } from '../../kernel/providers/fields.ts';
import { sizeOfBase64 } from './image-size.ts';
import { cachedTextScore } from './score-cache.ts';
import { textScore } from './text-score.ts';

/** Scores of names of fields. Bounded, because clients choose the names in schemas. */
const nameScores = new Map<string, TextScore>();
const nameScoresMax = 2_000;

function nameScore(name: string): TextScore {
  const known = nameScores.get(name);
  if (known !== undefined) {
    return known;
  }
  const score = textScore(name);
  if (nameScores.size < nameScoresMax && name.length <= 40) {
    nameScores.set(name, score);
  }
  return score;
}

const readers: InputReaders = {
  scoreOfText: cachedTextScore,
  scoreOfName: nameScore,
  sizeOfImage: sizeOfBase64,
};

export function inputPartsOf(body: Fields, model: string): InputParts {
  return partsOf(body, model, readers);
}
