/** The results of a search. The script of the site shows the same list while a reader types. */
import { html, type Markup } from '../platform/http/html/markup.ts';
import type { FoundPage } from './search.ts';

export function searchResults(query: string, found: readonly FoundPage[]): Markup {
  if (query.trim() === '') {
    return html`<h1>Search</h1><p>Enter what you are looking for: a word, an error code, a setting, an operation.</p>`;
  }
  return html`<h1>Search</h1><p role="status">${found.length === 0 ? html`No results for “${query}”. The <a href="/docs">introduction</a> lists all guides.` : html`${found.length === 1 ? '1 result' : `${found.length} results`} for “${query}”`}</p>
<ol id="results" class="results">${found.map(({ href, title, page, excerpt }) => html`<li class="result"><a class="result-link" href="${href}">${title}</a>${page !== title && html` <span class="quiet">${page}</span>`}<span class="result-text">${excerpt}</span></li>`)}</ol>`;
}
