/** Prices of models without one where they must be found without a database: on the fast path and in an outage. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { useOrg, useWorld, type World } from '../../test/harness.ts';
import { createPrices } from '../capabilities/spend/models/index.ts';
import { createCallPrices } from '../capabilities/spend/unpriced-models/index.ts';
import { createFailOpenDecisions, createLastKnownPrices } from '../edge/index.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { createIds } from '../platform/ids.ts';
import { createLog } from '../platform/log.ts';

const world = useWorld({ SVC_HTTP_FAST_PATH: 'true' });
const org = useOrg(world);
let policyId: string;
beforeAll(async () => {
  const { json } = await world.request('PUT', `/v1/orgs/${org.id}/unpriced-policy`, {
    key: org.ownerKey,
    body: { on_unpriced: 'hold_default', input_usd_per_million: '10', output_usd_per_million: '40' },
  });
  policyId = json.id;
});

const body = { model: 'home-grown-1', input_tokens: 1_000, max_output_tokens: 1_000 };

test('the fast path decides on models without a price', async () => {
  const { port } = await world.listen();
  const decide = async () => {
    const answer = await fetch(`http://127.0.0.1:${port}/v1/edge/decision`, {
      method: 'POST',
      headers: { authorization: `Bearer ${org.ownerKey}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    expect(answer.status).toBe(200);
    const verdict = (await answer.json()) as { decision_id: string; held_usd: string };
    expect(verdict.held_usd).toBe('0.05');
    return verdict.decision_id;
  };
  // The pipeline decides until everything is cached. Only the fast path logs its decisions in batches.
  await expect
    .poll(async () => {
      const decisionId = await decide();
      await new Promise((resolve) => setImmediate(resolve));
      return world.logLines.some((line) => line.includes('alternating') && line.includes(decisionId));
    })
    .toBe(true);
});

test('the last known default rates hold while the database is away, and are imported', async () => {
  let isAway = false;
  const db = {
    ...world.db,
    query: (sql: string, params?: readonly unknown[]) =>
      isAway ? Promise.reject(new Error('away')) : world.db.query(sql, params),
    notificationsHealthy: () => !isAway && world.db.notificationsHealthy(),
  } as World['db'];
  const prices = createLastKnownPrices(createCallPrices(db, createPrices(db)).findForCall);
  const now = world.clock.now();
  await prices.find(org.id, body.model, now.getTime(), {});
  isAway = true;
  await expect(prices.find(org.id, body.model, now.getTime(), {})).rejects.toThrow('away');
  const price = prices.get(org.id, body.model, {});
  expect(price).toMatchObject({ versionId: policyId, unpriced: 'hold_default' });

  const directory = mkdtempSync(join(tmpdir(), 'purser-unpriced-'));
  const decisions = createFailOpenDecisions({
    db: world.db,
    clock: world.clock,
    ids: createIds(world.clock),
    log: createLog('silent'),
    ledger: world.services.ledger as Ledger,
    secrets: world.services.secrets,
    directory: join(directory, 'fail-open'),
    bytesMax: 1_000_000,
    findPrice: world.services.prices.findForCall,
    recordImport: () => async () => undefined,
  });
  const caller = { orgId: org.id, keyId: 'key_1' };
  const { text } = await decisions.allow({ body, caller, key: undefined, price });
  const { decision_id, held_usd } = JSON.parse(text);
  expect(held_usd).toBe('0.05');
  while (await decisions.job.runOnce()) {
    // Continue with the next batch.
  }
  const hold = await world.services.ledger.reads.findHold(org.id, decision_id);
  expect(hold).toMatchObject({ priceVersion: policyId, amounts: { usd: 50_000_000n } });
  const { json: run } = await world.request('POST', '/v1/runs', {
    key: org.ownerKey,
    body: { model: body.model, decision_id, input_tokens: 1_000, output_tokens: 500 },
  });
  expect(run).toMatchObject({ cost_usd: '0.03', marks: ['unpriced', 'degraded'], price_version: policyId });
  await decisions.close();
  rmSync(directory, { recursive: true, force: true });
});

test('priced models do not query the policy', async () => {
  const queries: string[] = [];
  const db = {
    ...world.db,
    query: (sql: string, params?: readonly unknown[]) => {
      queries.push(sql);
      return world.db.query(sql, params);
    },
  } as World['db'];
  const prices = createCallPrices(db, createPrices(db));
  const atMs = world.clock.now().getTime();
  expect(await prices.findForCall(org.id, 'gpt-4o', atMs)).toMatchObject({ model: 'gpt-4o' });
  expect(queries.filter((sql) => sql.includes('unpriced_policies'))).toEqual([]);
  expect(await prices.findForCall(org.id, body.model, atMs)).toMatchObject({ versionId: policyId });
  expect(queries.filter((sql) => sql.includes('unpriced_policies'))).toHaveLength(1);
});
