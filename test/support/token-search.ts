/** Searches for texts with more tokens than an estimate, by mutation, and for strings with the hash of a string of the vocabulary. */
import { type Random, randomOf } from '../../src/demo/random.ts';
import { hashPowers, hashStep } from '../../src/gateway/body/vocabulary-format.ts';
import { hostileTexts, ordinaryTexts } from './estimate-texts.ts';
import { vocabularyStrings } from './o200k.ts';

/** Texts that the rules of the tokenizer treat in a special way, or whose class depends on the version of Unicode. */
const seams = [
  ...[
    "'s",
    "'S",
    "'ll",
    "'VE",
    "'re",
    "'\u017f",
    "''t",
    "'",
    'dog',
    'DOG',
    'Dog',
    'dOG',
    '字',
    '字A',
    'Aa字',
    'ǅ',
    'ʰ',
    'ª',
  ],
  ...[
    '\u0301',
    'e\u0301',
    ' \u0301',
    '\u200d',
    '\ufe0f',
    '🏽',
    '👩🏽‍💻',
    '🇩🇪',
    '\u{e0067}',
    '\u{e0100}',
    '\u{10ffff}',
    '\u{f0000}',
  ],
  ...[
    ' ',
    '  ',
    '   ',
    '\n',
    '\r\n',
    '\t',
    '\u00a0',
    '\u3000',
    '\u0085',
    '\ufeff',
    '\u2028',
    '\v',
    ' \n',
    '\n ',
  ],
  ...[
    '1',
    '12',
    '123',
    '1234',
    '١٢٣',
    '½',
    'Ⅻ',
    '-',
    '--',
    '/',
    '//',
    '!\n/',
    '...',
    '="',
    '\\u0041',
    '\\n',
    '%20',
    '\0',
  ],
  ...[
    '\u0295',
    '\u0870',
    '\u{1e900}',
    '\u{10570}',
    '\u{2ebf0}',
    '\u{323b0}',
    '\ua7cb',
    '\u0378',
    '\u{40000}',
    '\ud800',
    '\udc00',
  ],
  ...['ᏸ', 'Ა', 'ა', '\u0e33', '\u0f77', '\uac00', '\u1100', '\uff21', '\u{1d400}', '\u{20000}', '\u{1f9ff}'],
];

const lengthMax = 600;
const strings = vocabularyStrings().map((text) => text.toString());

function pieceOf(random: Random): string {
  const makers = [
    () => random.pick(seams),
    () => random.pick(strings),
    () => random.pick(strings).slice(0, Math.ceil(random.between(0, 6))),
    () =>
      String.fromCodePoint(
        Math.floor(random.between(0, random.pick([0x80, 0x800, 0x3000, 0x10000, 0x110000]))),
      ),
    () => random.pick(seams).repeat(Math.ceil(random.between(1, 40))),
    () => random.pick(strings).repeat(Math.ceil(random.between(1, 12))),
  ];
  return random.pick(makers)();
}

function mutated(text: string, random: Random): string {
  const at = Math.floor(random.between(0, text.length + 1));
  const end = Math.min(text.length, at + Math.floor(random.between(0, 12)));
  const other = Math.floor(random.between(0, text.length + 1));
  const forms = [
    () => text.slice(0, at) + pieceOf(random) + text.slice(at),
    () => text.slice(0, at) + pieceOf(random) + text.slice(end),
    () => text.slice(0, at) + text.slice(end),
    () => text.slice(0, at) + text.slice(at, end).repeat(2) + text.slice(end),
    () => text.slice(0, other) + text.slice(at, end) + text.slice(other),
  ];
  return random.pick(forms)().slice(0, lengthMax);
}

/** Texts from which the search starts. */
export function startTexts(seed: number): string[] {
  const random = randomOf(seed);
  return [
    ...hostileTexts(seed, 33).map(({ text }) => text.slice(0, 60)),
    ...ordinaryTexts(seed, 20).map(({ text }) => text.slice(0, 60)),
    ...Array.from({ length: 60 }, () => pieceOf(random) + pieceOf(random)),
  ];
}

export interface Tried {
  readonly text: string;
  readonly estimate: number;
  readonly tokens: number;
}

/** Changes texts to raise the tokens per estimated token. Returns every text that it has tried. */
export function* climb(
  seed: number,
  steps: number,
  estimateOf: (text: string) => number,
  tokensOf: (text: string) => number,
): Generator<Tried> {
  const random = randomOf(seed);
  const best = startTexts(seed).map((text) => ({ text, ratio: 0 }));
  for (let step = 0; step < steps; step += 1) {
    const current = random.pick(best);
    const text = mutated(current.text, random);
    const tried = { text, estimate: estimateOf(text), tokens: tokensOf(text) };
    yield tried;
    const ratio = tried.tokens / Math.max(1, tried.estimate);
    // Equal ones are kept too, so that the search leaves plateaus.
    if (ratio >= current.ratio) {
      current.text = text;
      current.ratio = ratio;
    }
  }
}

const triedHalves = 2 ** 17;

/** Returns words of small letters that have the length and the hash of the string, and are other words. */
export function wordsWithHashOf(target: Buffer, seed: number): string[] {
  const random = randomOf(seed);
  const half = target.length >> 1;
  const wanted = target.reduce((hash, byte) => hashStep(hash, byte), 0);
  const halfOf = (length: number) =>
    Buffer.from(Array.from({ length }, () => 0x61 + Math.floor(random.fraction() * 26)));
  const hashOf = (bytes: Buffer) => bytes.reduce((hash, byte) => hashStep(hash, byte), 0);
  const seconds = new Map<number, Buffer>();
  for (let tried = 0; tried < triedHalves; tried += 1) {
    const second = halfOf(target.length - half);
    seconds.set(hashOf(second), second);
  }
  const found: string[] = [];
  for (let tried = 0; tried < triedHalves; tried += 1) {
    // A blank and small letters, as the target.
    const first = Buffer.concat([target.subarray(0, 1), halfOf(half - 1)]);
    const power = hashPowers[target.length - half] as number;
    const second = seconds.get((wanted - Math.imul(hashOf(first), power)) | 0);
    if (second !== undefined) {
      found.push(Buffer.concat([first, second]).toString());
    }
  }
  return found;
}
