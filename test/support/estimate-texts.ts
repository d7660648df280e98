/** Texts of many kinds for tests of token estimates, made from fixed seeds: prose of twelve languages, data, files and hostile text. */
import { readFileSync } from 'node:fs';
import { type Random, randomOf } from '../../src/demo/random.ts';

export interface SampleText {
  readonly kind: string;
  readonly text: string;
}

const prose: Readonly<Record<string, readonly string[]>> = {
  english: [
    'The old town lies on the banks of the river and was built by merchants a thousand years ago.',
    'Please tell me when the train arrives, and whether I have to change on the way to the coast.',
    "She couldn't remember where she'd left the keys, but it didn't matter much any longer.",
    'Our quarterly revenue grew by a third, mostly because fewer customers cancelled their subscriptions.',
    'Photosynthesis converts light energy into chemical energy that is stored in carbohydrates.',
    'He asked the committee to postpone its decision until the independent review had been published.',
  ],
  german: [
    'Die Altstadt liegt am Ufer des Flusses und wurde vor tausend Jahren von Kaufleuten gegründet.',
    'Bitte sagen Sie mir, wann der Zug ankommt und ob ich unterwegs umsteigen muss.',
    'Die Haftpflichtversicherungsgesellschaft hat den Schadensfall nach gründlicher Prüfung abgelehnt.',
    'Für die Überprüfung der Rechnungsbeträge brauchen wir noch größere Genauigkeit.',
    'Während der Sitzung äußerte sich niemand zu den vorgeschlagenen Änderungen.',
  ],
  french: [
    'La vieille ville se trouve au bord du fleuve et a été bâtie par des marchands il y a mille ans.',
    "Pourriez-vous me dire à quelle heure arrive le train et s'il faut changer en route ?",
    "L'entreprise a annoncé une hausse de son chiffre d'affaires malgré un marché difficile.",
    'Nous avons déjà envoyé les documents nécessaires à la préfecture la semaine dernière.',
    "Où étiez-vous lorsque l'orage a éclaté au-dessus des montagnes ?",
  ],
  spanish: [
    'La ciudad antigua está a orillas del río y fue construida por comerciantes hace mil años.',
    '¿Podría decirme a qué hora llega el tren y si tengo que hacer transbordo?',
    'El gobierno anunció ayer un nuevo plan para mejorar la educación en todas las escuelas.',
    'Mañana visitaremos el museo, aunque todavía no sabemos si habrá entradas disponibles.',
    'La investigación demostró que los niños aprenden más rápido cuando juegan juntos.',
  ],
  portuguese: [
    'A cidade antiga fica às margens do rio e foi construída por comerciantes há mil anos.',
    'Você poderia me dizer a que horas chega o trem e se preciso fazer baldeação?',
    'A inflação não deverá ultrapassar a previsão do banco central até o fim do ano.',
    'As crianças brincavam no jardim enquanto a mãe preparava o almoço na cozinha.',
    'Ninguém sabia explicar por que a decisão demorou tanto tempo para ser publicada.',
  ],
  turkish: [
    'Eski şehir nehrin kıyısında yer alır ve bin yıl önce tüccarlar tarafından kurulmuştur.',
    'Trenin ne zaman geleceğini ve aktarma yapmam gerekip gerekmediğini söyler misiniz?',
    'Hükümet bütün okullarda eğitimi geliştirmek için yeni bir plan açıkladı.',
    'Çocuklar bahçede oynarken anneleri mutfakta yemek pişiriyordu.',
    'Değerlendiremediklerimizden bazıları önümüzdeki toplantıda yeniden görüşülecek.',
  ],
  russian: [
    'Старый город расположен на берегу реки и был построен купцами тысячу лет назад.',
    'Скажите, пожалуйста, когда прибывает поезд и нужно ли мне делать пересадку?',
    'Правительство объявило сегодня о новом плане развития образования во всех школах.',
    'Дети играли в саду, пока их мать готовила обед на кухне.',
    'Исследование показало, что достопримечательности привлекают всё больше путешественников.',
  ],
  arabic: [
    'تقع المدينة القديمة على ضفاف النهر وقد بناها التجار قبل ألف عام.',
    'هل يمكنك أن تخبرني متى يصل القطار وهل يجب أن أغير الخط في الطريق؟',
    'أعلنت الحكومة اليوم عن خطة جديدة لتطوير التعليم في جميع المدارس.',
    'كان الأطفال يلعبون في الحديقة بينما كانت أمهم تطبخ الطعام في المطبخ.',
    'أظهرت الدراسة أن القراءة اليومية تحسن الذاكرة والتركيز عند الكبار.',
  ],
  hindi: [
    'पुराना शहर नदी के किनारे बसा है और इसे हज़ार साल पहले व्यापारियों ने बनाया था।',
    'कृपया मुझे बताइए कि गाड़ी कब आएगी और क्या मुझे रास्ते में गाड़ी बदलनी होगी?',
    'सरकार ने आज सभी विद्यालयों में शिक्षा के विकास की नई योजना की घोषणा की।',
    'बच्चे बगीचे में खेल रहे थे और उनकी माँ रसोई में खाना बना रही थी।',
    'अध्ययन से पता चला कि रोज़ पढ़ने से स्मरणशक्ति और एकाग्रता बढ़ती है।',
  ],
  chinese: [
    '老城坐落在河岸边,一千年前由商人建造。',
    '请告诉我火车什么时候到,路上需要换车吗?',
    '政府今天宣布了一项发展所有学校教育的新计划。',
    '孩子们在花园里玩耍,母亲在厨房里做饭。',
    '研究表明,每天阅读可以提高成年人的记忆力和注意力。',
  ],
  japanese: [
    '旧市街は川の岸にあり、千年前に商人たちによって建てられました。',
    '電車がいつ到着するか、途中で乗り換えが必要かどうか教えてください。',
    '政府は本日、すべての学校の教育を発展させる新しい計画を発表しました。',
    '子どもたちが庭で遊んでいる間、母親は台所で料理をしていました。',
    'この研究は、毎日の読書が記憶力と集中力を高めることを示しています。',
  ],
  korean: [
    '옛 도시는 강가에 자리 잡고 있으며 천 년 전에 상인들이 세웠습니다.',
    '기차가 언제 도착하는지, 도중에 갈아타야 하는지 알려 주시겠어요?',
    '정부는 오늘 모든 학교의 교육을 발전시키기 위한 새로운 계획을 발표했습니다.',
    '아이들이 정원에서 노는 동안 어머니는 부엌에서 음식을 만들고 있었습니다.',
    '연구에 따르면 매일 책을 읽으면 기억력과 집중력이 좋아진다고 합니다.',
  ],
};

