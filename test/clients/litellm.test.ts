/** The proxy of LiteLLM with the callback of `integrations/litellm`: every call is decided before it and settled after it. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type CuttingProxy, startCuttingProxy } from '../support/cutting-proxy.ts';
import { eventually } from '../support/eventually.ts';
import { createGatewayWorld, type GatewayWorld, type RunSummary } from '../support/gateway-world.ts';
import type { Fault } from '../support/mock-provider.ts';
import { type LiteLlmProxy, liteLlmProgram, type ProxyOptions, startProxy } from './litellm-proxy.ts';

const program = await liteLlmProgram();

const prompt = [{ role: 'user', content: 'How are you?' }];
const apis = {
  chat: { path: '/v1/chat/completions', body: { model: 'gpt-test', messages: prompt } },
  responses: { path: '/v1/responses', body: { model: 'gpt-test', input: 'How are you?' } },
  messages: { path: '/v1/messages', body: { model: 'claude-test', max_tokens: 50, messages: prompt } },
  embeddings: { path: '/v1/embeddings', body: { model: 'embed-test', input: 'How are you?' } },
} as const;
type Api = keyof typeof apis;
const streamed = ['chat', 'responses', 'messages'] as const;

function closedGate(): { open(): void; readonly opened: Promise<void> } {
  let open: () => void = () => undefined;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open: () => open(), opened };
}

interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

describe.skipIf(program === undefined)('the proxy of LiteLLM', () => {
  let world: GatewayWorld;
  let purserKey: string;
  /** From LiteLLM to Purser. */
  let path: CuttingProxy;
  let proxy: LiteLlmProxy;

  const start = (options: Partial<ProxyOptions> = {}) =>
    startProxy(program as string, {
      providerUrl: world.provider.url,
      purserUrl: path.url,
      purserKey,
      ...options,
    });

  beforeAll(async () => {
    world = await createGatewayWorld();
    purserKey = (
      await world.world.mintKey(world.org, 'member', ['edge:decide', 'runs:write', 'runs:backfill'])
    ).secret;
    path = await startCuttingProxy(world.url);
    proxy = await start();
  });
  afterAll(async () => {
    await proxy?.stop();
    await path?.close();
    await world?.close();
  });
  beforeEach(async () => {
    const { provider } = world;
    path.restore();
    await world.cap('1000');
    provider.fault = undefined;
    provider.beforeChunk = undefined;
    provider.outputOf = () => 5;
    provider.bill.length = 0;
    provider.requests.length = 0;
  });

  async function call(
    api: Api,
    more: object = {},
    {
      key = 'web/amy/key-of-amy',
      signal,
      url = proxy.url,
      headers = {},
    }: { key?: string; signal?: AbortSignal; url?: string; headers?: Record<string, string> } = {},
  ): Promise<Answer> {
    const response = await fetch(`${url}${apis[api].path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ ...apis[api].body, ...more }),
      ...(signal && { signal }),
    });
    return { status: response.status, headers: response.headers, text: await response.text() };
  }

  /** Makes calls, and returns the runs that they have caused, once there are as many as expected and nothing is held. */
  async function runsOf<Result>(
    runs: number | (() => number),
    calls: () => Promise<Result>,
  ): Promise<[RunSummary[], Result]> {
    const known = new Set((await world.runs()).map(({ id }) => id));
    const result = await calls();
    const added = async () => (await world.runs()).filter(({ id }) => !known.has(id));
    const expected = typeof runs === 'number' ? runs : runs();
    await eventually(async () =>
      expect([await world.holds(), (await added()).length]).toEqual([0, expected]),
    );
    return [await added(), result];
  }

  test.each([
    ...(Object.keys(apis) as Api[]).map((api) => ({ api, stream: false })),
    ...streamed.map((api) => ({ api, stream: true })),
  ])(
    '$api, stream: $stream: posts what the provider billed, with team, user and key',
    async ({ api, stream }) => {
      const [runs, answer] = await runsOf(1, () => call(api, stream ? { stream } : {}));
      expect([answer.status, answer.text]).toEqual([200, expect.any(String)]);
      expect(world.provider.bill).toHaveLength(1);
      const [billed] = world.provider.bill;
      expect(runs).toMatchObject([
        {
          status: 'succeeded',
          model: apis[api].body.model,
          input_tokens: billed?.inputTokens,
          output_tokens: billed?.outputTokens,
          team: 'web',
          member_id: 'amy',
          tags: { litellm_key: 'key-of-amy' },
          marks: [],
        },
      ]);
    },
  );

  test.each(streamed)(
    '%s: an end user is the customer, and a request may name workflow, chain and tags',
    async (api) => {
      const purser = {
        workflow: 'support',
        project: 'search',
        chain_id: 'session-1',
        tags: { tier: 'gold' },
      };
      const user =
        api === 'messages'
          ? { metadata: { user_id: 'acme', purser } }
          : { user: 'acme', metadata: { purser } };
      const [runs] = await runsOf(1, () => call(api, user));
      const tags = { tier: 'gold', litellm_key: 'key-of-amy' };
      expect(runs).toMatchObject([
        { workflow: 'support', project: 'search', chain_id: 'session-1', tags, customer_id: 'acme' },
      ]);
    },
  );

  test.each(Object.keys(apis) as Api[])(
    '%s: a denied call reaches no provider, is not repeated, and disables no deployment',
    async (api) => {
      await world.cap('0.0000001');
      const before = await denials();
      const [, answer] = await runsOf(0, () => call(api));
      expect([answer.status, answer.text]).toEqual([402, expect.stringContaining('spend_cap_exceeded')]);
      expect(world.provider.requests).toEqual([]);
      expect(await denials()).toBe(before + 1);
      await world.cap('1000');
      const [runs, next] = await runsOf(1, () => call(api));
      expect([next.status, runs.length]).toEqual([200, 1]);
    },
  );

  test('a rate limit is 429 with the time to wait', async () => {
    const put = (policies: object[]) =>
      world.world.request('PUT', `/v1/admin/orgs/${world.org.id}/rate-limits`, {
        key: world.world.operatorKey,
        body: { policies },
      });
    const policy = {
      name: 'slow',
      match: { model: 'gpt-test' },
      unit: 'requests',
      limit: 1,
      window_seconds: 3_600,
      kind: 'rate',
    };
    expect((await put([policy])).status).toBe(200);
    const [, answers] = await runsOf(1, async () => [await call('chat'), await call('chat')]);
    expect(answers.map(({ status }) => status)).toEqual([200, 429]);
    expect(Number(answers[1]?.headers.get('retry-after'))).toBeGreaterThan(1);
    expect((await put([])).status).toBe(200);
  });

  /** The first request to the provider fails. */
  function failFirst(fault: Fault): void {
    let attempts = 0;
    world.provider.fault = () => {
      attempts += 1;
      return attempts === 1 ? fault : undefined;
    };
  }

  test.each([429, 500])(
    'an attempt that the provider answers with %i costs nothing, and the next is posted',
    async (status) => {
      failFirst({ status, retryAfter: '0' });
      const [runs, answer] = await runsOf(1, () => call('chat'));
      expect([answer.status, world.provider.requests.length, runs[0]?.output_tokens]).toEqual([200, 2, 5]);
    },
  );

  test('an attempt that the provider does not answer is posted at the held amount', async () => {
    failFirst('reset');
    const [runs, answer] = await runsOf(2, () => call('chat'));
    expect(answer.status).toBe(200);
    expect(runs.map(({ status }) => status).sort()).toEqual(['failed', 'succeeded']);
  });

  test.each(streamed)('%s: a stream that breaks is posted at the held amount', async (api) => {
    world.provider.outputOf = () => 30;
    world.provider.fault = () => ({ cutAfter: 6 });
    // LiteLLM begins some streams anew.
    const [runs] = await runsOf(
      () => world.provider.bill.length,
      () => call(api, { stream: true }).catch(() => undefined),
    );
    for (const run of runs) {
      expect(run).toMatchObject({ status: 'failed', metadata: { usage: 'unknown' } });
      expect(Number(run.cost_usd)).toBeGreaterThan(0.0003);
    }
  });

  test.each(streamed)('%s: a stream whose client leaves is posted at the held amount', async (api) => {
    const abort = new AbortController();
    world.provider.outputOf = () => 30;
    world.provider.beforeChunk = async (index) => {
      if (index === 5) {
        abort.abort();
        await new Promise((resolve) => setTimeout(resolve, 200));
      }
    };
    const [runs] = await runsOf(1, () =>
      call(api, { stream: true }, { signal: abort.signal }).catch(() => undefined),
    );
    expect(runs).toMatchObject([{ status: 'cancelled', metadata: { usage: 'unknown' } }]);
    expect(Number(runs[0]?.cost_usd)).toBeGreaterThan(0.0003);
  });

  test('calls through LiteLLM fail with 503 while Purser is away, and settlements arrive once it is back', async () => {
    const [runs] = await runsOf(1, async () => {
      // The stream of a client that left may still send chunks.
      world.provider.beforeChunk = async () => {
        if (world.provider.requests.length > 0) {
          path.refuse();
        }
      };
      expect((await call('chat', { stream: true })).status).toBe(200);
      expect((await call('chat')).status).toBe(503);
      path.restore();
    });
    expect(runs).toMatchObject([{ status: 'succeeded', output_tokens: 5 }]);
  });

  test('the holds of decisions whose answers were lost are released', async () => {
    const [runs, denied] = await runsOf(0, async () => {
      path.loseAnswers();
      const answer = await call('chat');
      expect(await world.holds()).toBeGreaterThan(0);
      path.restore();
      return answer;
    });
    expect(denied.status).toBe(503);
    expect(world.provider.requests).toEqual([]);
    expect(runs).toEqual([]);
  });

  test('calls through LiteLLM with PURSER_FAIL_MODE=open are made while Purser is away, and posted once it is back', async () => {
    const open = await start({ failMode: 'open' });
    try {
      const [runs] = await runsOf(1, async () => {
        path.refuse();
        expect((await call('chat', {}, { url: open.url })).status).toBe(200);
        path.restore();
      });
      expect(runs).toMatchObject([{ status: 'succeeded', output_tokens: 5, team: 'web' }]);
    } finally {
      path.restore();
      await open.stop();
    }
  });

  test('a call through LiteLLM with PURSER_FAIL_MODE=open that no limit allows any more is recorded nevertheless', async () => {
    const open = await start({ failMode: 'open' });
    try {
      const [runs] = await runsOf(1, async () => {
        path.refuse();
        await world.cap('0.0000001');
        expect((await call('chat', {}, { url: open.url })).status).toBe(200);
        path.restore();
      });
      expect(runs).toMatchObject([{ status: 'succeeded', output_tokens: 5, marks: ['backfill'] }]);
    } finally {
      path.restore();
      await open.stop();
    }
  });

  test.each(streamed)('%s: two calls in progress cannot have the same id', async (api) => {
    const gate = closedGate();
    world.provider.beforeChunk = () => gate.opened;
    const [runs] = await runsOf(1, async () => {
      const headers = { 'x-litellm-call-id': `chosen-${api}` };
      const first = call(api, { stream: true }, { headers });
      await eventually(async () => expect(world.provider.requests).toHaveLength(1));
      const second = await call(api, {}, { headers });
      expect([second.status, second.text]).toEqual([422, expect.stringContaining('call_id_in_use')]);
      gate.open();
      expect((await first).status).toBe(200);
    });
    expect(world.provider.bill).toHaveLength(1);
    expect(runs).toMatchObject([{ output_tokens: 5 }]);
  });

  test('of 200 parallel streams through four workers of LiteLLM under a cap that fits 60, exactly 60 reach the provider', async () => {
    const body = { stream: true, max_tokens: 100 };
    const four = await start({ workers: 4 });
    try {
      const heldUsd = await holdOf(() => call('chat', body, { url: four.url }));
      await world.cap(((await spentUsd()) + 60 * heldUsd).toFixed(9));
      const gate = closedGate();
      world.provider.beforeChunk = () => gate.opened;
      world.provider.bill.length = 0;
      world.provider.requests.length = 0;
      let denied = 0;
      const [runs, statuses] = await runsOf(60, () =>
        Promise.all(
          Array.from({ length: 200 }, async () => {
            const { status } = await call('chat', body, { url: four.url });
            denied += status === 402 ? 1 : 0;
            if (denied === 140) {
              gate.open();
            }
            return status;
          }),
        ),
      );
      expect(statuses.filter((status) => status === 200)).toHaveLength(60);
      // LiteLLM also lists the provider's models from time to time.
      expect(world.provider.requests.filter(({ method }) => method === 'POST')).toHaveLength(60);
      const billed = world.provider.bill.reduce((sum, one) => sum + one.outputTokens, 0);
      expect(runs.reduce((sum, run) => sum + run.output_tokens, 0)).toBe(billed);
    } finally {
      await four.stop();
    }
  });

  /** Returns what is held for a call while it is in progress. */
  async function holdOf(start: () => Promise<Answer>): Promise<number> {
    const gate = closedGate();
    world.provider.beforeChunk = () => gate.opened;
    const [, held] = await runsOf(1, async () => {
      const answer = start();
      await eventually(async () => expect(await world.holds()).toBe(1));
      const { json } = await world.world.request('GET', `/v1/orgs/${world.org.id}/holds`, {
        key: world.org.ownerKey,
      });
      gate.open();
      await answer;
      return Number(json.data[0].held_usd);
    });
    return held;
  }

  async function spentUsd(): Promise<number> {
    const [row] = await world.world.db.query<{ total: string | null }>(
      'SELECT sum(cost_nanos)::text AS total FROM runs WHERE org_id = $1',
      [world.org.id],
    );
    return Number(row?.total ?? 0) / 1e9;
  }

  async function denials(): Promise<number> {
    await world.world.runJob('record-refusals');
    const { json } = await world.world.request('GET', `/v1/orgs/${world.org.id}/refusals`, {
      key: world.org.ownerKey,
    });
    return (json.data as { count: number }[]).reduce((sum, { count }) => sum + count, 0);
  }
});
