/** Every response of the corpus, through the gateway and through the client: what is relayed, and what is posted. */
import { beforeAll, describe, expect, test } from 'vitest';
import { createPurser } from '../../packages/client/src/node.ts';
import {
  bytesOf,
  type CorpusEntry,
  type Expected,
  priceBodyOf,
  readCorpus,
  readPrices,
  requestOf,
  startCorpusProvider,
} from '../support/corpus.ts';
import { eventually } from '../support/eventually.ts';
import { useFixture } from '../support/fixtures.ts';
import { connectionTo, providerKey, type RunSummary, useGatewayWorld } from '../support/gateway-world.ts';

const entries = readCorpus();
/** The client does not meter calls in Gemini's own format. */
const metered = entries.filter(({ api }) => api !== 'gemini' && api !== 'converse');
const named = (side: Side, isEstimated: boolean) =>
  (side === 'client' ? metered : entries)
    .filter(({ expected }) => (expected.is_estimated === true) === isEstimated)
    .map((entry) => [entry.id, entry] as const);
const gateway = useGatewayWorld();
const provider = useFixture(() => startCorpusProvider(entries));
/** Calls at the same time. */
const parallel = 16;

const paths = {
  chat: '/chat/completions',
  responses: '/responses',
  messages: '/messages',
  embeddings: '/embeddings',
  gemini: '',
  converse: '',
} as const;

/** Connections, by their name. Those of all other providers are of the last kind. */
const kinds = {
  openai: 'openai',
  anthropic: 'anthropic',
  azure: 'azure_openai',
  compatible: 'openai_compatible',
  google: 'gemini',
  vertex: 'vertex',
  aws: 'bedrock',
} as const;

type Side = 'gateway' | 'client';
interface Run extends RunSummary {
  readonly cost_parts: readonly { readonly kind: string; readonly cost_usd: string }[] | null;
  readonly metadata: Readonly<Record<string, unknown>>;
}
interface Replayed {
  readonly status: number;
  readonly text: string;
}
const answers: Record<Side, Map<string, Replayed>> = { gateway: new Map(), client: new Map() };
const runs: Record<Side, Map<string, Run>> = { gateway: new Map(), client: new Map() };
const errors: unknown[] = [];

beforeAll(async () => {
  await setPrices();
  await holdDeployments();
  gateway.connections = Object.entries(kinds).map(([name, kind]) =>
    // In express mode Vertex AI has no region.
    connectionTo(provider.url, kind, { name, ...(name === 'vertex' && { baseUrl: provider.url }) }),
  );
  await forEach(entries, async (entry) => {
    answers.gateway.set(entry.id, await callGateway(entry));
  });
  const { secret: key } = await gateway.world.mintKey(gateway.org, 'member', ['edge:decide', 'runs:write']);
  const purser = createPurser({
    url: gateway.url,
    key,
    timeoutMs: 600_000,
    requestTimeoutMs: 600_000,
    onError: (error) => errors.push(error),
  });
  await forEach(metered, async (entry) => {
    const meter = purser.wrap(
      { withOptions: (options: { fetch: typeof fetch }) => options, fetch: toProvider },
      {
        attribution: { workflow: entry.id, action: 'client' },
      },
    ) as unknown as { fetch: typeof fetch };
    answers.client.set(entry.id, await call(meter.fetch, `${hostOf(entry)}/v1${paths[entry.api]}`, entry));
  });
  await purser.flush();
  await eventually(async () => expect(await gateway.holds()).toBe(0));
  await forEach(await allRuns(), async ({ id, action, workflow }) => {
    // Lists have no parts.
    const { json } = await gateway.world.request('GET', `/v1/runs/${id}`, { key: gateway.org.ownerKey });
    (action === 'client' ? runs.client : runs.gateway).set(String(workflow), json);
  });
});

/** The client knows from the host what is charged besides the usage. */
function hostOf({ provider: name }: CorpusEntry): string {
  const isKnown = name === 'openai' || name === 'anthropic';
  return isKnown ? `https://api.${name}.com` : provider.url;
}

const toProvider: typeof fetch = (url, init) =>
  fetch(String(url).replace(/^https:\/\/api\.\w+\.com/, provider.url), init);

async function setPrices(): Promise<void> {
  for (const [model, price] of readPrices()) {
    const { status, json } = await gateway.world.request(
      'PUT',
      `/v1/admin/models/${encodeURIComponent(model)}`,
      { key: gateway.world.operatorKey, body: priceBodyOf(price) },
    );
    expect([status < 300, json]).toEqual([true, json]);
  }
}

/** Deployments have no price before their models are known. Default rates far above all others show in any cost that they decide. */
async function holdDeployments(): Promise<void> {
  const { status } = await gateway.world.request('PUT', `/v1/orgs/${gateway.org.id}/unpriced-policy`, {
    key: gateway.org.ownerKey,
    body: { on_unpriced: 'hold_default', input_usd_per_million: '5000', output_usd_per_million: '5000' },
  });
  expect(status).toBe(200);
}

