/** Other spellings of a name that some parser takes for the same name, or a reader for it. */
import type { Random } from '../../src/demo/random.ts';

const homoglyphs: Readonly<Record<string, string>> = {
  a: '\u0430',
  e: '\u0435',
  o: '\u043e',
  p: '\u0440',
  c: '\u0441',
};

const variants: readonly ((name: string, random: Random) => string)[] = [
  (name) => name.toUpperCase(),
  (name) => name.slice(0, 1).toUpperCase() + name.slice(1),
  (name, random) => at(name, random, (letter) => letter.toUpperCase()),
  (name) => name.replaceAll('k', '\u212a').replaceAll('s', '\u017f'),
  (name) => Array.from(name, fullWidth).join(''),
  (name, random) => at(name, random, fullWidth),
  (name, random) => at(name, random, (letter) => `${letter}\u200b`),
  (name, random) => at(name, random, (letter) => `${letter}\u00ad`),
  (name, random) => at(name, random, (letter) => homoglyphs[letter] ?? letter),
  (name) => `${name} `,
  (name) => ` ${name}`,
  (name) => `\ufeff${name}`,
  (name) => `${name}\u0000`,
  (name) => name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()),
  (name) => name.replaceAll('_', '-'),
  (name) => name.replaceAll('_', ''),
  (name) => name.replaceAll('_', ' '),
  (name) => `_${name}`,
  (name) => name.replaceAll('_', '\uff3f'),
];

/** Returns the name itself for a variant that has nothing to change in it. */
export function variantOf(name: string, random: Random): string {
  return random.pick(variants)(name, random);
}

function at(name: string, random: Random, change: (letter: string) => string): string {
  const index = Math.floor(random.between(0, name.length));
  return name.slice(0, index) + change(name.charAt(index)) + name.slice(index + 1);
}

function fullWidth(letter: string): string {
  return letter > ' ' && letter <= '~' ? String.fromCharCode(letter.charCodeAt(0) + 0xfee0) : letter;
}
