/** Rules of the documentation site: no dead links, and pages of the reference that load quickly. */
import { readFileSync } from 'node:fs';
import { deprecationsMarkdown } from '../src/capabilities/integration/deprecations/index.ts';
import { DeprecationRegistry } from '../src/contract/deprecations.ts';
import { type OpenApi, operationsOf } from '../src/docs/openapi.ts';
import { createSite, type Site } from '../src/docs/site.ts';
import { deadLinks } from './docs-links.ts';

const referencePageBytesMax = 100_000;

/** The site as it is served, from the committed OpenAPI document. */
export function committedSite(): { readonly site: Site; readonly openApi: OpenApi } {
  const file = new URL('../docs/generated/openapi.json', import.meta.url);
  const openApi = JSON.parse(readFileSync(file, 'utf8')) as OpenApi;
  return { site: createSite(openApi, deprecationsMarkdown(new DeprecationRegistry())), openApi };
}

/** Returns a sentence for each problem. */
export function docsProblems({ site, openApi }: ReturnType<typeof committedSite>): string[] {
  const publicPaths = operationsOf(openApi)
    .filter(({ method, isPublic }) => method === 'GET' && isPublic)
    .map(({ path }) => path);
  const tooLong = site.documents
    .filter(({ section }) => section === 'api')
    .map(({ path }) => ({ path, bytes: Buffer.byteLength(site.page(path, 'auto')?.text ?? '') }))
    .filter(({ bytes }) => bytes > referencePageBytesMax);
  return [
    ...deadLinks(site, new Set([...publicPaths, '/v1/openapi.json'])),
    ...tooLong.map(
      ({ path, bytes }) =>
        `${path} has ${bytes} bytes: give a part of its operations a page of its own in src/docs/reference-groups.ts`,
    ),
  ];
}
