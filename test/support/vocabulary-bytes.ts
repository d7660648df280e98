/** Makes the file that `src/gateway/body/vocabulary.ts` reads. */
import {
  ambiguous,
  classifiedMax,
  firstSlotOf,
  hashStep,
  letter,
  lower,
  mark,
  newline,
  number,
  pairsLength,
  slotsLength,
  space,
  symbol,
  upper,
} from '../../src/gateway/body/vocabulary-format.ts';

/**
 * Letters, marks and numbers that are newer than Unicode 13, of 2020, and gaps between them. Then one that became a letter without case in Unicode
 * 16, and two that are white space for some engines only.
 */
const newCharacters = `870-89f 8b5 8c8-8d2 c3c c5c-c5d cdc-cdd cf3 ece 170d 1715-171f 180f 1ac1-1aeb 1b4c 1c89-1c8a 1dfa 2c2f 2c5f
  9ffd-9fff a7c0-a7c1 a7cb-a7f4 10570-105f3 10780-107ba 10940-10959 10d40-10d85 10ec2-10eff 10f70-10f85 11070-11075 110c2
  1123f-11241 11380-113e2 116d0-116e3 11740-11746 11ab0-11abf 11b60-11bf9 11db0-11de9 11f00-11f5a 12f90-12ff0 1342f
  13440-143fa 16100-16139 16a70-16ac9 16d40-16d79 16ea0-16ed3 16ff2-16ff6 187f8-187ff 18cff 18d09-1affe 1b11f-1b132 1b155
  1ccf0-1cf46 1d2c0-1d2d3 1df00-1df2a 1e030-1e08f 1e290-1e2ae 1e4d0-1e7fe 2a6de-2a6df 2b735-2b73f 2cea2-2cead 2ebf0-2ee5d
  31350-33479 295 85 feff`;

const classPatterns: readonly (readonly [number, RegExp])[] = [
  [upper, /^[\p{Lu}\p{Lt}]$/u],
  [lower, /^\p{Ll}$/u],
  [letter, /^[\p{Lm}\p{Lo}]$/u],
  [mark, /^\p{M}$/u],
  [number, /^\p{N}$/u],
  [newline, /^[\r\n]$/],
  [space, /^\s$/],
  // Not yet assigned: may become a letter.
  [ambiguous, /^(?!\p{Noncharacter_Code_Point})\p{Cn}$/u],
];

/** Returns the class of each character below 0x40000, by the version of Unicode of this process. */
export function characterClasses(): Uint8Array {
  const classes = Uint8Array.from({ length: classifiedMax }, (_, codePoint) => {
    const character = String.fromCodePoint(codePoint);
    return classPatterns.find(([, pattern]) => pattern.test(character))?.[0] ?? symbol;
  });
  for (const range of newCharacters.split(/\s+/)) {
    const [first = 0, last = first] = range.split('-').map((digits) => Number.parseInt(digits, 16));
    classes.fill(ambiguous, first, last + 1);
  }
  return classes;
}

export function vocabularyBytes(strings: readonly Buffer[], classes: Uint8Array): Buffer {
  const slots = new Uint32Array(slotsLength);
  const pairs = new Uint32Array(pairsLength);
  const parts: Buffer[] = [];
  // An offset of 0 means that there is no string.
  let offset = 0;
  for (const [rank, text] of strings.entries()) {
    parts.push(Buffer.from([halvesOfOthers(text, rank)]), text);
    offset += 1;
    let at = firstSlotOf(text.reduce(hashStep, 0));
    while (slots[at] !== 0) {
      at = (at + 1) % slotsLength;
    }
    slots[at] = offset * 0x100 + text.length;
    if (text.length === 2) {
      pairs[text.readUInt16BE(0)] = offset;
    }
    offset += text.length;
  }
  const runs: number[] = [];
  classes.forEach((kind, codePoint) => {
    if (kind !== classes[codePoint - 1]) {
      runs.push(codePoint * 0x100 + kind);
    }
  });
  const header = Uint32Array.of(runs.length, offset);
  const numbers = [header, slots, pairs, Uint32Array.from(runs)];
  return Buffer.concat([...numbers.map(({ buffer }) => new Uint8Array(buffer)), ...parts]);
}

/** Strings of lower ranks are frequent, so that other tokenizers know most of them too. */
const frequentRanks = 32_000;

/** Tokens per byte that other tokenizers make of the letters of a frequent string and of a rare one, by the script. */
const tokensPerByte: readonly (readonly [characters: RegExp, frequent: number, rare: number])[] = [
  [/^[\0-\x7f]*$/, 0.25, 0.5],
  [/^[\0-\x7f\p{Script=Latin}]*$/u, 0.3, 0.6],
  [/^[\0-\x7f\u0400-\u045f]*$/, 0.22, 0.36],
  [/^[\0-\x7f\p{Script=Hangul}]*$/u, 0.3, 0.5],
  [/^[\0-\x7f\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}、。，ー]*$/u, 0.34, 0.67],
  [/^[\0-\x7f\u0600-\u065f\u066a-\u06ef]*$/, 0.34, 0.6],
  [/^[\0-\x7f\p{Script=Devanagari}]*$/u, 0.34, 0.5],
  [/^[\0-\x7f\p{Script=Greek}\p{Script=Hebrew}\p{Script=Thai}]*$/u, 0.4, 0.67],
  [/^[\0-\x7f\p{Script=Bengali}\p{Script=Georgian}\p{Script=Tamil}\p{Extended_Pictographic}]*$/u, 0.75, 1],
];
/** Many tokenizers split these into their bytes. */
const otherScripts = [/^/, 1, 1] as const;
/** A string that has a part of a character. */
const partsOfCharacters = [/^/, 0.75, 1] as const;

/** Returns the half tokens that other tokenizers may make of a string, at least those of one token. Many make one of each digit and end of line. */
function halvesOfOthers(text: Buffer, rank: number): number {
  const characters = text.toString();
  const [, frequent, rare] = characters.includes('\ufffd')
    ? partsOfCharacters
    : (tokensPerByte.find(([script]) => script.test(characters)) ?? otherScripts);
  const perByte = rank < frequentRanks ? frequent : rare;
  const perSymbol = Math.max(0.5, perByte);
  let tokens = 0;
  for (const byte of text) {
    const character = String.fromCharCode(byte);
    tokens += /[\d\r\n]/.test(character)
      ? 1
      : byte < 0x80 && /[^a-zA-Z ]/.test(character)
        ? perSymbol
        : perByte;
  }
  return Math.min(255, Math.max(2, Math.round(2 * tokens)));
}
