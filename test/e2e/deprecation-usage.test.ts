/** The callers of a deprecated route are still known after the process that served them has ended. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { endAllProcesses } from '../support/child-process.ts';
import { settingsOf, startPurser } from '../support/service-process.ts';
import { makePlace, type Place } from '../support/test-database.ts';

let place: Place;
beforeEach(async () => {
  place = await makePlace({ migrated: true });
});
afterEach(async () => {
  await endAllProcesses();
  await place.remove();
});

test('calls that were only in memory are written when the service drains', async () => {
  const service = await startPurser(settingsOf(place));
  const org = (await service.request('POST', '/v1/admin/orgs', { body: { name: 'a' } })).json;
  const minted = await service.request('POST', `/v1/admin/orgs/${org.id}/keys`, {
    body: { name: 'old script', role: 'viewer', scopes: ['forecasts:read'] },
  });
  const path = '/v1/forecast?deployment=d&teams=1';
  const answers = await Promise.all(
    Array.from({ length: 20 }, () => service.request('GET', path, { key: minted.json.secret })),
  );
  expect(answers.map(({ status }) => status)).toEqual(Array(20).fill(200));
  expect(await service.end('SIGTERM')).toEqual({ code: 0, signal: null });

  const again = await startPurser(settingsOf(place));
  const { json } = await again.request('GET', '/v1/admin/deprecations/usage');
  expect(json.data).toMatchObject([
    { route: '/v1/forecast', org_id: org.id, key_id: minted.json.id, key_name: 'old script', calls: 20 },
  ]);
});
