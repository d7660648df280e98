/** The circuit breaker of a connection, from the responses of its provider to the order of the connections. */
import { beforeAll, expect, test } from 'vitest';
import { useFixture } from '../../test/support/fixtures.ts';
import { createConnectedWorld } from '../../test/support/gateway-world.ts';
import { startMockProvider } from '../../test/support/mock-provider.ts';

const second = useFixture(startMockProvider);
const gateway = useFixture(createConnectedWorld);
let url: string;
let firstId: string;
beforeAll(async () => {
  const kind = 'openai';
  firstId = await gateway.connect({ name: 'one', kind, base_url: `${gateway.provider.url}/v1`, priority: 1 });
  await gateway.connect({ name: 'two', kind, base_url: `${second.url}/v1`, priority: 2 });
  ({ url } = await gateway.world.listen());
});

/** Sends a call. Returns its status, and the requests that each provider received. */
async function call(): Promise<[status: number, first: number, second: number]> {
  gateway.provider.requests.length = 0;
  second.requests.length = 0;
  const response = await fetch(`${url}/openai/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${gateway.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'gpt-test', messages: [{ role: 'user', content: 'hello' }] }),
  });
  await response.text();
  return [response.status, gateway.provider.requests.length, second.requests.length];
}

async function breaker() {
  const path = `/v1/orgs/${gateway.org.id}/connections/${firstId}`;
  return (await gateway.world.request('GET', path, { key: gateway.org.ownerKey })).json.breaker;
}

test('a connection that fails five times in a row is tried last, then by single calls, and first again once it works', async () => {
  gateway.provider.fault = () => ({ status: 500 });
  for (let failure = 1; failure <= 5; failure += 1) {
    expect((await breaker()).state).toBe('closed');
    expect(await call()).toEqual([200, 1, 1]);
  }
  expect(await breaker()).toMatchObject({ state: 'open', consecutive_failures: 5 });
  expect(await call()).toEqual([200, 0, 1]);
  // It is not left out: the other one may fail too.
  second.fault = () => ({ status: 503 });
  expect(await call()).toEqual([503, 1, 2]);
  second.fault = undefined;

  gateway.world.clock.advanceSeconds(60);
  expect((await breaker()).state).toBe('half_open');
  expect(await call()).toEqual([200, 1, 1]);
  expect(await call()).toEqual([200, 0, 1]);
  gateway.provider.fault = undefined;
  gateway.world.clock.advanceSeconds(120);
  for (let success = 0; (await breaker()).state !== 'closed'; success += 1) {
    expect(success).toBeLessThan(10);
    expect(await call()).toEqual([200, 1, 0]);
    gateway.world.clock.advanceSeconds(2);
  }
  expect(await call()).toEqual([200, 1, 0]);
});