/** Each kind of connection has one of its name. */
function callGateway(entry: CorpusEntry): Promise<Replayed> {
  const { provider: name, api, model } = entry;
  const connection = name in kinds ? name : 'compatible';
  const below: Readonly<Record<string, string>> = {
    anthropic: '/anthropic/v1',
    azure: `/compat/azure/openai${api === 'responses' ? '' : `/deployments/${encodeURIComponent(model)}`}`,
  };
  if (api === 'gemini') {
    const method = entry.events === undefined ? 'generateContent' : 'streamGenerateContent?alt=sse';
    const models = name === 'vertex' ? '/vertex/v1/publishers/google/models' : '/gemini/v1beta/models';
    return call(fetch, `${gateway.url}${models}/${model}:${method}`, entry, {
      authorization: `Bearer ${gateway.key}`,
      'x-svc-workflow': entry.id,
    });
  }
  if (api === 'converse') {
    const method = entry.events === undefined ? 'converse' : 'converse-stream';
    return call(fetch, `${gateway.url}/bedrock/model/${encodeURIComponent(model)}/${method}`, entry, {
      authorization: `Bearer ${gateway.key}`,
      'x-svc-workflow': entry.id,
    });
  }
  const base = below[connection] ?? `/compat/${connection}/v1`;
  return call(fetch, `${gateway.url}${base}${paths[api]}`, entry, {
    authorization: `Bearer ${gateway.key}`,
    'x-svc-workflow': entry.id,
  });
}

async function call(
  send: typeof fetch,
  url: string,
  entry: CorpusEntry,
  headers: Record<string, string> = { authorization: `Bearer ${providerKey}` },
): Promise<Replayed> {
  const response = await send(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(requestOf(entry)),
  });
  return { status: response.status, text: Buffer.from(await response.arrayBuffer()).toString() };
}

async function forEach<Item>(items: readonly Item[], work: (item: Item) => Promise<void>): Promise<void> {
  const left = [...items];
  const worker = async () => {
    for (let item = left.shift(); item !== undefined; item = left.shift()) {
      await work(item);
    }
  };
  await Promise.all(Array.from({ length: parallel }, worker));
}

async function allRuns(): Promise<RunSummary[]> {
  const found: RunSummary[] = [];
  for (let cursor = ''; ; ) {
    const { json } = await gateway.world.request('GET', `/v1/runs?limit=200${cursor}`, {
      key: gateway.org.ownerKey,
    });
    found.push(...json.data);
    if (json.next_cursor === null) {
      return found;
    }
    cursor = `&cursor=${encodeURIComponent(json.next_cursor)}`;
  }
}

function recordedOf({ tokens, units = {}, tier, region, served_model, cost_usd }: Expected): object {
  return {
    input_tokens: tokens.input ?? 0,
    cached_input_tokens: tokens.cached_input ?? 0,
    cache_write_tokens: tokens.cache_write ?? 0,
    cache_write_1h_tokens: tokens.cache_write_1h ?? 0,
    output_tokens: tokens.output ?? 0,
    units,
    service_tier: tier ?? null,
    region: region ?? null,
    served_model: served_model ?? null,
    cost_usd,
    marks: [],
  };
}

/** Returns the kinds whose cost differs by more than the rounding of sums to whole nanodollars. */
function differingParts({ cost_parts: posted }: Run, { parts_usd, is_stated }: Expected): object {
  // A stated cost is divided in proportion to rounded parts.
  const rounding = is_stated ? 5e-9 : 1.01e-9;
  const costs = new Map(posted?.map(({ kind, cost_usd }) => [kind, cost_usd]));
  const kinds = new Set([...costs.keys(), ...Object.keys(parts_usd)]);
  const pairs = [...kinds].map((kind) => [kind, costs.get(kind) ?? '0', parts_usd[kind] ?? '0'] as const);
  return pairs.filter(([, posted, expected]) => Math.abs(Number(posted) - Number(expected)) > rounding);
}

test('the ids of entries are unique, and no part of the client has failed', () => {
  expect(new Set(entries.map(({ id }) => id)).size).toBe(entries.length);
  expect(errors).toEqual([]);
});

describe.each(['gateway', 'client'] as const)('the %s', (side) => {
  test.each(named(side, false))(
    'posts the documented usage and cost of %s, and relays its bytes',
    (id, { expected, ...entry }) => {
      expectRelayed(side, entry);
      const { marks, ...run } = runs[side].get(id) as Run;
      // The inputs of recorded calls were longer than that of the replayed one, which is held.
      const others = marks.filter((mark) => mark !== 'over_hold');
      expect({ ...run, marks: others }).toMatchObject(recordedOf(expected));
      // The client posts a stated cost as given, which is not divided.
      if (side === 'gateway' || !expected.is_stated) {
        expect(differingParts({ ...run, marks }, expected)).toEqual([]);
      }
    },
  );

  test.each(named(side, true))(
    'charges an upper bound for %s, whose usage is not whole',
    (id, { expected: { tokens }, ...entry }) => {
      expectRelayed(side, entry);
      const run = runs[side].get(id) as Run;
      const isEstimated =
        side === 'client' ? run.metadata.usage_estimated : run.marks.includes('usage_estimated');
      expect(isEstimated).toBe(true);
      expect(Number(run.cost_usd)).toBeGreaterThan(0);
      expect(run.input_tokens).toBeGreaterThanOrEqual(tokens.input ?? 0);
      expect(run.output_tokens).toBeGreaterThanOrEqual(tokens.output ?? 0);
    },
  );
});

function expectRelayed(side: Side, entry: Omit<CorpusEntry, 'expected'>): void {
  const { status, text } = answers[side].get(entry.id) as Replayed;
  expect([status, text]).toEqual([200, bytesOf(entry).toString()]);
}
