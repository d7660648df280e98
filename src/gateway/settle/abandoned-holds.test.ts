import { afterEach, beforeEach, expect, test } from 'vitest';
import { createGatewayWorld, type GatewayWorld } from '../../../test/support/gateway-world.ts';
import { DatabaseUnavailable } from '../../platform/db/database.ts';

let gateway: GatewayWorld;
beforeEach(async () => {
  gateway = await createGatewayWorld();
});
afterEach(() => gateway.close());

const chat = () =>
  fetch(`${gateway.url}/openai/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${gateway.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'gpt-test', max_tokens: 50, messages: [{ role: 'user', content: 'Hi' }] }),
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
