/** What the console's pages of a busy org cost, beside the slowest question that each asks of the API. */
import type { BenchOrg } from '../bench-org.ts';
import { type LoadRequest, load, percentile } from '../load.ts';
import type { PairsRow, Sample } from '../measure.ts';
import { type ServiceProcess, startService } from '../processes.ts';
import { seededDirectory } from '../seed.ts';
import { fill } from './growth-runs.ts';

const size = { full: 200_000, small: 20_000 };
const bytesMax = 200_000;

interface ConsolePage {
  readonly name: string;
  readonly path: string;
  /** The dearest of what it asks; `{id}` is the org's. */
  readonly questions: readonly string[];
}

const pages: readonly ConsolePage[] = [
  {
    name: 'overview',
    path: '/console',
    questions: [
      '/v1/orgs/{id}/usage?group_by=day,model&limit=200',
      '/v1/orgs/{id}/usage?group_by=customer_id&limit=6',
      '/v1/capacity/forecasts?horizon_days=30',
      '/v1/orgs/{id}/limits?limit=200',
    ],
  },
  { name: 'runs', path: '/console/runs', questions: ['/v1/runs?limit=50'] },
  { name: 'limits', path: '/console/limits', questions: ['/v1/orgs/{id}/limits?limit=100', '/v1/orgs/{id}'] },
  {
    name: 'forecasts',
    path: '/console/forecasts',
    questions: [
      '/v1/capacity/forecasts?horizon_days=30',
      '/v1/orgs/{id}/forecasts?horizon_days=30&history_days=60',
    ],
  },
  { name: 'audit', path: '/console/audit', questions: ['/v1/orgs/{id}/audit-log?sort=-seq&limit=50'] },
];

export const consolePages: PairsRow = {
  kind: 'pairs',
  name: 'console-pages',
  what: `pages of the console of an org with ${size.full} runs; embedded engine, one connection`,
  floor: 'the slowest question that the page asks, over HTTP by itself, same service',
  toReach: Object.fromEntries(pages.map(({ name }) => [`${name} p50 ms`, { atMost: 5 }])),
  shrinks: true,
  async prepare({ small, progress }) {
    const { dataDir, seeded } = await seededDirectory((db) =>
      fill(db, small ? size.small : size.full, progress),
    );
    const service = await startService({ settings: { SVC_DATA_DIR: dataDir } });
    const org = await signIn(service, seeded.many);
    return {
      service: (seconds) => measured(service, seconds, ({ path }) => [path], { cookie: org.cookie }),
      floor: (seconds) =>
        measured(
          service,
          seconds,
          ({ questions }) => questions.map((question) => question.replace('{id}', org.id)),
          { authorization: `Bearer ${org.key}` },
        ),
      notes: () => sizes(service, org.cookie),
      close: () => service.stop(),
    };
  },
};

interface Visitor extends BenchOrg {
  readonly cookie: string;
}

/** With a key that may see every page. */
async function signIn(service: ServiceProcess, { id }: BenchOrg): Promise<Visitor> {
  const areas = ['org', 'keys', 'runs', 'budgets', 'customers', 'credits', 'policies', 'audit', 'forecasts'];
  const { secret: key } = await service.post<{ secret: string }>(`/v1/admin/orgs/${id}/keys`, {
    name: 'visitor',
    role: 'owner',
    scopes: areas.map((area) => `${area}:read`),
  });
  const answer = await fetch(`http://127.0.0.1:${service.port}/console/login`, {
    method: 'POST',
    redirect: 'manual',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({ key }),
  });
  const [cookie = ''] = (answer.headers.get('set-cookie') ?? '').split(';');
  return { id, key, cookie };
}

/** Of several paths the slowest counts. */
async function measured(
  { port }: ServiceProcess,
  seconds: number,
  pathsOf: (page: ConsolePage) => readonly string[],
  headers: Record<string, string>,
): Promise<Sample> {
  const figures: Record<string, number> = {};
  for (const page of pages) {
    const paths = pathsOf(page);
    const p50s: number[] = [];
    for (const path of paths) {
      const request: LoadRequest = { method: 'GET', path, headers };
      const { latenciesMs } = await load({ port, request, connections: 1, seconds: seconds / 2 });
      p50s.push(percentile(latenciesMs, 50));
    }
    figures[`${page.name} p50 ms`] = Math.max(...p50s);
  }
  return figures;
}

async function sizes({ port }: ServiceProcess, cookie: string): Promise<string[]> {
  return Promise.all(
    pages.map(async ({ name, path }) => {
      const answer = await fetch(`http://127.0.0.1:${port}${path}`, { headers: { cookie } });
      const { length } = await answer.arrayBuffer().then((bytes) => new Uint8Array(bytes));
      return `${name}: ${length} bytes, ${length < bytesMax ? 'below' : 'NOT BELOW'} ${bytesMax}`;
    }),
  );
}
