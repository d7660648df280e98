/** A document of the site: Markdown with a path, a title and a place in the menu. */

export type SectionName = 'start' | 'guides' | 'operations' | 'reference' | 'api';

export interface SiteDocument {
  /** Path of the page, such as `/docs/guides/limits`. */
  readonly path: string;
  readonly section: SectionName;
  /** File of the repository that other documents link to, such as `docs/guides/limits.md`. */
  readonly source?: string;
  readonly markdown: string;
  /** Each table row that starts with a code gets an anchor of that name. */
  readonly rowAnchors?: true;
  /** Maximum depth of headings with an anchor. Deeper headings are the same in every section. */
  readonly anchorDepthMax?: number;
}

/** Returns the text of the first heading. */
export function titleOf(markdown: string): string {
  return (/^# +(.+)$/m.exec(markdown)?.[1] ?? '').replaceAll('`', '').trim();
}

const summaryCharactersMax = 200;

/** Returns the first paragraph after the first heading as plain text, cut after a sentence if it is long. */
export function summaryOf(markdown: string): string {
  const blocks = markdown
    .replace(/^[\s\S]*?^# .+$/m, '')
    .split(/\n{2,}/)
    .map((block) => block.trim());
  const first = blocks.find((block) => /^[\p{L}`[*]/u.test(block)) ?? '';
  const text = plainText(first);
  if (text.length <= summaryCharactersMax) {
    return text;
  }
  const sentence = /^.{20,}?[.:](?= )/.exec(text)?.[0];
  return sentence !== undefined && sentence.length <= summaryCharactersMax
    ? sentence.replace(/:$/, '.')
    : `${text.slice(0, summaryCharactersMax).replace(/\s+\S*$/, '')} …`;
}

function plainText(markdown: string): string {
  return markdown
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll(/[`*]/g, '')
    .replaceAll(/\s+/g, ' ')
    .trim();
}
