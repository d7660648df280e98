/** `guard`, `withRun` and the fail modes, against a running service. */
import { afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { spawnNode } from '../../../test/support/child-process.ts';
import { useGatewayWorld } from '../../../test/support/gateway-world.ts';
import { createPurser, type Purser, PurserApiError, type PurserOptions } from './node.ts';
import type { FailedOperation } from './settlements.ts';

const gateway = useGatewayWorld();
let key: string;
let purser: Purser;
const failed: FailedOperation[] = [];
/** Paths that the service does not answer. */
let away: RegExp | undefined;

const request = { model: 'gpt-test', input_tokens: 100, max_output_tokens: 50 };

function client(options: PurserOptions = {}): Purser {
  return createPurser({
    url: gateway.url,
    key,
    timeoutMs: 600_000,
    requestTimeoutMs: 600_000,
    maxRetries: 0,
    fetch: (input, init) =>
      away?.test(String(input)) ? Promise.reject(new TypeError('fetch failed')) : fetch(input, init),
    onError: (_, { operation }) => failed.push(operation),
    ...options,
  });
}

beforeAll(async () => {
  const scopes = ['edge:decide', 'runs:write', 'runs:backfill'] as const;
  ({ secret: key } = await gateway.world.mintKey(gateway.org, 'admin', scopes));
  purser = client();
});
beforeEach(async () => {
  gateway.world.clock.advanceSeconds(1);
  await gateway.cap('1000');
});
afterEach(() => {
  away = undefined;
  failed.length = 0;
});

async function newestRun() {
  const [run] = await gateway.runs();
  return run;
}

test('the usage that the function reports is charged, and the hold released', async () => {
  const result = await purser.guard(request, (call) => {
    expect(call.maxOutputTokens).toBe(50);
    expect(call.decision?.held_usd).toBe('0.0006');
    call.used({ input_tokens: 90, output_tokens: 7 });
    return 'answer';
  });
  expect(result).toBe('answer');
  await purser.flush();
  expect(await newestRun()).toMatchObject({
    input_tokens: 90,
    output_tokens: 7,
    cost_usd: '0.00016',
    marks: [],
  });
  expect(await gateway.holds()).toBe(0);
});

test.each([
  ['chat', { object: 'chat.completion', usage: { prompt_tokens: 11, completion_tokens: 3 } }],
  ['responses', { object: 'response', usage: { input_tokens: 11, output_tokens: 3 } }],
  ['messages', { type: 'message', usage: { input_tokens: 11, output_tokens: 3 } }],
])('the usage in a response of %s is charged', async (api, response) => {
  await purser.guard({ ...request, external_id: `detected ${api}` }, () => response);
  await purser.flush();
  expect(await newestRun()).toMatchObject({ input_tokens: 11, output_tokens: 3, cost_usd: '0.000041' });
});

test('a response that names another model has its price', async () => {
  const usage = { prompt_tokens: 11, completion_tokens: 3 };
  await purser.guard(request, () => ({ object: 'chat.completion', model: 'embed-test', usage }));
  await purser.flush();
  expect(await newestRun()).toMatchObject({
    model: 'gpt-test',
    served_model: 'embed-test',
    cost_usd: '0.000011',
  });
});

test('without usage the held amount is charged', async () => {
  await purser.guard(request, () => 'no usage');
  await purser.flush();
  expect(await newestRun()).toMatchObject({ cost_usd: '0.0006', marks: ['usage_missing'] });
});

test('a function that throws leaves no hold and no run; one that has reported usage is charged', async () => {
  const before = (await gateway.runs()).length;
  const broken = purser.guard(request, () => {
    throw new Error('broken');
  });
  await expect(broken).rejects.toThrow('broken');
  await purser.flush();
  expect([await gateway.holds(), (await gateway.runs()).length]).toEqual([0, before]);
  gateway.world.clock.advanceSeconds(1);
  const late = purser.guard(request, (call) => {
    call.used({ input_tokens: 5, output_tokens: 1 });
    throw new Error('after the call');
  });
  await expect(late).rejects.toThrow('after the call');
  await purser.flush();
  expect(await newestRun()).toMatchObject({ status: 'failed', input_tokens: 5, cost_usd: '0.000015' });
});

test('a denied call is not made', async () => {
  await gateway.cap('0.000001');
  const denied = purser.guard(request, () => expect.fail('called'));
  await expect(denied).rejects.toMatchObject({ code: 'spend_cap_exceeded', status: 402 });
});

test('withRun carries attribution through asynchronous code; inner values and fields of the request win', async () => {
  const outer = { customer: 'acme', chain: 'chain-1', team: 'red', tags: { a: '1', b: '1' } };
  await purser.withRun(outer, async () => {
    await new Promise((resolve) => setImmediate(resolve));
    await purser.withRun({ chain: 'chain-2', tags: { b: '2' } }, () =>
      purser.guard({ ...request, team: 'blue', tags: { c: '3' } }, (call) => {
        call.used({ input_tokens: 1, output_tokens: 1 });
      }),
    );
  });
  await purser.flush();
  expect(await newestRun()).toMatchObject({
    customer_id: 'acme',
    chain_id: 'chain-2',
    team: 'blue',
    tags: { a: '1', b: '2', c: '3' },
  });
  gateway.world.clock.advanceSeconds(1);
  await purser.guard(request, (call) => call.used({ input_tokens: 1, output_tokens: 1 }));
  await purser.flush();
  expect(await newestRun()).toMatchObject({ customer_id: null, tags: {} });
});

test('if Purser is away, `closed` denies with 503 and `open` makes the call and records it later', async () => {
  away = /decision/;
  const closed = purser.guard(request, () => expect.fail('called'));
  await expect(closed).rejects.toMatchObject({ code: 'service_unavailable', status: 503 });
  const open = client({ failMode: 'open' });
  const result = await open.guard({ ...request, external_id: 'made while away' }, (call) => {
    expect(call.decision).toBeUndefined();
    return 'made';
  });
  expect(result).toBe('made');
  expect(failed).toEqual(['decide']);
  await open.flush();
  // Its usage is not known: the highest possible one is recorded.
  expect(await newestRun()).toMatchObject({ external_id: 'made while away', cost_usd: '0.0006' });
});

test('a call that was made without a decision is recorded past a limit that would deny it', async () => {
  away = /decision/;
  await gateway.cap('0.000001');
  const open = client({ failMode: 'open' });
  await open.guard({ ...request, external_id: 'past the limit' }, (call) =>
    call.used({ input_tokens: 10, output_tokens: 1 }),
  );
  await open.flush();
  expect(await newestRun()).toMatchObject({ external_id: 'past the limit', marks: ['backfill'] });
});

test('a denial is not a failure: `open` does not make a call that a limit denies', async () => {
  await gateway.cap('0.000001');
  const denied = client({ failMode: 'open' }).guard(request, () => expect.fail('called'));
  await expect(denied).rejects.toBeInstanceOf(PurserApiError);
});

test('a decision that takes too long counts as one that failed, and its hold is released', async () => {
  let decisions = 0;
  const slow = client({
    failMode: 'open',
    timeoutMs: 5,
    fetch: async (input, init) => {
      if (!String(input).endsWith('decision') || ++decisions > 1) {
        return fetch(input, init);
      }
      const aborted = new Promise((resolve) => init?.signal?.addEventListener('abort', resolve));
      // The service has decided before the client gives up, but the answer is lost.
      expect((await fetch(input, { ...init, signal: null })).status).toBe(200);
      await aborted;
      throw init?.signal?.reason;
    },
  });
  expect(await slow.guard(request, (call) => call.decision)).toBeUndefined();
  await slow.flush();
  expect(decisions).toBe(2);
  expect(await gateway.holds()).toBe(0);
});

test('a call that was made without a decision is recorded past a policy that would block it', async () => {
  away = /decision/;
  const path = `/v1/orgs/${gateway.org.id}/policies`;
  const { ownerKey } = gateway.org;
  const body = { effect: 'block', models: ['gpt-*'], priority: 1, reason: 'Not this one.' };
  const { json: policy } = await gateway.world.request('POST', path, { key: ownerKey, body });
  const open = client({ failMode: 'open' });
  await open.guard({ ...request, external_id: 'past the policy' }, (call) =>
    call.used({ input_tokens: 10, output_tokens: 1 }),
  );
  await open.flush();
  await gateway.world.request('DELETE', `${path}/${policy.id}`, { key: ownerKey });
  expect(await newestRun()).toMatchObject({ external_id: 'past the policy', marks: ['backfill'] });
});

test('a process that waits for `flush` does not end before its settlements are posted', async () => {
  const script = `
    import { createPurser } from './packages/client/src/index.ts';
    let posts = 0;
    const purser = createPurser({
      key: 'k', failMode: 'open', maxRetries: 0, onError: () => undefined,
      fetch: async (input) => {
        if (!String(input).endsWith('/v1/runs') || ++posts < 3) throw new TypeError('away');
        return new Response('{}', { status: 201 });
      },
    });
    await purser.guard({ model: 'm', input_tokens: 1, max_output_tokens: 1 }, () => undefined);
    await purser.flush();
    console.log(posts);`;
  const { ended, stdout } = spawnNode(['--import', 'tsx', '--input-type=module', '--eval', script], {});
  expect(await ended).toMatchObject({ code: 0 });
  expect(stdout()).toBe('3\n');
});

test('an error hook that throws does not break the call', async () => {
  away = /decision/;
  const open = client({
    failMode: 'open',
    onError: () => {
      throw new Error('hook');
    },
  });
  expect(await open.guard(request, () => 'made')).toBe('made');
  await open.flush();
});
