/** Texts that are long enough to show in a bill, and texts that need more tokens than an estimate may expect. */
import type { Random } from '../../src/demo/random.ts';
import { hostileTexts, ordinaryTexts, specialTexts } from '../support/estimate-texts.ts';

/**
 * Words of 24 characters that are not in the vocabulary of o200k, and that a filter of 32-bit hashes took for members of it. They need 12 to 72
 * tokens.
 */
const forgedWords = [
  '䡠㡹䅑㫮㚠㯓㲳䕭㲆䐃㩦㢍䄺㸿䊅㞈㷠㾕䊵㧅䉝䊝䩀䣊',
  '㛻㽡䎬䔴䀕䩮䡶䉋㗬䋏䯒䜇䎀䭚䒒㰭㣏㒏㦋䮶㤀䊪㺧䭌',
  '㨅㝐㫉㠒㥐䑷䌶㟰㢄㛅䑖㵸㪃䋐䵁㮢䵍䟔䱐䄶㢌䭡㣮䮧',
  '㝀䓕㟿㬣㶸䨞䯇䔕䒏䳜㸠㨭㞚䘳䥴䔁㸎㾿㨶䈱䨲䔒㓇䖰',
  'yarwirlfugpjigazbcegyrkq',
  'ssvykjpyhmeqrcqaslbqdxiw',
  'dtjefjmivcdjrlaxgbatwilv',
  'szxttwbfcnprlaczfbbyrupv',
  ';=_`@_?_-~>.#$_^__+?$+*-',
  '$?~$-<*`?*~_&!~-!!@!$#-|',
  '|$*=;-$?`#>*@`=>?@-@+?@+',
];

const sentence = 'The ship left the harbour at noon, and nobody on the pier had seen its captain. ';

/** About 2,300 tokens. One text for all mutations, because counting tokens takes most of the time of a test. */
export const payload = sentence.repeat(130);

/** Scripts that older tokenizers split into their bytes. */
const scripts = [
  'જૂનું શહેર નદીના કિનારે આવેલું છે અને હજાર વર્ષ પહેલાં વેપારીઓએ બનાવ્યું હતું. ',
  'పాత నగరం నది ఒడ్డున ఉంది మరియు వెయ్యి సంవత్సరాల క్రితం వ్యాపారులు నిర్మించారు. ',
  'பழைய நகரம் ஆற்றின் கரையில் உள்ளது, ஆயிரம் ஆண்டுகளுக்கு முன்பு வணிகர்களால் கட்டப்பட்டது. ',
  'ಹಳೆಯ ನಗರವು ನದಿಯ ದಡದಲ್ಲಿದೆ ಮತ್ತು ಸಾವಿರ ವರ್ಷಗಳ ಹಿಂದೆ ವ್ಯಾಪಾರಿಗಳು ನಿರ್ಮಿಸಿದರು. ',
  'ძველი ქალაქი მდინარის ნაპირას მდებარეობს და ვაჭრებმა ათასი წლის წინ ააშენეს. ',
  'Հին քաղաքը գտնվում է գետի ափին և կառուցվել է հազար տարի առաջ: ',
];

const textLengthMax = 4_000;

/** Returns a text of some kind, made from a seed. */
export function hostileText(random: Random): string {
  const seed = Math.floor(random.between(1, 1_000_000));
  const makers: readonly (() => string)[] = [
    () => Array.from({ length: 40 }, () => random.pick(forgedWords)).join(random.pick(['', ' ', '\n'])),
    () => random.pick(forgedWords).repeat(20),
    () => random.pick(scripts).repeat(8),
    () => random.pick(hostileTexts(seed, 231)).text.repeat(random.pick([1, 3])),
    () => random.pick(ordinaryTexts(seed, 22)).text,
    () => random.pick(specialTexts).text,
    () => random.pick(['👨‍👩‍👧‍👦', '🏳️‍🌈', '👩🏽‍💻', '🇩🇪', '☝🏿', '🫱🏻‍🫲🏿']).repeat(60),
    () => random.pick([' ', '\n', '\t', '\u00a0', '\u200b', '\u2003', '\r\n', ' \n']).repeat(1_500),
    () => random.pick(['0', '7', '.', '-', '=', '1,', '0.1 ', 'a1']).repeat(700),
    () => Array.from({ length: 600 }, () => String.fromCodePoint(codePoint(random))).join(''),
  ];
  return random.pick(makers)().slice(0, textLengthMax);
}

function codePoint(random: Random): number {
  const point = Math.floor(random.between(0, random.pick([0x80, 0x800, 0x10000, 0x110000])));
  return point >= 0xd800 && point < 0xe000 ? 0xfffd : point;
}
