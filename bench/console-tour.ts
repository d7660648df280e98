/**
 * A tour of the console, as somebody who follows every link once: which pages there are, and what each asks of the API. Both
 * are found out rather than listed, the pages from their declarations and the questions from the service's log, so a page
 * that is new or asks for more is measured as it is.
 */
import { followLinks, pageTemplates, type Side } from '../test/support/console-links.ts';
import type { ServiceProcess } from './processes.ts';

/** Whom the pages are shown to, and the key that asks what they ask. */
export interface Visitor {
  readonly side: Side;
  readonly key: string;
}

/** A refusal is an answer too, such as that of a cohort with too few members. */
export interface AskedQuestion {
  readonly path: string;
  readonly status: number;
}

export interface ToldPage {
  /** The template of its path. */
  readonly name: string;
  readonly path: string;
  readonly visitor: Visitor;
  readonly bytes: number;
  readonly questions: readonly AskedQuestion[];
}

export const pageNames: readonly string[] = [...pageTemplates('org'), ...pageTemplates('operator')];

interface Seen extends Omit<ToldPage, 'questions'> {
  readonly traceId: string;
}

/** Stops the service at the end: only then its log is whole. It has to be started with the log level `trace`. */
export async function tour(
  service: ServiceProcess,
  visitors: readonly Visitor[],
  progress: (text: string) => void,
): Promise<ToldPage[]> {
  const seen: Seen[] = [];
  for (const visitor of visitors) {
    seen.push(...(await look(service, visitor)));
  }
  await service.stop();
  const asked = questionsByTrace(service.log());
  progress(`found ${seen.length} of ${pageNames.length} pages`);
  return seen.map(({ traceId, ...page }) => ({
    ...page,
    questions: [...(asked.get(traceId)?.values() ?? [])],
  }));
}

async function look(service: ServiceProcess, visitor: Visitor): Promise<Seen[]> {
  const cookie = await signIn(service, visitor.key);
  const seen: Seen[] = [];
  await followLinks(visitor.side, async (path, name) => {
    const { html, traceId, bytes } = await open(service, path, cookie);
    if (html !== undefined) {
      seen.push({ name, path, visitor, traceId, bytes });
    }
    return html;
  });
  return seen;
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
  const isHtml = (answer.headers.get('content-type') ?? '').startsWith('text/html');
  if (answer.status !== 200 && isHtml) {
    // Such as an export whose form was not filled in.
    return { html: undefined, traceId: '', bytes: 0 };
  }
  return {
    html: isHtml ? text : undefined,
    traceId: answer.headers.get('x-svc-trace-id') ?? '',
    bytes: Buffer.byteLength(text) + (await assetBytes(port, text)),
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
function questionsByTrace(log: string): Map<string, Map<string, AskedQuestion>> {
  const asked = new Map<string, Map<string, AskedQuestion>>();
  for (const line of log.split('\n').filter((one) => one.includes('asked from within'))) {
    const { traceId, path, status } = JSON.parse(line) as AskedQuestion & { traceId: string };
    asked.set(traceId, (asked.get(traceId) ?? new Map()).set(path, { path, status }));
  }
  return asked;
}
