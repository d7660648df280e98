/** A detector that is changed in one process is obeyed by every other within a second. */
import { performance } from 'node:perf_hooks';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { endAllProcesses, processTimeouts } from '../support/child-process.ts';
import { type ServiceProcess, settingsOf, startPurser } from '../support/service-process.ts';
import { engine, makePlace, type Place } from '../support/test-database.ts';

vi.setConfig(processTimeouts);

const boundMs = 1_000;

let place: Place;
let changer: ServiceProcess;
/** On the embedded engine there is one process; it observes its own changes. */
let observer: ServiceProcess;
let orgId: string;
let key: string;
beforeAll(async () => {
  place = await makePlace({ migrated: true });
  changer = await startPurser(settingsOf(place));
  observer = engine === 'postgres' ? await startPurser(settingsOf(place)) : changer;
  orgId = (await changer.request('POST', '/v1/admin/orgs', { body: { name: 'A' } })).json.id;
  const scopes = ['policies:read', 'policies:write', 'runs:write', 'edge:decide'];
  const body = { name: 'owner', role: 'owner', scopes };
  key = (await changer.request('POST', `/v1/admin/orgs/${orgId}/keys`, { body })).json.secret;
});
afterAll(async () => {
  await endAllProcesses();
  await place?.remove();
});

const post = () =>
  observer.request('POST', '/v1/runs', {
    key,
    body: { model: 'm', cost_usd: '0', content: 'to ann@example.com' },
  });
const notChecked = async () =>
  (
    await observer.request('POST', '/v1/edge/decision', {
      key,
      body: { model: 'm', estimated_cost_usd: '0' },
    })
  ).json.not_checked;
const change = async (body: object) => {
  const path = `/v1/orgs/${orgId}/safety-detectors/email`;
  expect((await changer.request('PATCH', path, { key, body })).status).toBe(200);
  return performance.now();
};

test('an enabled detector refuses, a disabled one no longer does, and the edge knows of both', async () => {
  expect((await post()).status).toBe(201);
  expect(await notChecked()).toEqual([]);

  const enabledMs = await change({ enabled: true, action: 'block' });
  await vi.waitFor(async () => expect((await post()).code).toBe('content_safety_blocked'), 10 * boundMs);
  await vi.waitFor(async () => expect(await notChecked()).toEqual(['safety']), 10 * boundMs);
  expect(performance.now() - enabledMs).toBeLessThan(boundMs);

  const disabledMs = await change({ enabled: false });
  await vi.waitFor(async () => expect((await post()).status).toBe(201), 10 * boundMs);
  await vi.waitFor(async () => expect(await notChecked()).toEqual([]), 10 * boundMs);
  expect(performance.now() - disabledMs).toBeLessThan(boundMs);
});
