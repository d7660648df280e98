/** Follows the links of the console until a page of every declaration was seen: nothing of it has to be listed by hand. */
import type { Screen } from '../../src/console/screen.ts';
import { screens } from '../../src/console/screens.ts';

export type Side = 'org' | 'operator';

/** The templates of the pages that people look at: the rest is what forms are sent to, and what answers for all others. */
export function pageTemplates(side: Side): string[] {
  // The first page, which is another one for operators, is counted for people of an org.
  const isShown = ({ method = 'GET', path, audience }: Screen) =>
    method === 'GET' &&
    !path.endsWith('*') &&
    (audience === side || (audience === 'everyone' && side === 'org'));
  return screens.filter(isShown).map(({ path }) => path);
}

/** A page by the first link that leads to one of its template. `open` gives its HTML; undefined: it is a file. */
export async function followLinks(
  side: Side,
  open: (path: string, template: string) => Promise<string | undefined>,
): Promise<string[]> {
  const templates = pageTemplates(side).map((template) => ({ template, pattern: patternOf(template) }));
  // A page for something new stands beside those of what there is, and its path would pass for one of theirs.
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
