/** Latency of the console's pages of a busy org, compared with the slowest API request of each page. */
import { statementBody } from '../../test/support/statement-files.ts';
import { pageNames, signIn, type ToldPage, tour, type Visitor } from '../console-tour.ts';
import { type LoadRequest, load, percentile } from '../load.ts';
import type { PairsRow, Sample } from '../measure.ts';
import { operatorKey, type ServiceProcess, startService, temporaryDirectory } from '../processes.ts';

const size = { full: 200_000, small: 20_000 };
const bytesMax = 200_000;
/** Creating e-mail alerts requires a mail server. No alert is sent. */
const mailSettings = { SVC_SMTP_URL: 'smtp://127.0.0.1:9', SVC_SMTP_FROM: 'purser@example.com' };
/** Share of a turn for which each request is measured: there are many pages, and most take a few milliseconds. */
const shareOfTurn = 0.05;

export const consolePages: PairsRow = {
  kind: 'pairs',
  name: 'console-pages',
  what: `every page of the console, the org's of the demo with ${size.full} runs; embedded engine, one connection`,
  floor: 'the slowest question that the page asks, over HTTP by itself, same service',
  toReach: Object.fromEntries(pageNames.map((name) => [figureOf(name), { atMost: 5 }])),
  shrinks: true,
  async prepare({ small, progress }) {
    const SVC_DATA_DIR = temporaryDirectory();
    const settings = { SVC_DATA_DIR, ...mailSettings };
    const talkative = await startService({ settings: { ...settings, SVC_LOG_LEVEL: 'trace' } });
    const demo = await furnish(talkative, small ? size.small : size.full);
    const pages = await tour(talkative, [demo.owner, demo.operator], progress);
    requireAll(pages);
    const service = await startService({ settings });
    const cookies = new Map<Visitor, string>();
    for (const visitor of [demo.owner, demo.operator]) {
      cookies.set(visitor, await signIn(service, visitor.key));
    }
    const visit = (path: string, visitor: Visitor) => get(path, { cookie: cookies.get(visitor) ?? '' });
    return {
      service: (seconds) =>
        measured(service, seconds, pages, ({ path, visitor }) => [
          { status: 200, request: visit(path, visitor) },
        ]),
      floor: (seconds) =>
        measured(service, seconds, pages, ({ questions, visitor }) => [
          // Measures the lookup of the session alone: a signed-in visitor is redirected.
          { status: 303, request: visit('/console/login', visitor) },
          ...questions.map(({ path, status }) => ({
            status,
            request: get(path, { authorization: `Bearer ${visitor.key}` }),
          })),
        ]),
      notes: async () => notesOn(pages),
      close: () => service.stop(),
    };
  },
};

function figureOf(name: string): string {
  return `${name} p50 ms`;
}

function requireAll(pages: readonly ToldPage[]): void {
  const missing = pageNames.filter((name) => pages.every((page) => page.name !== name));
  if (missing.length > 0) {
    throw new Error(`no link leads to ${missing.join(', ')}: create what they are about`);
  }
}

/** Creates the demo and further resources, so that there is a page of each kind. */
async function furnish(
  service: ServiceProcess,
  runs: number,
): Promise<Record<'owner' | 'operator', Visitor>> {
  const printed = await service.command('demo', '--runs', String(runs));
  const [, id = ''] = /Created (org_\w+)/.exec(printed) ?? [];
  const [, key = ''] = /Bearer (\w+)/.exec(printed) ?? [];
  const own = (method: string, path: string, body: object) =>
    service.call(method, `/v1/orgs/${id}/${path}`, body, key);
  await own('POST', 'capacity-scenarios', { name: 'Growth', changes: { growth_percent_per_month: 20 } });
  await own('POST', 'members', { email: 'ada@example.com', role: 'viewer' });
  await own('POST', 'safety-detectors', {
    name: 'secret words',
    kind: 'words',
    words: ['x'],
    action: 'flag',
  });
  await own('POST', 'statements', statementBody());
  await own('POST', 'connections', {
    name: 'openai',
    kind: 'openai',
    api_key: 'sk-0123456789abcdef',
    models: ['gpt-*'],
  });
  await own('POST', 'email-subscriptions', { recipients: ['ops@example.com'], digest: 'weekly' });
  await service.call('POST', '/v1/benchmarks/cohorts', { name: 'Peers', criteria: {} }, key);
  await service.post('/v1/admin/plans', {
    name: 'Starter',
    monthly_runs: 1_000_000,
    overage_policy: 'allow',
  });
  await service.call('PUT', `/v1/admin/orgs/${id}/prices/gpt-4o`, { discount_percent: '20' });
  await service.post('/v1/admin/support/grants', {
    org_id: id,
    scope: ['runs:read'],
    reason: 'Bench',
    expires_at: new Date(Date.now() + 3_600_000).toISOString(),
  });
  return { owner: { side: 'org', key }, operator: { side: 'operator', key: operatorKey } };
}

interface Measured {
  readonly request: LoadRequest;
  readonly status: number;
}

function get(path: string, headers: Record<string, string>): LoadRequest {
  return { method: 'GET', path, headers };
}

/** The slowest of several requests counts. Requests that pages have in common are measured once. */
async function measured(
  { port }: ServiceProcess,
  seconds: number,
  pages: readonly ToldPage[],
  requestsOf: (page: ToldPage) => readonly Measured[],
): Promise<Sample> {
  const p50s = new Map<string, number>();
  const p50Of = async ({ request, status }: Measured) => {
    const name = JSON.stringify(request);
    const known = p50s.get(name);
    if (known !== undefined) {
      return known;
    }
    const { latenciesMs } = await load({
      port,
      request,
      connections: 1,
      seconds: seconds * shareOfTurn,
      alsoFine: status,
    });
    const p50 = percentile(latenciesMs, 50);
    p50s.set(name, p50);
    return p50;
  };
  const figures: Record<string, number> = {};
  for (const page of pages) {
    let slowest = 0;
    for (const request of requestsOf(page)) {
      slowest = Math.max(slowest, await p50Of(request));
    }
    figures[figureOf(page.name)] = slowest;
  }
  return figures;
}

function notesOn(pages: readonly ToldPage[]): string[] {
  const largest = pages.toSorted((a, b) => b.bytes - a.bytes);
  const named = (list: readonly { name: string }[]) => list.map(({ name }) => name).join(', ') || 'none';
  return [
    `bytes with stylesheet, script and icon, the largest: ${largest
      .slice(0, 5)
      .map(({ name, bytes }) => `${name} ${bytes}`)
      .join(', ')}`,
    `pages of ${bytesMax} bytes or more: ${named(pages.filter(({ bytes }) => bytes >= bytesMax))}`,
    `pages that ask nothing but who is signed in: ${named(pages.filter(({ questions }) => questions.length === 0))}`,
  ];
}
