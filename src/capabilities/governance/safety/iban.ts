/** Finds international bank account numbers with the length of their country and a valid checksum. */
import { scan, type TextMatch } from './scanning.ts';

/** Length of account numbers by country, from the SWIFT registry. */
const lengths = new Map(
  (
    'AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BI27 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DJ27 DK18 DO28 EE20 EG29 ES24 ' +
    'FI18 FK18 FO18 FR27 GB22 GE22 GI23 GL18 GR27 GT28 HN28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20 LB28 LC32 ' +
    'LI21 LT20 LU20 LV21 LY25 MC27 MD24 ME22 MK19 MN20 MR27 MT31 MU30 NI28 NL18 NO15 OM23 PK24 PL28 PS29 PT25 QA29 RO24 ' +
    'RS22 RU33 SA24 SC31 SD18 SE24 SI19 SK24 SM27 SO23 ST25 SV28 TL23 TN24 TR26 UA29 VA22 VG24 XK20 YE30'
  )
    .split(' ')
    .map((entry) => [entry.slice(0, 2), Number(entry.slice(2))] as const),
);

/** Matches groups of four, or no groups, so that following words do not become part of the number. */
const grouped = /^(?:[A-Za-z0-9]+|(?:[A-Za-z0-9]{4}[ -])+[A-Za-z0-9]{1,4})$/;
/** Matches a possible number. It is long enough for the longest one with a separator after each character. */
const candidate = /(?<![\p{L}\p{N}])[A-Za-z]{2}\d{2}(?:[ -]?[A-Za-z0-9]){11,29}/gu;

export function* findIbans(content: string): Generator<TextMatch | null> {
  for (const found of scan(candidate, content, (text) => accountIn(text) !== undefined)) {
    if (found === null) {
      yield null;
      continue;
    }
    const length = accountIn(content.slice(found.start, found.end));
    const end = found.start + (length ?? 0);
    yield /[\p{L}\p{N}]/u.test(content.charAt(end)) ? null : { start: found.start, end };
  }
}

/** Returns the length of the account number at the start of a text that may continue after it. */
function accountIn(text: string): number | undefined {
  const wanted = lengths.get(text.slice(0, 2).toUpperCase());
  if (wanted === undefined) {
    return undefined;
  }
  let account = '';
  let at = 0;
  for (; at < text.length && account.length < wanted; at += 1) {
    const character = text.charAt(at);
    if (character !== ' ' && character !== '-') {
      account += character.toUpperCase();
    }
  }
  const isWhole = account.length === wanted && grouped.test(text.slice(0, at));
  return isWhole && remainderOf97(account) === 1 ? at : undefined;
}

/** Returns the remainder for the ISO 7064 checksum: letters count as 10 to 35, and the first four characters are moved to the end. */
export function remainderOf97(account: string): number {
  let rest = 0;
  for (const character of account.slice(4) + account.slice(0, 4)) {
    const value = Number.parseInt(character, 36);
    rest = (rest * (value > 9 ? 100 : 10) + value) % 97;
  }
  return rest;
}
