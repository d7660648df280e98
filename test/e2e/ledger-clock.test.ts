/** A clock that was a day ahead and is right again: every place reports it, and one command sets the ledger back. */
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { scopes } from '../../src/contract/scopes.ts';
import { selectAllHolds, updateHolds } from '../../src/ledger/postgres/postgres-holds.ts';
import { endAllProcesses, runPurser } from '../support/child-process.ts';
import { inspectDatabase, verifyChains } from '../support/database-inspection.ts';
import { examine } from '../support/doctor.ts';
import { eventually } from '../support/eventually.ts';
import { type ServiceProcess, settingsOf, startPurser } from '../support/service-process.ts';
import { engine, makePlace, type Place } from '../support/test-database.ts';

let place: Place;
let settings: Record<string, string>;
beforeAll(async () => {
  place = await makePlace({ migrated: true });
  settings = settingsOf(place);
});
afterEach(endAllProcesses);
afterAll(() => place.remove());

const daySeconds = 86_400;
const shiftedClock = fileURLToPath(new URL('../support/shifted-clock.mjs', import.meta.url));
const aDayAhead = { NODE_OPTIONS: `--import ${shiftedClock}`, CLOCK_SHIFT_MS: String(daySeconds * 1_000) };
const isEmbedded = engine === 'embedded';

async function newOrg(service: ServiceProcess): Promise<{ id: string; key: string }> {
  const org = await service.request('POST', '/v1/admin/orgs', { body: { name: 'Org' } });
  const { json } = await service.request('POST', `/v1/admin/orgs/${org.json.id}/keys`, {
    body: { name: 'owner', role: 'owner', scopes },
  });
  await service.request('PUT', `/v1/orgs/${org.json.id}/spend-cap`, {
    key: json.secret,
    body: { cap_usd: '10' },
  });
  return { id: org.json.id, key: json.secret };
}

/** Spends and holds while the clock is ahead: that of the process or, on PostgreSQL, that of the database before a failover. */
async function workADayAhead<Result>(
  work: (service: ServiceProcess, key: string) => Promise<Result>,
): Promise<{ id: string; key: string; result: Result }> {
  const service = await startPurser({ ...settings, ...(isEmbedded ? aDayAhead : {}) });
  const org = await newOrg(service);
  if (!isEmbedded) {
    await inspectDatabase(place, async (db) => {
      await db.query(`UPDATE ledger_orgs SET last_at = now() + interval '1 day' WHERE org_id = $1`, [org.id]);
    });
  }
  const result = await work(service, org.key);
  await service.end('SIGTERM');
  return { ...org, result };
}

async function startRun(service: ServiceProcess, key: string): Promise<string> {
  const body = { model: 'gpt-4o', status: 'running', estimated_cost_usd: '1' };
  const { status, json } = await service.request('POST', '/v1/runs', { key, body });
  expect(status).toBe(201);
  return json.id;
}

async function spend(service: ServiceProcess, key: string): Promise<void> {
  const run = { model: 'gpt-4o', cost_usd: '1' };
  expect((await service.request('POST', '/v1/runs', { key, body: run })).status).toBe(201);
  const decision = { model: 'gpt-4o', estimated_cost_usd: '2' };
  expect((await service.request('POST', '/v1/edge/decision', { key, body: decision })).status).toBe(200);
}

