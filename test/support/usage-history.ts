/** History for forecasts: days with one run each, recorded without checking limits. */
import { expect } from 'vitest';
import type { TestOrg, World } from '../harness.ts';

export const dayMs = 86_400_000;

/** Records one run a day at noon UTC. `costs` ends with yesterday; a day with an undefined cost has no run. */
export async function recordDays(
  world: World,
  org: TestOrg,
  costs: readonly (string | undefined)[],
  body: object = {},
): Promise<void> {
  const noonMs = Math.floor(world.clock.now().getTime() / dayMs) * dayMs + dayMs / 2;
  const runs = costs.flatMap((cost_usd, index) => {
    const started_at = new Date(noonMs - (costs.length - index) * dayMs).toISOString();
    const run = { model: 'm', status: 'succeeded', started_at, input_tokens: 90, output_tokens: 10 };
    return cost_usd === undefined ? [] : [{ ...run, cost_usd, ...body }];
  });
  await recordRuns(world, org, runs);
}

export async function recordRuns(world: World, org: TestOrg, runs: readonly object[]): Promise<void> {
  const { status } = await world.request('POST', '/v1/runs/bulk?enforcement=record', {
    key: org.ownerKey,
    body: { runs },
  });
  expect(status).toBe(201);
}

export const daysOf = (count: number, cost: (day: number) => string | undefined) =>
  Array.from({ length: count }, (_, day) => cost(day));
