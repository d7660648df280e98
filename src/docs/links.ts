/** Converts links of documents from repository files to pages of the site. */
import { posix } from 'node:path';
import type { SiteDocument } from './document.ts';

/** Returns the address on the site; undefined if the site does not have the target. */
export type ResolveLink = (href: string) => string | undefined;

/** Repository documents that the service serves at another address. */
const served: Readonly<Record<string, string>> = { 'docs/generated/openapi.json': '/v1/openapi.json' };

/** Returns the resolver of a document. `suffix` is appended to paths of pages: `.md` for links between Markdown documents. */
export function linkResolver(
  documents: readonly SiteDocument[],
  source: string,
  suffix: '' | '.md' = '',
): ResolveLink {
  const pages = new Map(
    documents.flatMap(({ source: file, path }) => (file === undefined ? [] : [[file, path]])),
  );
  const paths = new Set(documents.map(({ path }) => path));
  return (href) => {
    if (/^(https?:|mailto:|#)/.test(href)) {
      return href;
    }
    const [target = '', anchor] = href.split('#');
    const end = anchor === undefined ? '' : `#${anchor}`;
    if (target.startsWith('/')) {
      return `${target}${paths.has(target) ? suffix : ''}${end}`;
    }
    const file = posix.join(posix.dirname(source), target);
    const page = pages.get(file);
    if (page !== undefined) {
      return `${page}${suffix}${end}`;
    }
    return isPicture(file) ? `/${file}` : served[file];
  };
}

/** Returns true for pictures below `docs`, which have the same path on the site. */
export function isPicture(path: string): boolean {
  return /^docs(\/[\w-]+)+\.(png|svg)$/.test(path);
}

/** Rewrites the links of a Markdown document. Links to files that are not on the site become plain text. */
export function rewriteLinks(markdown: string, resolve: ResolveLink): string {
  return markdown
    .split(/(^```[\s\S]*?^```$)/m)
    .map((part) => (part.startsWith('```') ? part : rewriteInText(part, resolve)))
    .join('');
}

function rewriteInText(text: string, resolve: ResolveLink): string {
  return text
    .replaceAll(/(!?)\[([^\]]*)\]\(([^)\s]+)\)/g, (_, image: string, label: string, href: string) => {
      const target = resolve(href);
      return target === undefined ? label : `${image}[${label}](${target})`;
    })
    .replaceAll(
      /\b(src|srcset)="([^"]+)"/g,
      (_, name: string, href: string) => `${name}="${resolve(href) ?? ''}"`,
    );
}
