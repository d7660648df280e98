/** A service with the gateway in front of a mock provider, and an org with a price, a key and, on request, a daily cap. */
import { expect } from 'vitest';
import {
  type Connection,
  type ConnectionKind,
  calledAtOf,
  type GatewaySettings,
  kindOf,
  speaks,
  type WantedConnection,
} from '../../src/capabilities/integration/connections/index.ts';
import { formatUsd } from '../../src/kernel/money.ts';
import { createWorld, type TestOrg, type World, type WorldOptions } from '../harness.ts';
import { useFixture } from './fixtures.ts';
import { type MockProvider, startMockProvider } from './mock-provider.ts';

export const providerKey = 'sk-provider-secret-canary';

export interface GatewayWorld {
  world: World;
  readonly provider: MockProvider;
  readonly org: TestOrg;
  readonly key: string;
  readonly url: string;
  /** In the order in which they are tried. */
  connections: Connection[];
  settings: GatewaySettings;
  /** Ids of connections that failed and succeeded. */
  readonly reports: string[];
  /** Sets the daily cap of the org. */
  cap(usd: string): Promise<void>;
  /** Sets the daily cap to this much more than the org has spent. */
  capAbove(usd: number): Promise<void>;
  runs(): Promise<RunSummary[]>;
  /** Cost of all runs of the org. */
  spentNanos(): Promise<bigint>;
  /** Number of open holds. */
  holds(): Promise<number>;
  close(): Promise<void>;
}

export interface RunSummary {
  readonly id: string;
  readonly status: string;
  readonly model: string;
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly cost_usd: string | null;
  readonly marks: readonly string[];
  readonly [name: string]: unknown;
}

export function connectionTo(
  url: string,
  kind: ConnectionKind = 'openai',
  more: Partial<Connection> = {},
): Connection {
  const { paths, account } = kindOf({ kind });
  const isVersioned = [...paths.values()].every((path) => /^\/(v1|\{version\})/.test(path));
  const { baseUrl = `${url}${isVersioned ? (account?.example ?? '') : '/v1'}` } = more;
  return {
    id: `con_${kind}`,
    name: kind,
    kind,
    baseUrl,
    calledAt: calledAtOf({ kind, baseUrl }),
    priority: 0,
    weight: 1,
    modelNames: new Set(),
    headers: {},
    deploymentModels: {},
    // Longer than a busy machine needs. Tests of timeouts replace them.
    timeouts: { connectMs: 300_000, firstByteMs: 300_000, idleMs: 300_000, totalMs: 300_000 },
    region: undefined,
    credential: () => ({ type: 'key', key: providerKey }),
    previousCredential: () => undefined,
    ...more,
  };
}

export function serves(connection: Connection, wanted: WantedConnection): boolean {
  if ('kind' in wanted) {
    return connection.kind === wanted.kind;
  }
  return 'connection' in wanted ? connection.name === wanted.connection : speaks(connection, wanted.format);
}

/** True if the connection imitates the format for models of its own alone, and this is none of them. */
function imitatesFor(connection: Connection, wanted: WantedConnection, model = ''): boolean {
  const nameOf = 'format' in wanted ? kindOf(connection).imitated.get(wanted.format) : undefined;
  return nameOf !== undefined && nameOf(model) === undefined;
}

/** Prices in dollars per million tokens: a token of input costs $0.000001, one of output $0.00001. */
export const prices = {
  'gpt-test': ['1', '10'],
  'claude-test': ['1', '10'],
  'embed-test': ['1', '0'],
  'gemini-test': ['1', '10'],
  'bedrock-test': ['1', '10'],
} as const;

/** A gateway for the tests of a file, closed after them. */
export function useGatewayWorld(env?: Record<string, string>): GatewayWorld {
  return useFixture(() => createGatewayWorld(env));
}

