/** The documentation site: its documents, and their pages as HTML and Markdown. Pages are rendered at the first request. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { trusted } from '../platform/http/html/markup.ts';
import type { Theme } from '../platform/http/html/theme.ts';
import { type Rendered, rendered } from '../platform/http/routes/rendered.ts';
import { type SiteDocument, titleOf } from './document.ts';
import { errorsPage } from './errors-page.ts';
import { eventsPage } from './events-page.ts';
import { fileDocuments, readExamples, readFileSchema, readReadme } from './files.ts';
import { docsHtml, pageHeaders } from './layout.ts';
import { linkResolver, rewriteLinks } from './links.ts';
import { llmsText } from './llms.ts';
import { parseMarkdown, renderMarkdown } from './markdown.ts';
import { menuOf } from './menu.ts';
import type { OpenApi } from './openapi.ts';
import { referenceDocuments } from './reference.ts';
import { createSearch, type Search } from './search.ts';
import { searchResults } from './search-page.ts';
import { startPage } from './start-page.ts';

export interface Site {
  readonly documents: readonly SiteDocument[];
  /** Returns the rendered page of a path, its Markdown (`….md`) or `llms.txt`; undefined if there is none. */
  page(path: string, theme: Theme): Rendered | undefined;
  searchPage(query: string, theme: Theme): Promise<string>;
  notFoundPage(theme: Theme): string;
}

export function createSite(openApi: OpenApi, deprecations: string): Site {
  const documents: readonly SiteDocument[] = [
    startPage(openApi),
    ...fileDocuments(readReadme()),
    errorsPage(),
    eventsPage(),
    { path: '/docs/deprecations', section: 'reference', markdown: deprecations },
    ...referenceDocuments(openApi, readExamples()),
  ];
  const byPath = new Map(documents.map((document) => [document.path, document]));
  const cache = new Map<string, Rendered>();
  let search: Promise<Search> | undefined;

  function renderPage(document: SiteDocument, theme: Theme): Rendered {
    const { path, source = '', markdown, rowAnchors, anchorDepthMax } = document;
    const parsed = parseMarkdown(markdown, { rowAnchors, anchorDepthMax });
    const text = docsHtml({
      theme,
      title: titleOf(markdown),
      path,
      menu: menuOf(documents, path),
      headings: parsed.headings,
      hasMarkdown: true,
      body: trusted(renderMarkdown(parsed, linkResolver(documents, source))),
    });
    return rendered('text/html; charset=utf-8', text, pageHeaders);
  }

  function renderText(path: string): Rendered | undefined {
    if (path === '/docs/llms.txt') {
      return rendered('text/plain; charset=utf-8', llmsText(documents, openApi.servers[0]?.url ?? ''));
    }
    if (path === '/docs/purser.schema.json') {
      return rendered('application/schema+json; charset=utf-8', readFileSchema());
    }
    const document = path.endsWith('.md') ? byPath.get(path.slice(0, -3)) : undefined;
    return (
      document &&
      rendered(
        'text/markdown; charset=utf-8',
        rewriteLinks(document.markdown, linkResolver(documents, document.source ?? '', '.md')),
      )
    );
  }

  return {
    documents,
    page(path, theme) {
      const document = byPath.get(path);
      const key = document === undefined ? path : `${theme} ${path}`;
      const page =
        cache.get(key) ?? (document === undefined ? renderText(path) : renderPage(document, theme));
      if (page !== undefined) {
        cache.set(key, page);
      }
      return page;
    },
    async searchPage(query, theme) {
      search ??= createSearch(documents, async () => void (await nextTurn()));
      const found = (await search).find(query);
      const path = '/docs/search';
      return docsHtml({
        theme,
        title: 'Search',
        path,
        menu: menuOf(documents, path),
        query,
        body: searchResults(query, found),
      });
    },
    notFoundPage(theme) {
      const body = trusted(
        '<h1>Page not found</h1><p>There is no such page. Search for it, or start at the <a href="/docs">introduction</a>.</p>',
      );
      return docsHtml({ theme, title: 'Page not found', path: '', menu: menuOf(documents, ''), body });
    },
  };
}
