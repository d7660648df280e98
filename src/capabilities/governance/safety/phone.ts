/**
 * Finds telephone numbers: international ones, North American ones in their usual form, and national ones with a leading zero.
 * Seven to fourteen other digits can be anything, so they only count after a word such as "phone".
 */
import { scan, type TextMatch } from './scanning.ts';

const start = String.raw`(?<![\p{L}\p{N}_./#$€£-]|\d[ ,:])`;
const end = String.raw`(?![\p{L}\p{N}_%]|[-.,:/]\d| ?(?:USD|EUR|GBP|kg|km|ms|px)\b)`;
const separator = String.raw`[ .\-/\u00a0\u2011]`;

const international = String.raw`(?:\+|(?<!\d)00)[1-9]\d{0,2}(?:${separator}{0,2}\(?\d{1,4}\)?){2,7}`;
const northAmerican = String.raw`(?:1${separator})?(?:\([2-9]\d\d\) ?|[2-9]\d\d[-.])[2-9]\d\d[-. ]\d{4}(?: ?(?:x|ext\.?) ?\d{1,5})?`;
const national = String.raw`\(?0[1-9]\d{0,4}\)?(?:${separator}\d{2,8}){1,4}`;
const written = new RegExp(`${start}(?:${international}|${northAmerican}|${national})${end}`, 'gu');

const word = `(?:tel(?:e(?:ph|f)on[eo]?)?|phone|mobile|mob|cell|call|fax|whatsapp|sms|text|handy|rufnummer|t[ée]l[ée]phone|m[óo]vil|☎|📞)`;
const announced = new RegExp(
  String.raw`(?<![\p{L}])${word}(?:'s| me| us| him| her| them| at| on| is| no\.?| number| nummer| nr\.?){0,3}[ .:#=]{1,3}(?:\+?\d|\(\d)(?:[ .()\-/]{0,2}\d){6,13}${end}`,
  'giu',
);

export function* findPhones(content: string): Generator<TextMatch | null> {
  yield* scan(written, content, isPlausible);
  // Skips numbers that the first pattern has found already.
  yield* scan(announced, content, (text) => !alreadyWritten(text) && digitsOf(text).length >= 7);
}

function alreadyWritten(text: string): boolean {
  const number = text.slice(text.search(/[+\d(]/));
  for (const found of scan(new RegExp(written, 'gu'), number, isPlausible)) {
    if (found !== null) {
      return true;
    }
  }
  return false;
}

function digitsOf(text: string): string {
  return text.replaceAll(/\D/g, '');
}

function isPlausible(text: string): boolean {
  const digits = digitsOf(text.replace(/ ?(?:x|ext).*/, ''));
  const isNational = text.startsWith('0') && !text.startsWith('00');
  const isBracketed = text.startsWith('(0');
  const [least, most] = isNational || isBracketed ? [9, 12] : [8, 15];
  return (
    digits.length >= least &&
    digits.length <= most + (text.startsWith('00') ? 2 : 0) &&
    new Set(digits).size > 2 &&
    !isDate(text) &&
    // Excludes IP addresses, which have three dots, and the groups of a social security number.
    !/^\d{1,3}(?:\.\d{1,3}){3}$|^\d{3}-\d{2}-\d{4}$/.test(text)
  );
}

/** Returns true for dates such as `01.02.2024`, `01/02/2024 10` and `04-05-06`. */
function isDate(text: string): boolean {
  return /^\(?0?\d{1,2}([./-])\d{1,2}\1(?:19|20)?\d\d(?![\d.])/.test(text);
}
