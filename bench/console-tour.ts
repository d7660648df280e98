/**
 * A tour of the console that follows every link once: finds all pages and their API requests. The pages come from their
 * declarations and the requests from the service's log, so new pages and requests are included automatically.
 */
import { inProcessRequest } from '../src/platform/http/pipeline/in-process-client.ts';
import { followLinks, pageTemplates, type Side } from '../test/support/console-links.ts';
import type { ServiceProcess } from './processes.ts';

/** The visitor of the pages, and the key for their API requests. */
export interface Visitor {
  readonly side: Side;
  readonly key: string;
}

/** An API request of a page. Error responses are included, such as that of a cohort with too few members. */
export interface AskedQuestion {
  readonly path: string;
  readonly status: number;
}

export interface ToldPage {
  /** Path template of the page. */
  readonly name: string;
  readonly path: string;
  readonly visitor: Visitor;
  /** Of a first visit; 0 for a file. */
  readonly bytes: number;
  readonly questions: readonly AskedQuestion[];
}

export const pageNames: readonly string[] = [...pageTemplates('org'), ...pageTemplates('operator')];

interface Seen extends Omit<ToldPage, 'questions'> {
  readonly traceId: string;
}

/**
 * Stops the service at the end, because its log is complete only then. The service must be started with the log level `trace`.
 */
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
  if (asked.size === 0) {
    throw new Error('the log has no API request of any page');
  }
  progress(`found ${seen.length} of ${pageNames.length} pages`);
  return seen.map(({ traceId, ...page }) => ({
    ...page,
    questions: [...(asked.get(traceId)?.values() ?? [])],
  }));
}

async function look(service: ServiceProcess, visitor: Visitor): Promise<Seen[]> {
  const cookie = await signIn(service, visitor.key);
  const seen: Seen[] = [];
  await followLinks(visitor.side, async (link, name) => {
    const path = link + formQuery(name);
    const opened = await open(service, path, cookie);
    if (opened === undefined) {
      return undefined;
    }
    const { html, traceId, bytes } = opened;
    seen.push({ name, path, visitor, traceId, bytes });
    return html;
  });
  return seen;
}

/** The fields of a form that are required. Links lead to the target of a form, without its fields. */
function formQuery(name: string): string {
  if (name !== '/console/audit/export') {
    return '';
  }
  const daysAgo = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString().slice(0, 16);
  return `?${new URLSearchParams({ from: daysAgo(7), to: daysAgo(0), format: 'ndjson' })}`;
}

/** Signs in with a key and returns the cookie. */
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

interface Opened {
  /** Undefined for a file. */
  readonly html: string | undefined;
  readonly traceId: string;
  readonly bytes: number;
}

/** Returns undefined for an error page. */
async function open({ port }: ServiceProcess, path: string, cookie: string): Promise<Opened | undefined> {
  const answer = await fetch(`http://127.0.0.1:${port}${path}`, { headers: { cookie } });
  const text = await answer.text();
  if (answer.status !== 200) {
    return undefined;
  }
  const traceId = answer.headers.get('x-svc-trace-id') ?? '';
  return (answer.headers.get('content-type') ?? '').startsWith('text/html')
    ? { html: text, traceId, bytes: Buffer.byteLength(text) + (await assetBytes(port, text)) }
    : { html: undefined, traceId, bytes: 0 };
}

const assets = new Map<string, number>();

/** Returns the size of the assets that a first visit loads: stylesheet, script, icon. */
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

/**
 * Returns the in-process API requests of each page, without duplicates. Displaying a page changes nothing, so all of them are
 * reads.
 */
function questionsByTrace(log: string): Map<string, Map<string, AskedQuestion>> {
  const asked = new Map<string, Map<string, AskedQuestion>>();
  for (const line of log.split('\n').filter((one) => one.includes(inProcessRequest))) {
    const { traceId, path, status } = JSON.parse(line) as AskedQuestion & { traceId: string };
    asked.set(traceId, (asked.get(traceId) ?? new Map()).set(path, { path, status }));
  }
  return asked;
}
