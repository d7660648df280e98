/** Renders Markdown as HTML, and splits it into sections for the search. HTML in the Markdown is escaped, except pictures and anchors. */
import { Marked, type Token, type Tokens } from 'marked';
import { escapeHtml } from '../platform/http/html/html.ts';
import { highlight } from './highlight.ts';
import type { ResolveLink } from './links.ts';

export interface Heading {
  readonly anchor: string;
  readonly text: string;
  readonly depth: number;
}

/** The part of a document below a heading, or a table row with an anchor. */
export interface DocumentSection {
  readonly anchor: string;
  readonly title: string;
  readonly text: string;
}

export interface ParsedMarkdown {
  readonly tokens: Token[];
  readonly headings: readonly Heading[];
  readonly sections: readonly DocumentSection[];
  readonly anchors: ReadonlyMap<object, string>;
}

const marked = new Marked({ gfm: true });

/** An explicit anchor, such as `<a id="runs.create"></a>`, inside a line or for the heading below it. */
const inlineAnchor = /^(<a id="[\w.-]+">|<\/a>)$/;
const ownAnchor = /^<a id="([\w.-]+)"><\/a>\s*$/;

export interface ParseOptions {
  readonly rowAnchors?: boolean | undefined;
  /** Maximum depth of headings with an anchor and a section. */
  readonly anchorDepthMax?: number | undefined;
}

export function parseMarkdown(
  markdown: string,
  { rowAnchors = false, anchorDepthMax = 6 }: ParseOptions = {},
): ParsedMarkdown {
  const tokens: Token[] = [];
  const anchors = new Map<object, string>();
  const headings: Heading[] = [];
  const sections: { anchor: string; title: string; text: string }[] = [];
  const isTaken = new Set<string>();
  const unique = (wanted: string) => {
    let anchor = wanted;
    for (let count = 1; isTaken.has(anchor); count += 1) {
      anchor = `${wanted}-${count}`;
    }
    isTaken.add(anchor);
    return anchor;
  };
  let next: string | undefined;
  for (const token of marked.lexer(markdown)) {
    const own = ownAnchor.exec(token.raw)?.[1];
    if (own !== undefined) {
      next = own;
      continue;
    }
    tokens.push(token);
    if (token.type === 'heading') {
      const { depth } = token as Tokens.Heading;
      const text = plainText([token]).trim();
      if (depth > anchorDepthMax) {
        continue;
      }
      const anchor = unique(next ?? slug(text));
      next = undefined;
      anchors.set(token, anchor);
      headings.push({ anchor, text, depth });
      sections.push({ anchor: depth === 1 ? '' : anchor, title: text, text: '' });
      continue;
    }
    if (rowAnchors && token.type === 'table') {
      for (const row of (token as Tokens.Table).rows) {
        const [first, ...others] = row;
        const name = first?.tokens[0];
        if (first !== undefined && name?.type === 'codespan' && first.tokens.length === 1) {
          const anchor = unique((name as Tokens.Codespan).text);
          anchors.set(first, anchor);
          sections.push({
            anchor,
            title: anchor,
            text: others.map((cell) => plainText(cell.tokens)).join(' '),
          });
        }
      }
      continue;
    }
    const current = sections.at(-1);
    if (current !== undefined) {
      current.text += ` ${plainText([token])}`;
    }
  }
  return { tokens, headings, sections, anchors };
}

/** Returns the anchor that common Markdown viewers give a heading. */
export function slug(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\- _]/gu, '')
    .replaceAll(' ', '-');
}

function plainText(tokens: readonly Token[]): string {
  return tokens
    .map((token): string => {
      if (token.type === 'table') {
        const { header, rows } = token as Tokens.Table;
        return [header, ...rows].map((row) => row.map((cell) => plainText(cell.tokens)).join(' ')).join(' ');
      }
      if (token.type === 'list') {
        return (token as Tokens.List).items.map((item) => plainText(item.tokens)).join(' ');
      }
      if (token.type === 'html') {
        return '';
      }
      const { tokens: inner, text } = token as { tokens?: Token[]; text?: string };
      return inner === undefined ? (text ?? ' ') : plainText(inner);
    })
    .join('');
}

const languageNames: Readonly<Record<string, string>> = {
  sh: 'bash',
  js: 'javascript',
  ts: 'typescript',
  toml: 'ini',
};
/** Languages of samples, with their titles. */
const sampleTitles: Readonly<Record<string, string>> = { sh: 'curl', ts: 'TypeScript', python: 'Python' };

