/** The Markdown files and pictures of the package, in the order in which the README links to them. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { posix } from 'node:path';
import type { SectionName, SiteDocument } from './document.ts';
import { isPicture } from './links.ts';
import type { Examples } from './reference-examples.ts';

const root = new URL('../../', import.meta.url);
const readText = (file: string) => readFileSync(new URL(file, root), 'utf8');

/** Documents that are not in one of the folders. */
const single: readonly Omit<SiteDocument, 'markdown'>[] = [
  { source: 'docs/concepts.md', path: '/docs/concepts', section: 'start' },
  { source: 'docs/generated/settings.md', path: '/docs/settings', section: 'reference', rowAnchors: true },
  { source: 'CHANGELOG.md', path: '/docs/changelog', section: 'reference' },
];
const folders: readonly SectionName[] = ['guides', 'operations'];

export function readReadme(): string {
  return readText('README.md');
}

export function fileDocuments(readme: string): SiteDocument[] {
  const order = [...readme.matchAll(/\]\(([^)#\s]+)/g)].map(([, target]) => target ?? '');
  const rank = (source: string) => (order.includes(source) ? order.lastIndexOf(source) : order.length);
  return [
    ...single
      .filter(({ source = '' }) => existsSync(new URL(source, root)))
      .map((document) => ({ ...document, markdown: readText(document.source ?? '') })),
    ...folders.flatMap((section) =>
      readdirSync(new URL(`docs/${section}/`, root))
        .filter((name) => name.endsWith('.md'))
        .map((name) => `docs/${section}/${name}`)
        .sort((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1))
        .map((source) => ({
          source,
          section,
          path: `/docs/${section}/${posix.basename(source, '.md')}`,
          markdown: readText(source),
        })),
    ),
  ];
}

/** Returns the JSON schema of configuration files. */
export function readFileSchema(): string {
  return readText('docs/generated/purser.schema.json');
}

/** Returns the recorded responses of the operations. */
export function readExamples(): Examples {
  const file = 'docs/generated/examples.json';
  return existsSync(new URL(file, root)) ? (JSON.parse(readText(file)) as Examples) : {};
}

/** Returns the content of a picture by its path on the site; undefined if there is no such picture. */
export async function readPicture(path: string): Promise<Buffer | undefined> {
  const file = path.slice(1);
  if (!isPicture(file)) {
    return undefined;
  }
  try {
    return await readFile(new URL(file, root));
  } catch {
    return undefined;
  }
}
