/** The menu of the site. Pages of the reference are only listed on pages of the reference, because there are many. */
import { type SectionName, type SiteDocument, titleOf } from './document.ts';

export interface DocsMenuGroup {
  readonly title: string;
  readonly entries: readonly { readonly title: string; readonly path: string }[];
}

const titles: readonly (readonly [SectionName, string])[] = [
  ['start', 'Start'],
  ['guides', 'Guides'],
  ['operations', 'Operations'],
  ['reference', 'Reference'],
  ['api', 'API resources'],
];

/** Order of the reference. Other sections keep the order of their documents. */
const referenceOrder = [
  '/docs/api',
  '/docs/errors',
  '/docs/events',
  '/docs/settings',
  '/docs/deprecations',
  '/docs/changelog',
];

export function menuOf(documents: readonly SiteDocument[], current: string): DocsMenuGroup[] {
  const isReference = current === '/docs/api' || current.startsWith('/docs/api/');
  return titles
    .filter(([section]) => (section === 'api' ? isReference : true))
    .map(([section, title]) => ({
      title,
      entries: documents
        .filter((document) => document.section === section)
        .sort((a, b) => referenceOrder.indexOf(a.path) - referenceOrder.indexOf(b.path))
        .map(({ path, markdown }) => ({
          path,
          title: path === '/docs' ? 'Introduction' : titleOf(markdown),
        })),
    }));
}