export async function createGatewayWorld(
  env: Record<string, string> = {},
  options: WorldOptions = {},
): Promise<GatewayWorld> {
  const provider = await startMockProvider();
  const reports: string[] = [];
  const result = {
    connections: [connectionTo(provider.url), connectionTo(provider.url, 'anthropic')],
    settings: {
      defaultMaxOutputTokens: 1_000,
      minOutputTokens: 10,
      unseenInput: 'hold',
      unseenInputTokens: null,
      unknownTokenizer: 'estimate',
      maxToolCalls: 10,
      unpricedToolCallNanos: null,
      hold: 'worst_case',
      reserveForRunning: 5,
      plainCalls: 'as_sent',
      onLimit: 'refuse',
      onAbort: 'drain',
      customerFromBody: false,
    } as GatewaySettings,
  };
  const world = await createWorld(
    { SVC_GATEWAY_ALLOW_PRIVATE_NETWORKS: 'true', ...env },
    {
      ...options,
      gateway: {
        connections: {
          candidates(_, wanted, model) {
            const serving = result.connections.filter((one) => serves(one, wanted));
            const preferred = serving.filter((one) => !imitatesFor(one, wanted, model));
            return preferred.length > 0 ? preferred : serving;
          },
          succeeded: (id) => void reports.push(`succeeded ${id}`),
          failed: (id) => void reports.push(`failed ${id}`),
        },
        settings: { find: () => result.settings },
      },
    },
  );
  const org = await world.createOrg();
  await putPrices(world);
  const { secret } = await world.mintKey(org, 'member', ['gateway:call']);
  const { url } = await world.listen();
  const answer: GatewayWorld = Object.assign(result, {
    world,
    provider,
    org,
    key: secret,
    url,
    reports,
    async cap(usd: string) {
      await answer.world.request('PUT', `/v1/orgs/${org.id}/spend-cap`, {
        key: org.ownerKey,
        body: { cap_usd: usd },
      });
    },
    async capAbove(usd: number) {
      await answer.cap((Number(await answer.spentNanos()) / 1e9 + usd).toFixed(9));
    },
    async runs() {
      const { json } = await answer.world.request('GET', '/v1/runs?limit=200', { key: org.ownerKey });
      return json.data;
    },
    async spentNanos() {
      const [row] = await answer.world.db.query<{ total: string | null }>(
        'SELECT sum(cost_nanos)::text AS total FROM runs WHERE org_id = $1',
        [org.id],
      );
      return BigInt(row?.total ?? 0);
    },
    async holds() {
      const { json } = await answer.world.request('GET', `/v1/orgs/${org.id}/holds?limit=200`, {
        key: org.ownerKey,
      });
      return json.data.length;
    },
    async close() {
      await answer.world.close();
      await provider.close();
    },
  });
  return answer;
}

export interface ConnectedWorld {
  world: World;
  readonly provider: MockProvider;
  readonly org: TestOrg;
  readonly key: string;
  /** Creates a connection of the org over the API. Returns its id. */
  connect(fields: object): Promise<string>;
  close(): Promise<void>;
}

/** Like a gateway world, with the connections and settings of the database. */
export async function createConnectedWorld(env: Record<string, string> = {}): Promise<ConnectedWorld> {
  const provider = await startMockProvider();
  const world = await createWorld({ SVC_GATEWAY_ALLOW_PRIVATE_NETWORKS: 'true', ...env });
  const org = await world.createOrg();
  await putPrices(world);
  const { secret } = await world.mintKey(org, 'member', ['gateway:call']);
  const connected: ConnectedWorld = {
    world,
    provider,
    org,
    key: secret,
    async connect(fields) {
      const { json } = await connected.world.request('POST', `/v1/orgs/${org.id}/connections`, {
        key: org.ownerKey,
        body: { api_key: providerKey, ...fields },
      });
      return json.id;
    },
    async close() {
      await connected.world.close();
      await provider.close();
    },
  };
  return connected;
}

async function putPrices(world: World): Promise<void> {
  for (const [model, [input, output]] of Object.entries(prices)) {
    await world.request('PUT', `/v1/admin/models/${model}`, {
      key: world.operatorKey,
      body: {
        provider: model.startsWith('claude') ? 'anthropic' : model.startsWith('gemini') ? 'google' : 'openai',
        input_usd_per_million: input,
        output_usd_per_million: output,
      },
    });
  }
}

/** Expects one run with exactly the tokens and the cost that the provider has billed for one response. */
export function expectBilled({ bill }: MockProvider, runs: readonly RunSummary[], model: string): void {
  const [billed, ...more] = bill;
  expect(more).toEqual([]);
  expect(billed).toMatchObject({ model, isComplete: true });
  const { inputTokens = 0, outputTokens = 0 } = billed ?? {};
  expect(runs).toMatchObject([
    {
      status: 'succeeded',
      model,
      input_tokens: inputTokens,
      output_tokens: outputTokens,
      cost_usd: formatUsd(BigInt(inputTokens) * 1_000n + BigInt(outputTokens) * 10_000n),
      marks: [],
    },
  ]);
}
