/** Search over all sections of the site. The index is built at the first search, in slices, so that requests are not delayed. */
import MiniSearch from 'minisearch';
import { type SectionName, type SiteDocument, titleOf } from './document.ts';
import { parseMarkdown } from './markdown.ts';

export interface FoundPage {
  readonly href: string;
  readonly title: string;
  /** Title of the page, if it differs. */
  readonly page: string;
  readonly excerpt: string;
}

export interface Search {
  find(query: string): readonly FoundPage[];
}

interface IndexedPage extends FoundPage {
  readonly id: number;
  /** The last part of the address, such as the name of a file, an operation or an error code. */
  readonly name: string;
  readonly section: SectionName;
  readonly text: string;
}

const resultsMax = 30;
const excerptCharacters = 220;
const queryCharactersMax = 200;
/** Maximum number of words in a query, because anyone may search. */
const wordsMax = 8;
/** Sections that are not indexed: the list of all operations on the start page repeats the reference. */
const unindexed = new Set(['all-operations']);

/** Builds the index. `pause` lets other work run between two documents. */
export async function createSearch(
  documents: readonly SiteDocument[],
  pause: () => Promise<void>,
): Promise<Search> {
  const entries: IndexedPage[] = [];
  const index = new MiniSearch<IndexedPage>({
    fields: ['title', 'name', 'page', 'text'],
    storeFields: [],
    processTerm: stem,
    searchOptions: {
      boost: { title: 6, name: 4, page: 3 },
      boostDocument: (id) => weights[entries[id as number]?.section ?? 'api'],
      prefix: (term) => term.length > 2,
      weights: { fuzzy: 0.15, prefix: 0.4 },
      processTerm: (term) => [term, ...(synonyms[stem(term)] ?? [])].map(stem),
      fuzzy: (term) => (term.length > 4 && term.length < 20 ? 0.2 : false),
    },
  });
  for (const document of documents) {
    const added = entriesOf(document, entries.length);
    entries.push(...added);
    index.addAll(added);
    await pause();
  }
  return {
    find(query) {
      const text = query.trim().slice(0, queryCharactersMax);
      if (text === '') {
        return [];
      }
      const words = tellingWords(text);
      const found = index.search(words).flatMap(({ id }) => entries[id as number] ?? []);
      // Entries with exactly this name come first.
      const isNamed = ({ title, name }: IndexedPage) =>
        [title, name].some((one) => normalized(one) === normalized(text));
      const named = found.filter(isNamed).sort((a, b) => rankOf(a) - rankOf(b) || a.id - b.id);
      return [...named, ...found.filter((entry) => !isNamed(entry))]
        .slice(0, resultsMax)
        .map(({ href, title, page, text: whole }) => ({
          href,
          title,
          page,
          excerpt: excerptOf(whole, text),
        }));
    },
  };
}

/** Words of a question that say nothing about its subject. */
const fillers = new Set(
  'a an and are at be can do does for from how i in is it me my of on or that the this to was we what when where which who why with you'.split(
    ' ',
  ),
);

/** Returns at most `wordsMax` words of a query, without fillers. */
function tellingWords(text: string): string {
  const words = text.split(/[\s\p{P}]+/u).filter((word) => word !== '');
  const telling = words.filter((word) => !fillers.has(word.toLowerCase().replaceAll(/\W/g, '')));
  return (telling.length === 0 ? words : telling).slice(0, wordsMax).join(' ');
}

/** Returns the rank of an entry. Pages come before sections with the same name, and guides before the reference. */
function rankOf({ href, section }: IndexedPage): number {
  return (href.includes('#') ? 0 : -10) - weights[section];
}

/**
 * Removes word endings, so that other forms of a word are found: retries, retry. Wrong removals do no harm, because they are the
 * same everywhere.
 */
function stem(term: string): string {
  const lower = term.toLowerCase();
  return lower.length < 5
    ? lower
    : lower.replace(/(?<=..)(?:ies|ied|y)$/, 'i').replace(/(?<=...)(?:ing|ed|ely|ly|es|s|e)$/, '');
}

/** Words that readers use, as stems, with the corresponding words of the documentation. */
const synonyms: Readonly<Record<string, readonly string[]>> = {
  block: ['denied', 'denial'],
  reject: ['denied', 'denial'],
  refus: ['denied', 'denial'],
  down: ['unavailable'],
  outag: ['unavailable'],
  login: ['sign-in'],
  postgr: ['postgresql'],
  delet: ['erase', 'remove'],
  bill: ['invoice', 'statement'],
};

const normalized = (text: string) => text.toLowerCase().replaceAll(/[\s_-]+/g, ' ');

/** Weights of the sections. Guides answer questions; readers of the reference search for a name that they know. */
const weights: Readonly<Record<SectionName, number>> = {
  start: 1.2,
  guides: 2.5,
  operations: 2,
  reference: 1.2,
  api: 1,
};

function entriesOf(
  { path, section, markdown, rowAnchors, anchorDepthMax }: SiteDocument,
  firstId: number,
): IndexedPage[] {
  const page = titleOf(markdown);
  return parseMarkdown(markdown, { rowAnchors, anchorDepthMax })
    .sections.filter(({ anchor }) => !unindexed.has(anchor))
    .map(({ anchor, title, text }, index) => ({
      id: firstId + index,
      href: anchor === '' ? path : `${path}#${anchor}`,
      title,
      page,
      section,
      name: (anchor === '' ? path.split('/').at(-1) : anchor) ?? '',
      text: text.replaceAll(/\s+/g, ' ').trim(),
      excerpt: '',
    }));
}

/** Returns the text around the first occurrence of a word of the query. */
function excerptOf(text: string, query: string): string {
  const lower = text.toLowerCase();
  const places = query
    .toLowerCase()
    .split(/[\s\p{P}]+/u)
    .filter((word) => word !== '')
    .map((word) => lower.indexOf(word))
    .filter((place) => place >= 0);
  const start = Math.max(0, Math.min(...(places.length === 0 ? [0] : places)) - excerptCharacters / 4);
  const cut = text.slice(start, start + excerptCharacters).replace(start > 0 ? /^\S*\s/ : /^/, '');
  return `${start > 0 ? '… ' : ''}${cut}${start + excerptCharacters < text.length ? ' …' : ''}`;
}
