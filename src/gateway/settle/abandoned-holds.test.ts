import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createGatewayWorld, type GatewayWorld } from '../../../test/support/gateway-world.ts';
import { DatabaseUnavailable } from '../../platform/db/database.ts';

let gateway: GatewayWorld;
beforeEach(async () => {
  gateway = await createGatewayWorld();
});
afterEach(() => gateway.close());

const chat = (content = 'Hi') =>
  fetch(`${gateway.url}/openai/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${gateway.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'gpt-test', max_tokens: 50, messages: [{ role: 'user', content }] }),
  });
const voidAbandoned = () => gateway.world.runJob('void-abandoned-holds');

test('a hold whose commit has lost its answer is voided, and the call that was not made costs nothing', async () => {
  const { ledger } = gateway.world.services;
  const { hold, void: voidHold } = ledger;
  const away = () => Promise.reject(new DatabaseUnavailable('away'));
  Object.assign(ledger, {
    hold: async (request: Parameters<typeof hold>[0]) => {
      await hold.call(ledger, request);
      return away();
    },
    void: away,
  });
  expect((await chat()).status).toBe(503);
  expect(gateway.provider.requests).toEqual([]);
  await voidAbandoned();
  expect(await gateway.holds()).toBe(1);
  Object.assign(ledger, { hold, void: voidHold });
  await voidAbandoned();
  expect(await gateway.holds()).toBe(0);
  expect(await gateway.runs()).toEqual([]);
  expect((await chat()).status).toBe(200);
});

test('a flagged call whose commit has lost its answer is cancelled, and costs nothing', async () => {
  const { world, org } = gateway;
  const { ledger } = world.services;
  const detector = { enabled: true, action: 'flag' };
  await world.request('PATCH', `/v1/orgs/${org.id}/safety-detectors/email`, {
    key: org.ownerKey,
    body: detector,
  });
  const post = ledger.post.bind(ledger);
  const lost = vi.spyOn(ledger, 'post').mockImplementationOnce(async (group) => {
    await post(group);
    throw new DatabaseUnavailable('away');
  });
  expect((await chat('Ask jo@example.com')).status).toBe(503);
  expect(gateway.provider.requests).toEqual([]);
  expect([await gateway.holds(), (await gateway.runs()).length]).toEqual([1, 1]);
  lost.mockRejectedValueOnce(new DatabaseUnavailable('away'));
  await voidAbandoned();
  expect(await gateway.holds()).toBe(1);
  await voidAbandoned();
  lost.mockRestore();
  expect(await gateway.holds()).toBe(0);
  expect(await gateway.runs()).toMatchObject([{ status: 'cancelled', cost_usd: '0' }]);
});

test('a flagged call whose commit has failed leaves nothing to be ended', async () => {
  const { world, org } = gateway;
  const detector = { enabled: true, action: 'flag' };
  await world.request('PATCH', `/v1/orgs/${org.id}/safety-detectors/email`, {
    key: org.ownerKey,
    body: detector,
  });
  const lost = vi.spyOn(world.services.ledger, 'post').mockRejectedValueOnce(new DatabaseUnavailable('away'));
  expect((await chat('Ask jo@example.com')).status).toBe(503);
  lost.mockRestore();
  await voidAbandoned();
  expect([await gateway.holds(), await gateway.runs()]).toEqual([0, []]);
  expect((await chat('Ask jo@example.com')).status).toBe(200);
});
