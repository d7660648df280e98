/** The pages of the documentation. The site and its libraries are loaded at the first request, because most processes never need them. */
import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { themeOf } from '../platform/http/html/theme.ts';
import { type Page, type PageAnswer, redirectTo, type Visit } from '../platform/http/routes/page.ts';
import type { OpenApi } from './openapi.ts';
import type { Site } from './site.ts';

export interface DocsDependencies {
  /** Returns the same object until the document changes. */
  openApi(): object;
  /** The deprecations in force, as Markdown. */
  deprecations(): string;
}

export function docsPages({ openApi, deprecations }: DocsDependencies): Page[] {
  let last: { readonly source: object; readonly site: Site } | undefined;

  async function currentSite(): Promise<Site> {
    const { createSite } = await import('./site.ts');
    const source = openApi();
    if (last?.source !== source) {
      last = { source, site: createSite(source as OpenApi, deprecations()) };
    }
    return last.site;
  }

  async function answer(visit: Visit): Promise<PageAnswer> {
    const path = visit.url.replace(/[?#].*/s, '');
    const theme = themeOf(visit.headers.cookie);
    const site = await currentSite();
    const page = site.page(path, theme);
    const withoutSlash = path.replace(/\/+$/, '');
    if (page === undefined && withoutSlash !== path && site.page(withoutSlash, theme) !== undefined) {
      return redirectTo(withoutSlash);
    }
    if (page !== undefined) {
      return { status: 200, contentType: page.contentType, body: page.text, headers: page.headers };
    }
    const { readPicture } = await import('./files.ts');
    const picture = await readPicture(path);
    if (picture !== undefined) {
      return pictureAnswer(path, picture);
    }
    const { pageHeaders } = await import('./layout.ts');
    return {
      status: 404,
      contentType: 'text/html; charset=utf-8',
      body: site.notFoundPage(theme),
      headers: pageHeaders,
    };
  }

  return [
    ...['/docs', '/docs/', '/docs.md', '/docs/*'].map((path): Page => ({ path, handler: answer })),
    {
      path: '/docs/search',
      async handler({ query, headers }) {
        const { pageHeaders } = await import('./layout.ts');
        const site = await currentSite();
        return {
          status: 200,
          contentType: 'text/html; charset=utf-8',
          body: await site.searchPage(query.get('q') ?? '', themeOf(headers.cookie)),
          headers: { ...pageHeaders, 'cache-control': 'no-store' },
        };
      },
    },
  ];
}

function pictureAnswer(path: string, content: Buffer): PageAnswer {
  const etag = createHash('sha256').update(content).digest('base64url');
  return {
    status: 200,
    contentType: path.endsWith('.svg') ? 'image/svg+xml' : 'image/png',
    body: Readable.from([content]),
    headers: {
      etag: `"${etag}"`,
      'cache-control': 'no-cache',
      // Prevents a picture that is opened directly from loading or running anything.
      'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'",
    },
  };
}

/** Opens the console for people who open the base URL in a browser, and the documentation for all other clients. */
export const rootPage: Page = {
  path: '/',
  handler: async ({ headers }) => ({
    status: 302,
    contentType: 'text/plain; charset=utf-8',
    body: 'The API is at /v1, its documentation at /docs.\n',
    headers: {
      location: headers.accept?.includes('text/html') ? '/console' : '/docs',
      vary: 'accept',
    },
  }),
};
