import fc from 'fast-check';
import { expect, test } from 'vitest';
import { eventually } from '../../test/support/eventually.ts';
import { useGatewayWorld } from '../../test/support/gateway-world.ts';
import { sampleWithSeed, seedsOf } from '../../test/support/seeds.ts';
import { parseUsd } from '../kernel/money.ts';

const gateway = useGatewayWorld();

const body = JSON.stringify({
  model: 'gpt-test',
  stream: true,
  max_tokens: 100,
  messages: [{ role: 'user', content: 'Say hello' }],
});

function call(signal?: AbortSignal): Promise<Response> {
  return fetch(`${gateway.url}/openai/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${gateway.key}`, 'content-type': 'application/json' },
    body,
    ...(signal !== undefined && { signal }),
  });
}

/** What the provider has billed, in nanodollars: $1 and $10 per million tokens. */
function billedNanos(): bigint {
  return gateway.provider.bill.reduce(
    (sum, { inputTokens, outputTokens }) =>
      sum + BigInt(inputTokens) * 1_000n + BigInt(outputTokens) * 10_000n,
    0n,
  );
}

async function postedNanos(): Promise<bigint> {
  // Answered calls are posted before a request of their org is answered.
  await gateway.runs();
  return gateway.spentNanos();
}

test('of 200 parallel streams under a cap that fits 60, exactly 60 reach the provider, and all are billed exactly', async () => {
  const first = await call();
  await first.text();
  const heldNanos = parseUsd(first.headers.get('x-svc-held-usd') ?? '') ?? 0n;
  const spentNanos = await postedNanos();
  const capNanos = spentNanos + 60n * heldNanos;
  await gateway.cap(`${capNanos / 1_000_000_000n}.${String(capNanos % 1_000_000_000n).padStart(9, '0')}`);
  gateway.provider.requests.length = 0;
  let open: () => void = () => undefined;
  const gate = new Promise<void>((resolve) => {
    open = resolve;
  });
  gateway.provider.beforeChunk = () => gate;
  let denied = 0;
  const calls = Array.from({ length: 200 }, async () => {
    const response = await call();
    if (response.status === 402) {
      denied += 1;
    }
    if (denied === 140) {
      open();
    }
    await response.text();
    return response.status;
  });
  const statuses = await Promise.all(calls);
  expect(statuses.filter((status) => status === 200)).toHaveLength(60);
  expect(statuses.filter((status) => status === 402)).toHaveLength(140);
  expect(gateway.provider.requests).toHaveLength(60);
  gateway.provider.beforeChunk = undefined;
  expect(await gateway.holds()).toBe(0);
  expect(await postedNanos()).toBe(billedNanos());
});

const { seeds } = seedsOf('gateway-calls');

test.each(seeds)(
  'with random aborts, faults and cuts the ledger is never below the bill, and equal to it for whole responses (seed %d)',
  async (seed) => {
    await gateway.cap('1000000');
    gateway.provider.bill.length = 0;
    const before = await postedNanos();
    const plans = sampleWithSeed(
      seed,
      fc.record({
        kind: fc.constantFrom('whole', 'whole', 'abort', 'cut', 'status', 'reset'),
        at: fc.integer({ min: 1, max: 6 }),
        status: fc.constantFrom(429, 500, 400),
        output: fc.integer({ min: 0, max: 40 }),
      }),
      60,
    );
    for (const mode of ['drain', 'close'] as const) {
      gateway.settings = { ...gateway.settings, onAbort: mode };
      for (const { kind, at, status, output } of plans) {
        let isFirst = true;
        gateway.provider.outputOf = () => output;
        gateway.provider.fault = () => {
          const isFaulty = isFirst;
          isFirst = false;
          if (kind === 'cut') {
            return { cutAfter: at };
          }
          if (!isFaulty) {
            return undefined;
          }
          return kind === 'status' ? { status, retryAfter: '0' } : kind === 'reset' ? 'reset' : undefined;
        };
        const abort = new AbortController();
        const response = await call(abort.signal);
        const reader = response.body?.getReader();
        for (let chunk = 0; ; chunk += 1) {
          if (kind === 'abort' && chunk === at) {
            abort.abort();
            break;
          }
          const read = await reader?.read();
          if (read === undefined || read.done) {
            break;
          }
        }
      }
      await eventually(async () => expect(await gateway.holds()).toBe(0));
    }
    const runs = await gateway.runs();
    expect(runs.filter(({ status }) => status === 'running')).toEqual([]);
    expect((await postedNanos()) - before).toBeGreaterThanOrEqual(billedNanos());
    const { json } = await gateway.world.request('GET', `/v1/orgs/${gateway.org.id}/ledger/reconciliation`, {
      key: gateway.org.ownerKey,
    });
    expect(json.balanced).toBe(true);
  },
);
