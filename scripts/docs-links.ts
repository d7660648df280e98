/** Finds links of the documentation site that lead nowhere: to pages, anchors, pictures or public routes that do not exist. */
import { existsSync } from 'node:fs';
import type { Site } from '../src/docs/site.ts';
import { assets } from '../src/platform/http/html/assets.ts';

/** Pages outside the documentation that it links to. */
const otherPages = new Set(['/console', '/docs/search', ...assets.pages.map(({ path }) => path)]);

/** `publicPaths` are the paths of routes that need no key, which a reader can open. */
export function deadLinks(site: Site, publicPaths: ReadonlySet<string>): string[] {
  const pages = new Map(site.documents.map(({ path }) => [path, site.page(path, 'auto')?.text ?? '']));
  const anchors = new Map([...pages].map(([path, text]) => [path, anchorsOf(text)]));

  function isDead(from: string, link: string): boolean {
    if (/^(https?|mailto):/.test(link)) {
      return false;
    }
    const [target = '', anchor] = link.split('#');
    const path = target === '' ? from : (target.split('?')[0] ?? '');
    const isMarkdown = path.endsWith('.md');
    const page = isMarkdown ? path.slice(0, -3) : path;
    if (pages.has(page)) {
      return anchor !== undefined && anchors.get(page)?.has(anchor) !== true;
    }
    return !(
      otherPages.has(path) ||
      publicPaths.has(path) ||
      existsSync(new URL(`..${path}`, import.meta.url))
    );
  }

  return site.documents.flatMap(({ path }) => {
    const markdown = (site.page(`${path}.md`, 'auto')?.text ?? '').replaceAll(/^```.*?^```$/gms, '');
    const links = [
      ...[...(pages.get(path) ?? '').matchAll(/ (?:href|src|srcset|action)="([^"]*)"/g)],
      ...[...markdown.matchAll(/\]\(([^)\s]+)\)/g)],
    ].map(([, link]) => (link ?? '').replaceAll('&amp;', '&'));
    return [...new Set(links)].filter((link) => isDead(path, link)).map((link) => `${path} links to ${link}`);
  });
}

function anchorsOf(html: string): Set<string> {
  return new Set([...html.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id ?? ''));
}
