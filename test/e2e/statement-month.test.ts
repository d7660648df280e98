/**
 * A month of runs with calls around Purser, wrong prices and unsettled calls mixed in: the comparison finds each cause exactly, and
 * after the reconciliation the ledger equals the statement. The bench `statement-month` does it with a million runs, and measures it.
 */
import { beforeAll, expect, test } from 'vitest';
import { formatUsd } from '../../src/kernel/money.ts';
import { seededBytes, useOrg, useWorld } from '../harness.ts';
import { rounds } from '../support/rounds.ts';
import { type OpenAiCost, type OpenAiUsage, openAiPages } from '../support/statement-files.ts';

const days = 30;
const runsPerDay = Math.ceil(rounds(1_800, 100_000) / days);
const runsPerRequest = 10_000;
const models = ['gpt-4o-2024-08-06', 'gpt-4o-mini-2024-07-18'] as const;
/** Nanodollars per token. */
const inputRate = 2_500;
const outputRate = 10_000;
const heldUsd = '0.05';

const world = useWorld();
const org = useOrg(world);
beforeAll(() => send('PATCH', `/v1/orgs/${org.id}`, { on_unsettled: 'post_held' }));

async function send(method: string, path: string, body?: unknown) {
  const answer = await world.request(method, path, {
    key: org.ownerKey,
    ...(body !== undefined && { body }),
  });
  expect(answer.status, answer.text.slice(0, 500)).toBeLessThan(300);
  return answer.json;
}

interface Billed {
  input: number;
  output: number;
}

const random = (() => {
  const bytes = seededBytes(20);
  return (below: number) => {
    const [a = 0, b = 0, c = 0] = bytes(3);
    return (a * 65_536 + b * 256 + c) % below;
  };
})();

const costOf = ({ input, output }: Billed) => BigInt(input * inputRate + output * outputRate);

/** What the provider bills on a day, by model and key, and what was injected. */
class Month {
  readonly used = new Map<string, OpenAiUsage & Billed>();
  readonly injected = { missing: 0n, price: 0n, unsettled: 0n };
  billed = 0n;

  bill(day: string, model: string, key: string, call: Billed): void {
    const name = `${day} ${model} ${key}`;
    const there = this.used.get(name) ?? { day, model, key, input: 0, output: 0 };
    this.used.set(name, { ...there, input: there.input + call.input, output: there.output + call.output });
    this.billed += costOf(call);
  }

  pages(): object[] {
    const sums = new Map<string, Billed>();
    for (const { day, model, input, output } of this.used.values()) {
      const name = `${day} ${model}`;
      const there = sums.get(name) ?? { input: 0, output: 0 };
      sums.set(name, { input: there.input + input, output: there.output + output });
    }
    const costs = [...sums].flatMap(([name, { input, output }]): OpenAiCost[] => {
      const [day = '', model = ''] = name.split(' ');
      return [
        { day, item: `${model}, input`, usd: formatUsd(BigInt(input * inputRate)) },
        { day, item: `${model}, output`, usd: formatUsd(BigInt(output * outputRate)) },
      ];
    });
    return openAiPages(costs, [...this.used.values()]);
  }
}

async function liveThrough(month: Month): Promise<void> {
  const day = world.clock.now().toISOString().slice(0, 10);
  let runs: object[] = [];
  const flush = async () => {
    if (runs.length > 0) {
      await send('POST', '/v1/runs/bulk', { runs });
    }
    runs = [];
  };
  for (let index = 0; index < runsPerDay; index += 1) {
    const model = models[random(models.length)] as string;
    const call = { input: 500 + random(4_000), output: 50 + random(800) };
    const chance = random(1_000);
    if (chance < 30) {
      month.bill(day, model, 'key_other', call);
      month.injected.missing += costOf(call);
      continue;
    }
    month.bill(day, model, 'key_gateway', call);
    // The name that a gateway calls the model by has no date.
    const named = { model: model.replace(/-\d{4}-\d\d-\d\d$/, ''), provider: 'openai' };
    if (chance < 35) {
      await send('POST', '/v1/edge/decision', {
        ...named,
        estimated_cost_usd: heldUsd,
        expires_in_seconds: 60,
      });
      month.injected.unsettled += costOf(call) - 50_000_000n;
      continue;
    }
    const recorded = chance < 45 ? (costOf(call) * 4n) / 5n : costOf(call);
    month.injected.price += costOf(call) - recorded;
    runs.push({
      ...named,
      input_tokens: call.input,
      output_tokens: call.output,
      cost_usd: formatUsd(recorded),
    });
    if (runs.length === runsPerRequest) {
      await flush();
    }
  }
  await flush();
  world.clock.advanceSeconds(61);
  await world.runJob('expire-holds');
  world.clock.advanceSeconds(86_400 - 61);
}

test('a month closes to the nanodollar, with every injected cause', async () => {
  const month = new Month();
  for (let day = 0; day < days; day += 1) {
    await liveThrough(month);
  }
  const path = `/v1/orgs/${org.id}/statements`;
  const { id, billed_usd } = await send('POST', path, {
    pages: month.pages(),
    gateway_key_ids: ['key_gateway'],
  });
  expect(billed_usd).toBe(formatUsd(month.billed));

  const { total } = await send('GET', `${path}/${id}/comparison?limit=200`);
  const found = Object.fromEntries(
    total.causes.map(({ cause, usd }: { cause: string; usd: string }) => [cause, usd]),
  );
  expect(found).toEqual({
    missing: formatUsd(month.injected.missing),
    unsettled: formatUsd(month.injected.unsettled),
    price: formatUsd(month.injected.price),
  });

  await send('POST', `${path}/${id}/reconcile`);
  const { total: after } = await send('GET', `${path}/${id}/comparison`);
  expect(after).toEqual({ billed_usd, recorded_usd: billed_usd, difference_usd: '0', causes: [] });
  const first = world.clock.now().getTime() - days * 86_400_000;
  const from = new Date(Math.floor(first / 86_400_000) * 86_400_000).toISOString();
  const usage = await send('GET', `/v1/orgs/${org.id}/usage?from=${from}`);
  expect(usage.total.cost_usd).toBe(billed_usd);
});
