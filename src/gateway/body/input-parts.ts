/** The parts of a request that become input tokens. Texts are scored by the vocabulary, and the sizes of images are read. */

import type { CallFormat } from '../../kernel/providers/call-format.ts';
import {
  type InputParts,
  type InputReaders,
  inputPartsOf as partsOf,
  type TextScore,
} from '../../kernel/providers/estimate-input.ts';
import type { Fields } from '../../kernel/providers/fields.ts';
import type { AmbiguousMember } from '../../kernel/providers/input-tally.ts';
import { GatewayError } from '../errors/gateway-error.ts';
import { sizeOfBase64 } from './image-size.ts';
import { normalizedBytes } from './normalized-bytes.ts';
import { cachedTextScore } from './score-cache.ts';
import { scoredTextsOf } from './scored-texts.ts';
import { textScore } from './text-score.ts';

export interface RequestBody {
  readonly format: CallFormat;
  readonly body: Fields;
}

/** Scores of field names. Bounded, because clients choose the names in schemas. */
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

/**
 * Returns the input parts. Throws if parsers disagree about a member, because the provider may then read another request. With
 * `normalized`, texts have the byte count of a tokenizer that normalizes its input.
 */
export function inputPartsOf(
  { format, body }: RequestBody,
  model: string,
  bytes: 'written' | 'normalized' = 'written',
): InputParts {
  const scored = scoredTextsOf(body);
  const written =
    scored === undefined ? readers : { ...readers, scoreOfText: (text: string) => scored.scoreOf(text) };
  const parts = partsOf(format, body, model, bytes === 'written' ? written : normalized(written));
  const { ambiguous } = parts;
  if (ambiguous !== undefined) {
    throw new GatewayError(400, 'invalid_value', messageOf(ambiguous), { field: ambiguous.path });
  }
  return parts;
}

function normalized(written: InputReaders): InputReaders {
  return {
    ...written,
    scoreOfText: (text) => withNormalizedBytes(text, written.scoreOfText(text)),
    scoreOfName: (name) => withNormalizedBytes(name, written.scoreOfName(name)),
  };
}

function withNormalizedBytes(text: string, score: TextScore): TextScore {
  const isAscii = score.bytes === text.length;
  return isAscii ? score : { ...score, bytes: Math.max(score.bytes, normalizedBytes(text)) };
}

function messageOf({ path, known }: AmbiguousMember): string {
  return known === undefined
    ? `\`${path}\` is not a member that the gateway can limit. Limits of the output belong into the body itself.`
    : `Some providers read \`${path}\` as \`${known}\`. Spell the name as documented, or leave it out.`;
}
