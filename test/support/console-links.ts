/** Crawls the console until one page of every template was opened, so that pages need not be listed by hand. */
import type { Screen } from '../../src/console/screen.ts';
import { screens } from '../../src/console/screens.ts';

export type Side = 'org' | 'operator';

/** Templates of pages, without form targets and the fallback page. */
export function pageTemplates(side: Side): string[] {
  // The overview redirects operators, so it counts as a page of organizations.
  const isShown = ({ method = 'GET', path, audience }: Screen) =>
    method === 'GET' &&
    !path.endsWith('*') &&
    (audience === side || (audience === 'everyone' && side === 'org'));
  return screens.filter(isShown).map(({ path }) => path);
}

/** Opens the first link to every template. `open` returns the HTML, or undefined for a file. */
export async function followLinks(
  side: Side,
  open: (path: string, template: string) => Promise<string | undefined>,
): Promise<string[]> {
  const templates = pageTemplates(side).map((template) => ({ template, pattern: patternOf(template) }));
  // `/new` would otherwise match the template of an existing resource.
  templates.sort((a, b) => parameters(a.template) - parameters(b.template));
  const seen = new Set<string>();
  const waiting = [side === 'org' ? '/console' : '/console/orgs'];
  for (let path = waiting.shift(); path !== undefined; path = waiting.shift()) {
    const plain = path.replace(/[?#].*/s, '');
    const template = templates.find(({ pattern }) => pattern.test(plain))?.template;
    if (template !== undefined && !seen.has(template)) {
      seen.add(template);
      const html = (await open(path, template)) ?? '';
      for (const [, link = ''] of html.matchAll(/(?:href|action)="(\/console[^"]*)"/g)) {
        waiting.push(link.replaceAll('&amp;', '&'));
      }
    }
  }
  return [...seen];
}

function patternOf(template: string): RegExp {
  return new RegExp(`^${template.replaceAll(/\{\w+\}/g, '[^/]+')}$`);
}

function parameters(template: string): number {
  return template.split('{').length - 1;
}
