/** Rates of hours at which a provider charges less. */
import { beforeAll, expect, test } from 'vitest';
import { eventually } from '../../test/support/eventually.ts';
import { connectionTo, useGatewayWorld } from '../../test/support/gateway-world.ts';

const gateway = useGatewayWorld();

beforeAll(async () => {
  for (const [model, modifiers] of [
    ['deepseek-tested', [{ tier: 'off_peak', multiplier: '0.5' }]],
    ['deepseek-flat', []],
  ] as const) {
    const { status } = await gateway.world.request('PUT', `/v1/admin/models/${model}`, {
      key: gateway.world.operatorKey,
      body: {
        provider: 'deepseek',
        input_usd_per_million: '1',
        output_usd_per_million: '10',
        context_tokens: 1_000,
        modifiers,
      },
    });
    expect(status).toBeLessThan(300);
  }
  gateway.provider.fault = () => ({
    status: 200,
    body: JSON.stringify({ choices: [], usage: { prompt_tokens: 10, completion_tokens: 100 } }),
  });
});

/** Moves the clock to the next time of a Monday. */
function moveToMonday(hour: number, minute: number): void {
  const now = gateway.world.clock.now();
  const monday = new Date(now);
  monday.setUTCDate(now.getUTCDate() + ((8 - now.getUTCDay()) % 7));
  monday.setUTCHours(hour, minute, 0, 0);
  const aheadMs = monday.getTime() - now.getTime();
  gateway.world.clock.advanceSeconds((aheadMs > 0 ? aheadMs : aheadMs + 7 * 86_400_000) / 1_000);
}

async function costOn(
  [hour, minute]: readonly [number, number],
  model: string,
  provider: string,
): Promise<readonly unknown[]> {
  moveToMonday(hour, minute);
  gateway.connections = [
    connectionTo(gateway.provider.url, 'openai_compatible', {
      name: 'any',
      calledAt: { provider, region: null },
    }),
  ];
  const response = await fetch(`${gateway.url}/compat/any/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${gateway.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, messages: [{ role: 'user', content: 'Hello' }], max_tokens: 100 }),
  });
  await response.text();
  const run = await eventually(async () => {
    expect(await gateway.holds()).toBe(0);
    const [last] = await gateway.runs();
    return last;
  });
  // Held at the rates of peak hours, because the call may end in them.
  expect(Number(response.headers.get('x-svc-held-usd'))).toBeGreaterThanOrEqual(0.00101);
  return [Number(run?.cost_usd), run?.service_tier];
}

test('a call of DeepSeek has its off-peak rates outside of its peak hours, if the price has any', async () => {
  expect(await costOn([0, 10], 'deepseek-tested', 'deepseek')).toEqual([0.000505, 'off_peak']);
  expect(await costOn([2, 0], 'deepseek-tested', 'deepseek')).toEqual([0.00101, null]);
  expect(await costOn([4, 30], 'deepseek-flat', 'deepseek')).toEqual([0.00101, null]);
  expect(await costOn([4, 40], 'deepseek-tested', 'reseller')).toEqual([0.00101, null]);
});