test('a ledger ahead of the clock is reported by readiness, metrics, log and doctor, and set back without losing a posting', async () => {
  const org = await workADayAhead(spend);
  const behind = await startPurser(settings);
  const ready = await behind.request('GET', '/readyz');
  expect([ready.status, ready.json.reasons]).toEqual(isEmbedded ? [503, ['ledger_clock_ahead']] : [200, []]);
  expect((await behind.request('GET', '/metrics')).text).toMatch(
    /^svc_ledger_clock_ahead_seconds 86[34]\d\d(\.\d+)?$/m,
  );
  const errors = behind.log().filter(({ level }) => level === 'error');
  expect(errors.map(({ msg }) => msg)).toEqual([expect.stringContaining('the ledger is ahead of the clock')]);
  expect((await examine(settings, behind.url))['ledger-clock']).toMatchObject({
    status: 'fail',
    remedy: expect.stringContaining('purser ledger reset-clock'),
  });

  if (isEmbedded) {
    const refused = await runPurser(['ledger', 'reset-clock'], settings);
    expect(refused).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringContaining('stop the service'),
    });
    await behind.end('SIGTERM');
    expect((await examine(settings))['ledger-clock']).toMatchObject({
      status: 'fail',
      finding: expect.stringMatching(/1 organization, 1 open hold.*The latest posting is dated/),
    });
  }
  const reset = await runPurser(['ledger', 'reset-clock'], settings);
  expect(reset, reset.stderr).toMatchObject({ code: 0, stderr: '' });
  expect(reset.stdout).toContain('reset       1 organization; 1 open hold admitted again');
  expect(reset.stdout).toContain('ledger      not ahead of the clock');
  expect(reset.stdout).toContain('1 open hold, no drift');

  const service = isEmbedded ? await startPurser(settings) : behind;
  expect((await service.request('GET', '/readyz')).status).toBe(200);
  await spend(service, org.key);
  // Spending posted ahead of the clock counts tomorrow; holds taken then, and everything after the reset, count today.
  const denied = { model: 'gpt-4o', estimated_cost_usd: '5.01' };
  expect(await service.request('POST', '/v1/edge/decision', { key: org.key, body: denied })).toMatchObject({
    code: 'spend_cap_exceeded',
    json: { error: { details: { spent_usd: '5', held_usd: '4' } } },
  });
  const { json } = await service.request('GET', `/v1/orgs/${org.id}/ledger/reconciliation`, { key: org.key });
  expect(json).toMatchObject({ balanced: true, drift_usd: '0' });
  const { json: runs } = await service.request('GET', '/v1/runs', { key: org.key });
  expect(runs.data).toHaveLength(2);
  await service.end('SIGTERM');

  expect((await examine(settings))['ledger-clock']).toMatchObject({ status: 'ok' });
  await inspectDatabase(place, async (db) => {
    const entries = await db.query(`SELECT tenant_id FROM audit_log WHERE action = 'ledger.reset_clock'`, []);
    expect(entries).toEqual([{ tenant_id: 'platform' }]);
    expect((await verifyChains(db)).faults).toEqual([]);
  });
});

test('moves runs in progress with their holds: they are charged, corrected and posted at their expiry where they are', async () => {
  const {
    id: orgId,
    key,
    result: [completed, expired],
  } = await workADayAhead(async (service, key) => [
    await startRun(service, key),
    await startRun(service, key),
  ]);
  const stop = await startPurser(settings);
  const org = await stop.request('PATCH', `/v1/orgs/${orgId}`, { key, body: { on_unsettled: 'post_held' } });
  expect(org.status).toBe(200);
  await stop.end('SIGTERM');
  const reset = await runPurser(['ledger', 'reset-clock'], settings);
  expect(reset.stdout).toContain('2 open holds admitted again');

  const service = await startPurser(settings);
  const post = async (path: string, body: object) => {
    const answer = await service.request('POST', path, { key, body });
    expect(answer.status, answer.text).toBeLessThan(300);
    return answer.json;
  };
  const { charged_at } = await post(`/v1/runs/${completed}/complete`, { cost_usd: '0.5' });
  expect(Date.parse(charged_at)).toBeLessThanOrEqual(Date.now());
  await post(`/v1/runs/${completed}/adjustments`, { amount_usd: '-0.2', reason: 'refund' });
  const { json } = await service.request('GET', `/v1/orgs/${orgId}/ledger/reconciliation`, { key });
  expect(json).toMatchObject({ balanced: true, drift_usd: '0' });
  await service.end('SIGTERM');

  const later = { ...aDayAhead, CLOCK_SHIFT_MS: String(3_600_000) };
  if (!isEmbedded) {
    await inspectDatabase(place, async (db) => {
      const holds = await selectAllHolds(db, orgId);
      await updateHolds(
        db,
        holds.map((hold) => ({ ...hold, expiresAtMs: hold.admittedAtMs })),
      );
    });
  }
  const end = await startPurser({ ...settings, ...(isEmbedded ? later : {}) });
  await eventually(async () => {
    const { json: run } = await end.request('GET', `/v1/runs/${expired}`, { key });
    expect(run).toMatchObject({ cost_usd: '1', marks: ['unsettled'] });
  });
  const { json: all } = await end.request('GET', '/v1/runs', { key });
  expect(all.data).toHaveLength(2);
  const { json: books } = await end.request('GET', `/v1/orgs/${orgId}/ledger/reconciliation`, { key });
  expect(books).toMatchObject({ balanced: true, drift_usd: '0' });
  await end.end('SIGTERM');
});