const emoji = [
  ...[
    '😀',
    '😂',
    '🥰',
    '😎',
    '🤔',
    '👍',
    '🙏',
    '🔥',
    '💯',
    '🎉',
    '🚀',
    '❤️',
    '✨',
    '😭',
    '✅',
    '❌',
    '⚠️',
    '📈',
  ],
  ...['👨‍👩‍👧‍👦', '🇩🇪', '🇯🇵', '🏳️‍🌈', '👩🏽‍💻', '🧑‍🚀', '🦜', '🫠', '🪐', '🥟'],
];

/** Files that every clone has. */
const files: Readonly<Record<string, readonly string[]>> = {
  markdown: [
    'README.md',
    'ARCHITECTURE.md',
    'CONTRIBUTING.md',
    'docs/guides/gateway.md',
    'docs/guides/limits.md',
  ],
  code: [
    'src/ledger/ledger.ts',
    'src/gateway/gateway.ts',
    'assets/console.css',
    'scripts/build.mjs',
    'vitest.config.ts',
  ],
  json: ['assets/catalog.json', 'package.json', 'package-lock.json', 'docs/generated/openapi.json'],
  sql: ['migrations/0002_ledger.sql', 'migrations/0062_connections.sql', 'migrations/0006_usage_days.sql'],
};

