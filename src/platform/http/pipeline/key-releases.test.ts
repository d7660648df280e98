/** A key whose request is over becomes free, also if the database was away when the request ended. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { makePlace, openPlace, type Place } from '../../../../test/support/test-database.ts';
import type { Database } from '../../db/database.ts';
import { createLog } from '../../log.ts';
import { type Reservation, reserve, storeResponse } from './idempotency.ts';
import { createKeyReleases } from './key-releases.ts';

let place: Place;
let db: Database;
beforeAll(async () => {
  place = await makePlace({ migrated: true });
  db = await openPlace(place);
});
afterAll(async () => {
  await db?.close();
  await place?.remove();
});

async function reserved(key: string): Promise<Reservation> {
  const caller = { tenantId: 'org_1', keyId: 'k', role: 'admin', scopes: new Set(['keys:write']) } as const;
  const path = { template: '/p', params: {} };
  const request = { caller, method: 'POST', path, query: {}, body: {}, key };
  const result = await reserve(db, request, { processId: 'none', afterSeconds: 3_600 });
  if (result.kind !== 'mine') {
    throw new Error('the key was used');
  }
  return result.reservation;
}

test('repeats a release that failed, and keeps stored responses and keys that were taken over', async () => {
  let away = true;
  const query: Database['query'] = (sql, params) =>
    away ? Promise.reject(new Error('away')) : db.query(sql, params);
  const releases = createKeyReleases({ query }, createLog('silent'));
  const [failed, stored, taken] = [
    await reserved('failed'),
    await reserved('stored'),
    await reserved('taken'),
  ];
  await storeResponse(db, stored, { status: 201, body: '{}' }, () => 'digest');
  for (const reservation of [failed, stored, { ...taken, fence: 'an earlier one' }]) {
    await releases.release(reservation, 'trace');
  }
  await expect(releases.job.runOnce()).rejects.toThrow('away');
  await expect(reserved('failed')).rejects.toMatchObject({ code: 'idempotency_key_processing' });
  away = false;
  expect(await releases.job.runOnce()).toBe(false);
  await reserved('failed');
  await expect(reserved('stored')).rejects.toThrow('the key was used');
  await expect(reserved('taken')).rejects.toMatchObject({ code: 'idempotency_key_processing' });
});

test('releases what is left when it stops', async () => {
  let away = true;
  const query: Database['query'] = (sql, params) =>
    away ? Promise.reject(new Error('away')) : db.query(sql, params);
  const releases = createKeyReleases({ query }, createLog('silent'));
  await releases.release(await reserved('last'), 'trace');
  away = false;
  await releases.job.stop?.();
  await reserved('last');
});
