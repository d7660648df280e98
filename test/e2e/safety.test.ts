/** Every process applies a changed detector as soon as it has received the change. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { endAllProcesses } from '../support/child-process.ts';
import { type ServiceProcess, settingsOf, startPurser } from '../support/service-process.ts';
import { namedOn, untilHeard } from '../support/signs-of-life.ts';
import { engine, makePlace, type Place } from '../support/test-database.ts';

const observerName = 'purser_observer';

let place: Place;
let changer: ServiceProcess;
/** The embedded engine has one process, which observes its own changes. */
let observer: ServiceProcess;
let orgId: string;
let key: string;
beforeAll(async () => {
  place = await makePlace({ migrated: true });
  changer = await startPurser(settingsOf(place));
  const named = { ...settingsOf(place), ...namedOn(place, observerName) };
  observer = engine === 'postgres' ? await startPurser(named) : changer;
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
  if (engine === 'postgres') {
    await untilHeard(place, observerName);
  }
};

test('an enabled detector refuses, a disabled one no longer does, and the edge knows of both', async () => {
  expect((await post()).status).toBe(201);
  expect(await notChecked()).toEqual([]);

  await change({ enabled: true, action: 'block' });
  expect((await post()).code).toBe('content_safety_blocked');
  expect(await notChecked()).toEqual(['safety']);

  await change({ enabled: false });
  expect((await post()).status).toBe(201);
  expect(await notChecked()).toEqual([]);
});