/** Returns texts as users send them: prose of twelve languages, code, JSON, base64 and emoji. */
export function ordinaryTexts(seed: number, count: number): SampleText[] {
  const random = randomOf(seed);
  const makers = [
    ...Object.keys(prose).map((language) => () => ({ kind: language, text: proseOf(random, language) })),
    ...Object.keys(files).map((kind) => () => ({ kind, text: excerpt(random, kind) })),
    () => ({ kind: 'made-up JSON', text: JSON.stringify(jsonValue(random, 3), null, random.pick([0, 2])) }),
    () => ({ kind: 'base64', text: randomBytes(random, 20, 900).toString('base64') }),
    () => ({
      kind: 'emoji',
      text: many(random, 1, 200, () => random.pick(emoji) + random.pick(['', '', ' '])),
    }),
    () => ({ kind: 'prose with emoji', text: `${proseOf(random, 'english')} ${random.pick(emoji)}` }),
  ];
  return Array.from({ length: count }, (_, index) => (makers[index % makers.length] as () => SampleText)());
}

function proseOf(random: Random, language: string): string {
  const sentences = prose[language] as readonly string[];
  if (random.fraction() < 0.7) {
    return many(random, 1, 16, () => `${random.pick(sentences)}${random.pick([' ', ' ', '\n', '\n\n'])}`);
  }
  // The words of the language in any order.
  const words = sentences.flatMap((sentence) => sentence.split(' '));
  return many(random, 5, 150, () => `${random.pick(words)} `);
}

function excerpt(random: Random, kind: string): string {
  const text = readFileSync(
    new URL(`../../${random.pick(files[kind] as readonly string[])}`, import.meta.url),
    'utf8',
  );
  const length = Math.round(random.between(50, 2_500));
  const start = Math.floor(random.between(0, Math.max(1, text.length - length)));
  return text.slice(start, start + length);
}

function jsonValue(random: Random, depth: number): unknown {
  const leaf = () =>
    random.pick<unknown>([
      Math.round(random.between(-1_000, 1_000_000)),
      random.fraction() * 100,
      random.fraction() < 0.5,
      null,
      random.pick(prose.english as readonly string[]),
      randomBytes(random, 8, 16).toString('hex'),
      '2026-11-16T18:00:00.000Z',
    ]);
  if (depth === 0) {
    return leaf();
  }
  const names = ['id', 'name', 'created_at', 'items', 'totalAmount', 'is_active', 'metadata', 'Größe', 'x'];
  const entries = Array.from({ length: Math.round(random.between(1, 6)) }, () =>
    jsonValue(random, depth - 1),
  );
  return random.fraction() < 0.3
    ? entries
    : Object.fromEntries(entries.map((entry) => [random.pick(names), entry]));
}

function randomBytes(random: Random, least: number, most: number): Buffer {
  const length = Math.round(random.between(least, most));
  return Buffer.from(Array.from({ length }, () => Math.floor(random.fraction() * 256)));
}

function many(random: Random, least: number, most: number, make: () => string): string {
  return Array.from({ length: Math.round(random.between(least, most)) }, make).join('');
}

