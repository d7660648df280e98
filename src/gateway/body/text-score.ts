/**
 * A fast stand-in for a tokenizer: a score that grows with the number of tokens of a text, from its characters alone. Families of
 * models differ by a factor, which is learned (`token-ratios.ts`). The weights were chosen against the counts of o200k for
 * prose in twelve languages, code, JSON, random text and emoji.
 */
export interface TextScore {
  /** Bytes in UTF-8. No tokenizer makes more tokens than bytes. */
  readonly bytes: number;
  readonly score: number;
}

const lower = 0;
const upper = 1;
const digit = 2;
const space = 3;
const other = 4;

const classes = Uint8Array.from({ length: 128 }, (_, code) => {
  if (code >= 97 && code <= 122) {
    return lower;
  }
  if (code >= 65 && code <= 90) {
    return upper;
  }
  if (code >= 48 && code <= 57) {
    return digit;
  }
  return code === 32 ? space : other;
});

const weights = [0.25, 0.45, 0.45, 0.2, 0.75];
/** A change of case, or between letters and digits: words of random characters have many, and need many tokens. */
const changeWeight = 0.5;
/** Letters of a word beyond this length: long words are often names or compounds, which need more tokens. */
const longWord = 10;
const longWordWeight = 0.15;

const latinWeight = 0.9;
const twoByteWeight = 0.5;
const indicWeight = 0.6;
const eastAsianWeight = 1.1;
const rareThreeByteWeight = 2.4;
const emojiWeight = 2.4;
const rareFourByteWeight = 4;

export function textScore(text: string): TextScore {
  let bytes = 0;
  let score = 0;
  let before = other;
  let wordLength = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code < 0x80) {
      bytes += 1;
      const kind = classes[code] as number;
      score += weights[kind] as number;
      if (kind > digit) {
        wordLength = 0;
      } else {
        wordLength += 1;
        // A capitalized word is one word.
        const isChange = kind !== before && before <= digit && wordLength > 1;
        if (isChange && !(before === upper && kind === lower && wordLength === 2)) {
          score += changeWeight;
        }
        if (wordLength > longWord) {
          score += longWordWeight;
        }
      }
      before = kind;
      continue;
    }
    before = other;
    wordLength = 0;
    if (code < 0x800) {
      bytes += 2;
      score += code < 0x250 ? latinWeight : twoByteWeight;
    } else if (code >= 0xd800 && code <= 0xdbff && at + 1 < text.length) {
      bytes += 4;
      score += code === 0xd83c || code === 0xd83d || code === 0xd83e ? emojiWeight : rareFourByteWeight;
      at += 1;
    } else {
      bytes += 3;
      score += threeByteWeight(code);
    }
  }
  return { bytes, score };
}

function threeByteWeight(code: number): number {
  if (code >= 0x900 && code < 0xe80) {
    return indicWeight;
  }
  const isEastAsian = (code >= 0x3000 && code < 0xa000) || (code >= 0xac00 && code < 0xd7b0);
  const isPunctuation = code >= 0x2000 && code < 0x2070;
  return isEastAsian || isPunctuation ? eastAsianWeight : rareThreeByteWeight;
}
