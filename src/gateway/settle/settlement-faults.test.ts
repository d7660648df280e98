/** Settlements that fail although the ledger is available. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { eventually } from '../../../test/support/eventually.ts';
import { createGatewayWorld, type GatewayWorld } from '../../../test/support/gateway-world.ts';

let gateway: GatewayWorld;
beforeEach(async () => {
  gateway = await createGatewayWorld();
});
afterEach(() => gateway.close());

function call(path: string, model: string): Promise<Response> {
  return fetch(gateway.url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${gateway.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, max_tokens: 50, messages: [{ role: 'user', content: 'Say hello' }] }),
  });
}
const chat = () => call('/openai/v1/chat/completions', 'gpt-test');
const claude = () => call('/anthropic/v1/messages', 'claude-test');
const retry = () => gateway.world.runJob('retry-gateway-settlements');

/** Runs of this model cannot be stored. Returns a function that ends that. */
function failPostingsOf(model: string): () => void {
  const { ledger } = gateway.world.services;
  const { post } = ledger;
  const failing = (group: Parameters<typeof post>[0]) =>
    group.postings.some(({ scope }) => scope.model === model)
      ? Promise.reject(new Error('cannot be stored'))
      : post.call(ledger, group);
  Object.assign(ledger, { post: failing });
  return () => void Object.assign(ledger, { post });
}

const modelsOfRuns = async () => (await gateway.runs()).map(({ model }) => model).sort();

test('one that fails does not keep others waiting, and is posted once it can be', async () => {
  const restore = failPostingsOf('claude-test');
  expect((await claude()).status).toBe(200);
  await retry();
  for (let calls = 0; calls < 3; calls += 1) {
    expect((await chat()).status).toBe(200);
  }
  // Without a run of the job.
  await eventually(async () => expect(await gateway.holds()).toBe(1));
  expect(await modelsOfRuns()).toEqual(['gpt-test', 'gpt-test', 'gpt-test']);
  restore();
  await retry();
  expect(await gateway.holds()).toBe(0);
  expect(await modelsOfRuns()).toContain('claude-test');
});

test('one that fails for a minute is left to the expiry of its hold', async () => {
  const restore = failPostingsOf('claude-test');
  expect((await claude()).status).toBe(200);
  for (let seconds = 0; seconds < 60; seconds += 1) {
    await retry();
  }
  restore();
  await retry();
  expect([await gateway.holds(), await modelsOfRuns()]).toEqual([1, []]);
});
