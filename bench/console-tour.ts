/**
 * A tour of the console, as somebody who follows every link once: which pages there are, and what each asks of the API. Both
 * are found out rather than listed, the pages from their declarations and the questions from the service's log, so a page
 * that is new or asks for more is measured as it is.
 */
import type { Audience, Screen } from '../src/console/screen.ts';
import { screens } from '../src/console/screens.ts';
import type { ServiceProcess } from './processes.ts';

/** Whom the pages are shown to, and the key that asks what they ask. */
export interface Visitor {
  readonly audience: Exclude<Audience, 'everyone'>;
  readonly key: string;
}

export interface ToldPage {
  /** The template of its path, and for whom. */
  readonly name: string;
  readonly path: string;
  readonly visitor: Visitor;
  readonly bytes: number;
  readonly questions: readonly string[];
}

/** The first page, which is another one for operators, is counted for people of an org. */
export const pageNames: readonly string[] = templates('org').concat(templates('operator'));

/** Pages that people look at: the rest is what forms are sent to, and what answers for all that is not there. */
function templates(audience: Visitor['audience']): string[] {
  const isShown = (screen: Screen) =>
    (screen.method ?? 'GET') === 'GET' &&
    !screen.path.endsWith('*') &&
    (screen.audience === audience || (screen.audience === 'everyone' && audience === 'org'));
  return screens.filter(isShown).map(({ path }) => path);
}

interface Seen extends Omit<ToldPage, 'questions'> {
  readonly traceId: string;
}

/** Stops the service at the end: only then its log is whole. It has to be started with the log level `debug`. */
export async function tour(
  service: ServiceProcess,
  visitors: readonly Visitor[],
  progress: (text: string) => void,
): Promise<ToldPage[]> {
  const seen: Seen[] = [];
  for (const visitor of visitors) {
    seen.push(...(await followLinks(service, visitor)));
  }
  await service.stop();
  const asked = questionsByTrace(service.log());
  progress(`found ${seen.length} of ${pageNames.length} pages`);
  return seen.map(({ traceId, ...page }) => ({ ...page, questions: [...(asked.get(traceId) ?? [])] }));
}

/** Every template's page once, by the first link that leads to one. */
async function followLinks(service: ServiceProcess, visitor: Visitor): Promise<Seen[]> {
  const cookie = await signIn(service, visitor.key);
  const names = templates(visitor.audience).map((name) => ({ name, pattern: patternOf(name) }));
  // A page for something new stands beside those of what there is, and its path would pass for one of theirs.
  names.sort((a, b) => parameters(a.name) - parameters(b.name));
  const seen = new Map<string, Seen>();
  const waiting = [visitor.audience === 'org' ? '/console' : '/console/orgs'];
  for (let path = waiting.shift(); path !== undefined; path = waiting.shift()) {
    const plain = path.replace(/[?#].*/s, '');
    const name = names.find(({ pattern }) => pattern.test(plain))?.name;
    if (name === undefined || seen.has(name)) {
      continue;
    }
    const page = await open(service, path, cookie);
    // What is kept as a file is no page.
    if (page.isHtml) {
      const { traceId, bytes } = page;
      seen.set(name, { name, path, visitor, traceId, bytes });
      waiting.push(...page.links);
    }
  }
  return [...seen.values()];
}

function patternOf(template: string): RegExp {
  return new RegExp(`^${template.replaceAll(/\{\w+\}/g, '[^/]+')}$`);
}

function parameters(template: string): number {
  return template.split('{').length - 1;
}

/** With a key; answers the cookie. */
export async function signIn({ port }: ServiceProcess, key: string): Promise<string> {
  const answer = await fetch(`http://127.0.0.1:${port}/console/login`, {
    method: 'POST',
    redirect: 'manual',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({ key }),
  });
  const [cookie = ''] = (answer.headers.get('set-cookie') ?? '').split(';');
  return cookie;
}

async function open({ port }: ServiceProcess, path: string, cookie: string) {
  const answer = await fetch(`http://127.0.0.1:${port}${path}`, { headers: { cookie } });
  const text = await answer.text();
  if (answer.status !== 200) {
    throw new Error(`${path} answered ${answer.status}`);
  }
  return {
    isHtml: (answer.headers.get('content-type') ?? '').startsWith('text/html'),
    traceId: answer.headers.get('x-svc-trace-id') ?? '',
    bytes: Buffer.byteLength(text) + (await assetBytes(port, text)),
    links: [...text.matchAll(/href="(\/console[^"]*)"/g)].map(([, link = '']) =>
      link.replaceAll('&amp;', '&'),
    ),
  };
}

const assets = new Map<string, number>();

/** What a first visit fetches with the page: stylesheet, script, icon. */
async function assetBytes(port: number, text: string): Promise<number> {
  let bytes = 0;
  for (const [path] of text.matchAll(/\/console\/assets\/[\w.-]+/g)) {
    if (!assets.has(path)) {
      const answer = await fetch(`http://127.0.0.1:${port}${path}`);
      assets.set(path, (await answer.arrayBuffer()).byteLength);
    }
    bytes += assets.get(path) ?? 0;
  }
  return bytes;
}

/** What was asked from within, each question once. A page that is only shown changes nothing, so these are all reads. */
function questionsByTrace(log: string): Map<string, Set<string>> {
  const asked = new Map<string, Set<string>>();
  for (const line of log.split('\n').filter((one) => one.includes('asked from within'))) {
    const { traceId, path } = JSON.parse(line) as { traceId: string; path: string };
    asked.set(traceId, (asked.get(traceId) ?? new Set()).add(path));
  }
  return asked;
}
