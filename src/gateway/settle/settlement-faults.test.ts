/** Settlements that fail although the ledger is available, for their org or for others. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { eventually } from '../../../test/support/eventually.ts';
import { createGatewayWorld, type GatewayWorld } from '../../../test/support/gateway-world.ts';
import { DatabaseUnavailable } from '../../platform/db/database.ts';

let gateway: GatewayWorld;
beforeEach(async () => {
  gateway = await createGatewayWorld();
});
afterEach(() => gateway.close());

function call(path: string, model: string, key = gateway.key): Promise<Response> {
  return fetch(gateway.url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, max_tokens: 50, messages: [{ role: 'user', content: 'Say hello' }] }),
  });
}
const chat = (key?: string) => call('/openai/v1/chat/completions', 'gpt-test', key);
const claude = () => call('/anthropic/v1/messages', 'claude-test');
const retry = () => gateway.world.runJob('retry-gateway-settlements');

type Group = Parameters<GatewayWorld['world']['services']['ledger']['post']>[0];

/** Makes postings of such groups fail. Returns a function that ends that. */
function failPostings(isFailing: (group: Group) => boolean, error: Error): () => void {
  const { ledger } = gateway.world.services;
  const { post } = ledger;
  const failing = (group: Group) => (isFailing(group) ? Promise.reject(error) : post.call(ledger, group));
  Object.assign(ledger, { post: failing });
  return () => void Object.assign(ledger, { post });
}

/** Runs of this model cannot be stored. */
const failPostingsOf = (model: string) =>
  failPostings(
    ({ postings }) => postings.some(({ scope }) => scope.model === model),
    new Error('cannot be stored'),
  );

const modelsOfRuns = async () => (await gateway.runs()).map(({ model }) => model).sort();

test('a settlement that fails does not keep others waiting, and is posted once it can be', async () => {
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

test('a settlement that fails for a minute is left to the expiry of its hold', async () => {
  const restore = failPostingsOf('claude-test');
  expect((await claude()).status).toBe(200);
  for (let seconds = 0; seconds < 60; seconds += 1) {
    await retry();
  }
  restore();
  await retry();
  expect([await gateway.holds(), await modelsOfRuns()]).toEqual([1, []]);
});

test('those of an org whose ledger is away do not keep other orgs waiting, and are posted once it is back', async () => {
  const { world, org } = gateway;
  const other = await world.createOrg();
  const { secret } = await world.mintKey(other, 'member', ['gateway:call']);
  const holdsOfOther = async () => {
    const { json } = await world.request('GET', `/v1/orgs/${other.id}/holds`, { key: other.ownerKey });
    return json.data.length;
  };
  const restore = failPostings(({ orgId }) => orgId === org.id, new DatabaseUnavailable('away'));
  for (let calls = 0; calls < 2; calls += 1) {
    expect((await chat()).status).toBe(200);
    await retry();
    expect((await chat(secret)).status).toBe(200);
    // Without a run of the job.
    await eventually(async () => expect(await holdsOfOther()).toBe(0));
  }
  expect((await chat()).status).toBe(200);
  expect([await gateway.holds(), await modelsOfRuns()]).toEqual([3, []]);
  restore();
  await retry();
  expect(await gateway.holds()).toBe(0);
  expect(await modelsOfRuns()).toEqual(['gpt-test', 'gpt-test', 'gpt-test']);
});

test('a call of an org waits for its own settlements before a denial, while the ledger of another is away', async () => {
  const { world, org } = gateway;
  const other = await world.createOrg();
  const { secret } = await world.mintKey(other, 'member', ['gateway:call']);
  failPostings(({ orgId }) => orgId === org.id, new DatabaseUnavailable('away'));
  // Room for one hold of at most 50 tokens of output, and for the cost of several calls.
  await world.request('PUT', `/v1/orgs/${other.id}/spend-cap`, {
    key: other.ownerKey,
    body: { cap_usd: '0.0008' },
  });
  expect((await chat()).status).toBe(200);
  await retry();
  for (let calls = 0; calls < 3; calls += 1) {
    expect((await chat(secret)).status).toBe(200);
  }
});
