/**
 * Retention that is killed halfway: deleted data is balanced, and the next process continues where the first one
 * stopped.
 */
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { scopes } from '../../src/contract/scopes.ts';
import { endAllProcesses } from '../support/child-process.ts';
import { type ServiceProcess, settingsOf, startPurser } from '../support/service-process.ts';
import { makePlace, type Place } from '../support/test-database.ts';

/** Ten times the batch size, so that a kill after the first batch interrupts the deletion. */
const runs = 10_000;
const perRequest = 5_000;
let place: Place;
let service: ServiceProcess;
beforeAll(async () => {
  place = await makePlace({ migrated: true });
  service = await startPurser(settingsOf(place));
});
afterAll(async () => {
  await endAllProcesses();
  await place?.remove();
});

test('a kill in the middle loses nothing and deletes nothing twice', async () => {
  const { json: org } = await service.request('POST', '/v1/admin/orgs', { body: { name: 'a' } });
  const minted = await service.request('POST', `/v1/admin/orgs/${org.id}/keys`, {
    body: { name: 'owner', role: 'owner', scopes },
  });
  const key: string = minted.json.secret;
  const call = (method: string, path: string, body?: object) =>
    service.request(method, path, { key, ...(body !== undefined && { body }) });
  const started_at = new Date(Date.now() - 40 * 86_400_000).toISOString();
  for (let sent = 0; sent < runs; sent += perRequest) {
    const body = {
      runs: Array.from({ length: perRequest }, () => ({ model: 'm', cost_usd: '0.01', started_at })),
    };
    expect((await call('POST', '/v1/runs/bulk?enforcement=record', body)).status).toBe(201);
  }
  const policyPath = `/v1/orgs/${org.id}/retention-policy`;
  const lastRun = async () => (await call('GET', policyPath)).json.last_run;
  await call('PUT', policyPath, { runs_days: 30 });
  await vi.waitUntil(async () => (await lastRun())?.deleted.runs > 0, { timeout: 60_000, interval: 20 });
  await service.end('SIGKILL');

  service = await startPurser(settingsOf(place));
  const halfWay = await lastRun();
  expect(halfWay).toMatchObject({ finished_at: null });
  expect(halfWay.deleted.runs).toBeLessThan(runs);
  const balanced = {
    balanced: true,
    drift_usd: '0',
    totals: { runs: { entries: `${runs}`, runs: `${runs}`, usage: `${runs}` } },
  };
  expect((await call('GET', `/v1/orgs/${org.id}/ledger/reconciliation`)).json).toMatchObject(balanced);

  await vi.waitUntil(async () => (await lastRun()).finished_at !== null, { timeout: 90_000, interval: 100 });
  expect(await lastRun()).toMatchObject({ id: halfWay.id, deleted: { runs } });
  expect((await call('GET', '/v1/runs')).json.data).toEqual([]);
  expect((await call('GET', `/v1/orgs/${org.id}/ledger/reconciliation`)).json).toMatchObject(balanced);
  const { json: log } = await call('GET', `/v1/orgs/${org.id}/audit-log/verify`);
  expect(log.findings).toEqual([]);
});
