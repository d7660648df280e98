import { expect, test } from 'vitest';
import { type TestOrg, useWorld } from '../../../../test/harness.ts';
import { engine } from '../../../../test/support/test-database.ts';
import type { LedgerReads } from '../../../ledger/ledger.ts';
import { createLog } from '../../../platform/log.ts';
import { driftWatch } from './drift-watch.ts';

const world = useWorld();

const metric = async (name: string) => {
  const { text } = await world.request('GET', '/metrics');
  return new RegExp(`^${name} (.*)$`, 'm').exec(text)?.[1];
};
const check = () => world.runJob('reconcile-ledger');
const spend = (org: TestOrg, body: object) =>
  world.request('POST', '/v1/runs', { key: org.ownerKey, body: { model: 'm', ...body } });
const faults = () => world.logLines.filter((line) => line.includes('ledger does not balance'));

test('detects a drift in the background, reports it in metrics and log, and clears it once repaired', async () => {
  const org = await world.createOrg();
  await spend(org, { cost_usd: '1' });
  world.clock.advanceSeconds(1);
  await check();
  expect(await metric('svc_ledger_drift')).toBe('0');
  await world.db.query('UPDATE runs SET cost_nanos = 1500000000 WHERE org_id = $1', [org.id]);
  // Nothing was posted since the last check, so the org is not checked again.
  await check();
  expect(faults()).toEqual([]);
  world.clock.advanceSeconds(1);
  await spend(org, { cost_usd: '1' });
  await check();
  expect(await metric('svc_ledger_drift')).toBe('0.5');
  expect(faults()).toHaveLength(1);
  await world.db.query('UPDATE runs SET cost_nanos = 1000000000 WHERE org_id = $1', [org.id]);
  const { json } = await world.request('GET', `/v1/orgs/${org.id}/ledger/reconciliation`, {
    key: org.ownerKey,
  });
  expect(json).toMatchObject({ balanced: true, drift_usd: '0' });
  expect(await metric('svc_ledger_drift')).toBe('0');
});

test.runIf(engine === 'postgres')(
  'repairs a growth of counters that no hold has, which would deny calls for ever',
  async () => {
    const org = await world.createOrg();
    const cap = { cap_usd: '5' };
    await world.request('PUT', `/v1/orgs/${org.id}/spend-cap`, { key: org.ownerKey, body: cap });
    await spend(org, { cost_usd: '1' });
    // As a process of an earlier release leaves it, which ends holds without their growth.
    await world.db.query('UPDATE counters SET growth = growth + 4000000000 WHERE org_id = $1', [org.id]);
    const reconcile = async () =>
      (await world.request('GET', `/v1/orgs/${org.id}/ledger/reconciliation`, { key: org.ownerKey })).json;
    expect(await reconcile()).toMatchObject({
      balanced: false,
      drift_usd: '4',
      counters: [{ growth: '4', growth_by_holds: '0', drift: '4' }],
    });
    world.clock.advanceSeconds(1);
    await spend(org, { cost_usd: '1' });
    await check();
    expect(await reconcile()).toMatchObject({ balanced: true, drift_usd: '0', counters: [{ growth: '0' }] });
    expect(await metric('svc_ledger_drift')).toBe('0');
  },
);

test('checks every org, however many there are', async () => {
  const orgs: TestOrg[] = [];
  for (let i = 0; i < 23; i += 1) {
    const org = await world.createOrg();
    orgs.push(org);
    await spend(org, { cost_usd: '1' });
  }
  await world.db.query('UPDATE runs SET cost_nanos = 2000000000 WHERE org_id = ANY($1)', [
    orgs.map(({ id }) => id),
  ]);
  for (let i = 0; i < 3; i += 1) {
    world.clock.advanceSeconds(1);
    await check();
  }
  expect(await metric('svc_ledger_drift')).toBe('23');
});

test('orgs that cannot be checked do not delay the others, and are checked again later', async () => {
  const spendInNewOrg = async () => {
    const org = await world.createOrg();
    await spend(org, { cost_usd: '1' });
    return org.id;
  };
  const healthy = await spendInNewOrg();
  world.clock.advanceSeconds(1);
  // As many as are checked in one run, and first in line because they were posted to last.
  const broken = await Promise.all(Array.from({ length: 10 }, spendInNewOrg));
  let isBroken = true;
  const inspect: LedgerReads['inspect'] = (orgId, read) =>
    isBroken && broken.includes(orgId)
      ? Promise.reject(new Error('unreadable'))
      : world.services.ledger.reads.inspect(orgId, read);
  const checked = new Set<string>();
  const job = driftWatch({
    db: world.db,
    ledger: { inspect },
    maintenance: world.services.ledger.maintenance,
    clock: world.clock,
    log: createLog('silent'),
    drift: { set: (orgId) => void checked.add(orgId), total: () => 0n },
  });
  world.clock.advanceSeconds(1);
  await expect(job.runOnce()).rejects.toThrow('10 ledgers could not be reconciled');
  world.clock.advanceSeconds(1);
  await job.runOnce();
  expect(checked).toContain(healthy);
  isBroken = false;
  for (let run = 0; run < 5; run += 1) {
    world.clock.advanceSeconds(1);
    await job.runOnce();
  }
  expect([...checked]).toEqual(expect.arrayContaining(broken));
});

test('reports the number of open and overdue holds, and how long the oldest is overdue', async () => {
  const org = await world.createOrg();
  await world.request('POST', '/v1/edge/decision', {
    key: org.ownerKey,
    body: { model: 'm', estimated_cost_usd: '1', expires_in_seconds: 60 },
  });
  const holds = () =>
    Promise.all(
      ['svc_open_holds', 'svc_overdue_holds', 'svc_oldest_overdue_hold_seconds'].map((name) => metric(name)),
    );
  expect(await holds()).toEqual(['1', '0', '0']);
  world.clock.advanceSeconds(70);
  expect(await holds()).toEqual(['1', '1', expect.stringMatching(/^(9|10)/)]);
  await world.services.ledger.expiry.expireDue();
  expect(await holds()).toEqual(['0', '0', '0']);
});

test('counts decisions by outcome and code', async () => {
  const org = await world.createOrg();
  await world.request('PUT', `/v1/orgs/${org.id}/spend-cap`, { key: org.ownerKey, body: { cap_usd: '1' } });
  const count = async (labels: string) => Number((await metric(`svc_decisions_total\\{${labels}\\}`)) ?? 0);
  const allowed = 'surface="run",outcome="allow",code=""';
  const denied = 'surface="run",outcome="deny",code="spend_cap_exceeded"';
  const before = [await count(allowed), await count(denied)];
  await spend(org, { cost_usd: '0.5' });
  await spend(org, { cost_usd: '2' });
  await world.request('POST', '/v1/runs/bulk', {
    key: org.ownerKey,
    body: {
      runs: [
        { model: 'm', cost_usd: '0.1' },
        { model: 'm', cost_usd: '0.1' },
      ],
    },
  });
  // Settlements and corrections are not counted as decisions.
  const running = await spend(org, { status: 'running', estimated_cost_usd: '0.1' });
  await world.request('POST', `/v1/runs/${running.json.id}/complete`, {
    key: org.ownerKey,
    body: { cost_usd: '0.1' },
  });
  expect([await count(allowed), await count(denied)]).toEqual([(before[0] ?? 0) + 4, (before[1] ?? 0) + 1]);
});
