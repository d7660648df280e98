/** Runs that are reported with their tier, region and caches, such as those of batches, at the prices of the catalog. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Expected } from '../support/corpus.ts';
import { useGatewayWorld } from '../support/gateway-world.ts';

interface ReportedRun {
  readonly id: string;
  readonly model: string;
  readonly tier?: string;
  readonly region?: string;
  readonly tokens: Expected['tokens'];
  readonly units?: Readonly<Record<string, number>>;
  readonly expected: Pick<Expected, 'cost_usd' | 'parts_usd'>;
}

const { runs } = JSON.parse(readFileSync(join(import.meta.dirname, 'reported.json'), 'utf8')) as {
  readonly runs: readonly ReportedRun[];
};
const gateway = useGatewayWorld();

test.each(runs.map((run) => [run.id, run] as const))('charges the documented cost of %s', async (_, run) => {
  const { model, tier, region, tokens, units, expected } = run;
  const { status, json } = await gateway.world.request('POST', '/v1/runs', {
    key: gateway.org.ownerKey,
    body: {
      model,
      status: 'succeeded',
      input_tokens: tokens.input ?? 0,
      cached_input_tokens: tokens.cached_input ?? 0,
      cache_write_tokens: tokens.cache_write ?? 0,
      cache_write_1h_tokens: tokens.cache_write_1h ?? 0,
      output_tokens: tokens.output ?? 0,
      units,
      service_tier: tier,
      region,
    },
  });
  expect([status, json.cost_usd]).toEqual([201, expected.cost_usd]);
  const parts = Object.fromEntries(
    json.cost_parts.map((part: { kind: string; cost_usd: string }) => [part.kind, Number(part.cost_usd)]),
  );
  expect(Object.keys(parts).toSorted()).toEqual(Object.keys(expected.parts_usd).toSorted());
  for (const [kind, usd] of Object.entries(expected.parts_usd)) {
    expect(Math.abs(parts[kind] - Number(usd))).toBeLessThan(1.01e-9);
  }
});
