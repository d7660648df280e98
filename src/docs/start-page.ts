/** The start page: the README, and a list of all operations, whose anchors are permanent. */
import type { SiteDocument } from './document.ts';
import { readReadme } from './files.ts';
import type { OpenApi } from './openapi.ts';
import { operationIndex } from './reference.ts';

export function startPage(openApi: OpenApi): SiteDocument {
  return {
    path: '/docs',
    source: 'README.md',
    section: 'start',
    markdown: `${readReadme()}\n${operationIndex(openApi)}`,
  };
}
