/** Search over all sections of the site. The index is built at the first search, in slices, so that requests are not delayed. */
import MiniSearch from 'minisearch';
import { type SiteDocument, titleOf } from './document.ts';
import { parseMarkdown } from './markdown.ts';

export interface Found {
  readonly href: string;
  readonly title: string;
  /** Title of the page, if it differs. */
  readonly page: string;
  readonly excerpt: string;
}

export interface Search {
  find(query: string): readonly Found[];
}

interface Entry extends Found {
  readonly id: number;
  readonly text: string;
}

const resultsMax = 30;
const excerptCharacters = 220;
export const queryCharactersMax = 200;
/** The list of all operations on the start page repeats the reference. */
const unindexed = new Set(['all-operations']);

/** `pause` lets other work run between two documents. */
export async function createSearch(
  documents: readonly SiteDocument[],
  pause: () => Promise<void>,
): Promise<Search> {
  const index = new MiniSearch<Entry>({
    fields: ['title', 'page', 'text'],
    storeFields: [],
    searchOptions: {
      boost: { title: 6, page: 2 },
      prefix: true,
      fuzzy: (term) => (term.length > 4 ? 0.2 : false),
    },
  });
  const entries: Entry[] = [];
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
      const words = withoutFillers(text);
      const withAll = index.search(words, { combineWith: 'AND' });
      const withSome = withAll.length < resultsMax ? index.search(words) : [];
      const ids = new Set([...withAll, ...withSome].map(({ id }) => id as number));
      const found = [...ids].flatMap((id) => entries[id] ?? []);
      // What is called exactly so comes first, whatever its length.
      const isNamed = ({ title }: Entry) => normalized(title) === normalized(text);
      const named = found.filter(isNamed).sort((a, b) => a.id - b.id);
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

/** Words of questions that say nothing about the subject. */
const fillers = new Set(
  'a an and are be can do does for from how i in is it me my of on or that the this to was we what when where which who why with you'.split(
    ' ',
  ),
);

function withoutFillers(text: string): string {
  const words = text.split(/\s+/).filter((word) => !fillers.has(word.toLowerCase().replaceAll(/\W/g, '')));
  return words.length === 0 ? text : words.join(' ');
}

const normalized = (text: string) => text.toLowerCase().replaceAll(/[\s_-]+/g, ' ');

function entriesOf({ path, section, markdown, rowAnchors }: SiteDocument, firstId: number): Entry[] {
  const page = titleOf(markdown);
  return parseMarkdown(markdown, { rowAnchors, sectionDepthMax: section === 'api' ? 2 : 6 })
    .sections.filter(({ anchor }) => !unindexed.has(anchor))
    .map(({ anchor, title, text }, index) => ({
      id: firstId + index,
      href: anchor === '' ? path : `${path}#${anchor}`,
      title,
      page,
      text: text.replaceAll(/\s+/g, ' ').trim(),
      excerpt: '',
    }));
}

/** Returns the text around the first word of the query that it contains. */
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