export function renderMarkdown({ tokens, anchors }: ParsedMarkdown, resolve: ResolveLink): string {
  let tables = 0;
  const renderer = new Marked({ gfm: true });
  renderer.use({
    renderer: {
      heading(token) {
        const anchor = anchors.get(token);
        const text = this.parser.parseInline(token.tokens);
        if (anchor === undefined) {
          return `<h${token.depth}>${text}</h${token.depth}>\n`;
        }
        const self =
          token.depth === 1
            ? ''
            : ` <a class="anchor" href="#${escapeHtml(anchor)}" aria-label="Link to this section">#</a>`;
        return `<h${token.depth} id="${escapeHtml(anchor)}">${text}${self}</h${token.depth}>\n`;
      },
      code({ text, lang = '' }) {
        const language = lang.split(/\s/)[0] ?? '';
        return `<pre tabindex="0"><code>${highlight(text, languageNames[language] ?? language)}</code></pre>\n`;
      },
      html({ text }) {
        if (text.startsWith('<picture>')) {
          return picture(text, resolve);
        }
        return inlineAnchor.test(text) ? text : escapeHtml(text);
      },
      link({ href, title, tokens: inner }) {
        const target = resolve(href);
        const text = this.parser.parseInline(inner);
        if (target === undefined) {
          return text;
        }
        const hint = typeof title === 'string' ? ` title="${escapeHtml(title)}"` : '';
        return `<a href="${escapeHtml(target)}"${hint}>${text}</a>`;
      },
      image({ href, text }) {
        const target = resolve(href);
        return target === undefined
          ? escapeHtml(text)
          : `<img src="${escapeHtml(target)}" alt="${escapeHtml(text)}" loading="lazy">`;
      },
      table({ header, rows }) {
        tables += 1;
        const cells = (row: Tokens.TableCell[], tag: 'td' | 'th') =>
          row
            .map((cell) => {
              const align = cell.align === 'right' ? ' class="number"' : '';
              const text = this.parser.parseInline(cell.tokens);
              // Rendered as a normal cell, because an empty header cell confuses screen readers.
              const name = tag === 'th' && text === '' ? 'td' : tag;
              return `<${name}${align}>${text}</${name}>`;
            })
            .join('');
        const lines = rows.map((row) => {
          const anchor = row[0] === undefined ? undefined : anchors.get(row[0]);
          return `<tr${anchor === undefined ? '' : ` id="${escapeHtml(anchor)}"`}>${cells(row, 'td')}</tr>`;
        });
        const head = header.some(({ text }) => text !== '')
          ? `<thead><tr>${cells(header, 'th')}</tr></thead>`
          : '';
        return `<div class="table" tabindex="0" role="region" aria-label="Table ${tables}"><table>${head}<tbody>${lines.join('')}</tbody></table></div>\n`;
      },
    },
  });
  return groupsOf(tokens)
    .map((group) =>
      group.length === 1 ? renderer.parser(group) : samples(group, (token) => renderer.parser([token])),
    )
    .join('');
}

/** Groups consecutive code blocks in different languages, which are samples of the same call. */
function groupsOf(tokens: readonly Token[]): Token[][] {
  const groups: Token[][] = [];
  for (const token of tokens.filter(({ type }) => type !== 'space')) {
    const last = groups.at(-1);
    const isAnother =
      isSample(token) && last?.every(isSample) && !last.some(({ lang }) => lang === token.lang);
    if (isAnother) {
      last.push(token);
    } else {
      groups.push([token]);
    }
  }
  return groups;
}

function isSample(token: Token): token is Tokens.Code {
  return token.type === 'code' && ((token as Tokens.Code).lang ?? '') in sampleTitles;
}

/** Renders a group of samples. Only the first is open, because readers need one language. */
function samples(group: readonly Token[], render: (token: Token) => string): string {
  const parts = group.map(
    (token, index) =>
      `<details${index === 0 ? ' open' : ''}><summary class="sample-title">${sampleTitles[(token as Tokens.Code).lang ?? '']}</summary>${render(token)}</details>`,
  );
  return `<div class="samples">${parts.join('')}</div>\n`;
}

function picture(text: string, resolve: ResolveLink): string {
  const attribute = (name: string) =>
    escapeHtml(new RegExp(`<img[^>]*\\b${name}="([^"]*)"`).exec(text)?.[1] ?? '');
  const dark = /srcset="([^"]+)"/.exec(text)?.[1];
  const darkSource = dark === undefined ? undefined : resolve(dark);
  const source = resolve(attribute('src')) ?? '';
  return `<picture>${
    darkSource === undefined
      ? ''
      : `<source media="(prefers-color-scheme: dark)" srcset="${escapeHtml(darkSource)}">`
  }<img src="${escapeHtml(source)}" alt="${attribute('alt')}" loading="lazy"></picture>\n`;
}
