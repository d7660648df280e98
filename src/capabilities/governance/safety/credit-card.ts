/** Finds payment card numbers: in the range and length of a network, grouped as printed or not at all, with a valid check digit. */
import { scan, type TextMatch } from './scanning.ts';

/** Groups of 4-4-4-4 (optionally -3), 4-6-5 or 4-6-4, or no groups. */
const shaped =
  /(?<![\p{L}\p{N}_.-])(?:\d{4}([ -])\d{4}\1\d{4}\1\d{4}(?:\1\d{3})?|\d{4}([ -])\d{6}\2\d{4,5}|\d{13,19})(?![\p{L}\p{N}_]|[.-]\d)/gu;

const networks: readonly { readonly range: RegExp; readonly lengths: readonly number[] }[] = [
  { range: /^4/, lengths: [13, 16, 19] },
  { range: /^(?:5[1-5]|222[1-9]|22[3-9]|2[3-6]|27[01]|2720)/, lengths: [16] },
  { range: /^3[47]/, lengths: [15] },
  { range: /^(?:6011|65|64[4-9])/, lengths: [16, 19] },
  { range: /^(?:30[0-5]|36|38|39)/, lengths: [14, 16] },
  { range: /^35(?:2[89]|[3-8])/, lengths: [16, 19] },
  { range: /^62/, lengths: [16, 17, 18, 19] },
  { range: /^(?:5018|5020|5038|6304|6759|676[1-3])/, lengths: [13, 16, 18, 19] },
];

export function findCreditCards(content: string): Generator<TextMatch | null> {
  return scan(shaped, content, isCard);
}

function isCard(text: string): boolean {
  const digits = text.replaceAll(/[ -]/g, '');
  return (
    networks.some(({ range, lengths }) => lengths.includes(digits.length) && range.test(digits)) &&
    new Set(digits).size > 1 &&
    passesLuhn(digits)
  );
}

export function passesLuhn(digits: string): boolean {
  let sum = 0;
  for (let i = 0; i < digits.length; i += 1) {
    const digit = digits.charCodeAt(digits.length - 1 - i) - 48;
    const doubled = digit * 2;
    sum += i % 2 === 0 ? digit : doubled > 9 ? doubled - 9 : doubled;
  }
  return sum % 10 === 0;
}