const ranges: Readonly<Record<string, readonly (readonly [number, number])[]>> = {
  'small letters': [[0x61, 0x7a]],
  'capital letters': [[0x41, 0x5a]],
  'mixed letters': [
    [0x41, 0x5a],
    [0x61, 0x7a],
  ],
  'letters and digits': [
    [0x30, 0x39],
    [0x41, 0x5a],
    [0x61, 0x7a],
  ],
  numbers: [[0x30, 0x39]],
  'numbers with points': [[0x2c, 0x39]],
  symbols: [
    [0x21, 0x2f],
    [0x3a, 0x40],
    [0x5b, 0x60],
    [0x7b, 0x7e],
  ],
  'printable ASCII': [[0x20, 0x7e]],
  'control characters': [[0, 0x1f]],
  'white space': [
    [0x09, 0x0d],
    [0x20, 0x20],
    [0xa0, 0xa0],
    [0x2000, 0x200a],
  ],
  accents: [[0xc0, 0x24f]],
  'combining marks': [
    [0x61, 0x65],
    [0x300, 0x36f],
  ],
  greek: [[0x370, 0x3ff]],
  cyrillic: [[0x400, 0x52f]],
  armenian: [[0x531, 0x587]],
  hebrew: [[0x5d0, 0x5ea]],
  arabic: [[0x600, 0x6ff]],
  syriac: [[0x700, 0x7ff]],
  devanagari: [[0x900, 0x97f]],
  'other Indic scripts': [[0x980, 0xdff]],
  thai: [[0xe00, 0xe7f]],
  'tibetan and Burmese': [[0xf00, 0x109f]],
  'ethiopic and Khmer': [
    [0x1200, 0x137f],
    [0x1780, 0x17ff],
  ],
  'signs and arrows': [[0x2000, 0x2bff]],
  kana: [[0x3040, 0x30ff]],
  'chinese characters': [[0x4e00, 0x9fff]],
  'rare Chinese characters': [
    [0x3400, 0x4dbf],
    [0x20000, 0x20fff],
  ],
  hangul: [[0xac00, 0xd7a3]],
  'private use': [[0xe000, 0xf8ff]],
  'presentation forms': [[0xf900, 0xfffd]],
  'emoji of all kinds': [[0x1f000, 0x1faff]],
  'ancient scripts': [[0x10000, 0x108ff]],
  'mathematical letters': [[0x1d400, 0x1d7ff]],
  'invisible tags': [[0xe0020, 0xe007f]],
};

/** Returns texts that need many tokens, or that a scanner may get wrong: random characters of each script, runs and mixtures. */
export function hostileTexts(seed: number, count: number): SampleText[] {
  const random = randomOf(seed);
  const kinds = Object.keys(ranges);
  const characterOf = (kind: string) => {
    const [first, last] = random.pick(ranges[kind] as readonly (readonly [number, number])[]);
    return String.fromCodePoint(Math.floor(random.between(first, last + 1)));
  };
  const forms: readonly ((kind: string) => string)[] = [
    (kind) => many(random, 20, 400, () => characterOf(kind)),
    (kind) => many(random, 20, 400, () => (random.fraction() < 0.15 ? ' ' : characterOf(kind))),
    (kind) => characterOf(kind).repeat(Math.round(random.between(10, 2_000))),
    (kind) => many(random, 5, 60, () => characterOf(kind).repeat(Math.round(random.between(1, 30)))),
    (kind) => many(random, 20, 400, () => characterOf(random.fraction() < 0.5 ? kind : random.pick(kinds))),
    (kind) =>
      many(
        random,
        20,
        200,
        () => characterOf(kind) + random.pick(['-', '_', '\n', '\t ', "'", '9', 'a', '  ']),
      ),
    (kind) => JSON.stringify(many(random, 20, 200, () => characterOf(kind))).replaceAll(/[^ -~]/g, escaped),
  ];
  return Array.from({ length: count }, (_, index) => {
    const kind = kinds[index % kinds.length] as string;
    const form = Math.floor(index / kinds.length) % forms.length;
    return { kind: `${kind}, form ${form}`, text: (forms[form] as (kind: string) => string)(kind) };
  });
}

/** As in source code: `\u0000`. */
function escaped(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

/** Texts with special places: names of special tokens, lone surrogates, escapes, very long words and lines. */
export const specialTexts: readonly SampleText[] = [
  { kind: 'empty', text: '' },
  {
    kind: 'names of special tokens',
    text: '<|endoftext|><|im_start|>system<|im_sep|><|fim_prefix|>'.repeat(5),
  },
  { kind: 'lone surrogates', text: '\ud800a\udc00\ud83d\ud83d\ude00' },
  { kind: 'NUL', text: '\u0000'.repeat(500) },
  { kind: 'one long word', text: 'antidisestablishmentarianism'.repeat(100) },
  { kind: 'spaces', text: ' '.repeat(10_000) },
  { kind: 'lines', text: '\n\r\n \n\t\n'.repeat(500) },
  { kind: 'bytes as text', text: '\\x00\\xff\\u0000\\n\\"'.repeat(200) },
  { kind: 'rare letters', text: 'qzxjvkqwzzxqjk xqzjvwk '.repeat(100) },
  { kind: 'pi', text: '3.14159265358979323846264338327950288419716939937510'.repeat(20) },
];
