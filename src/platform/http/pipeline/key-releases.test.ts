/** A key whose request is over becomes free, also if the database was away when the request ended. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { makePlace, openPlace, type Place } from '../../../../test/support/test-database.ts';
import type { Database } from '../../db/database.ts';
import { createLog } from '../../log.ts';
import { type KeyReservation, reserve, storeResponse } from './idempotency.ts';
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

const takeoverSeconds = 3_600;

async function reserved(
  key: string,
  on: Database = db,
  onUncertain: (reservation: KeyReservation) => void = () => undefined,
): Promise<KeyReservation> {
  const caller = { tenantId: 'org_1', keyId: 'k', role: 'admin', scopes: new Set(['keys:write']) } as const;
  const path = { template: '/p', params: {} };
  const request = { caller, method: 'POST', path, query: {}, body: {}, key };
  const result = await reserve(on, request, {
    processId: 'none',
    afterSeconds: takeoverSeconds,
    onUncertain,
  });
  if (result.kind !== 'mine') {
    throw new Error('the key was used');
  }
  return result.reservation;
}

test('repeats a release that failed, and keeps stored responses and keys that were taken over', async () => {
  let away = true;
  const query: Database['query'] = (sql, params) =>
    away ? Promise.reject(new Error('away')) : db.query(sql, params);
  const releases = createKeyReleases({ db: { query }, log: createLog('silent'), takeoverSeconds });
  const [failed, stored, taken] = [
    await reserved('failed'),
    await reserved('stored'),
    await reserved('taken'),
  ];
  await storeResponse(db, stored, { status: 201, body: '{}' }, () => () => 'digest');
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
  const releases = createKeyReleases({ db: { query }, log: createLog('silent'), takeoverSeconds });
  await releases.release(await reserved('last'), 'trace');
  away = false;
  await releases.job.stop?.();
  await reserved('last');
});

test('releases a reservation whose statement took effect although its answer was lost, also if it takes effect later', async () => {
  let nowMs = 1_000;
  const log = createLog('silent');
  const releases = createKeyReleases({ db, log, takeoverSeconds: 60, monotonicMs: () => nowMs });
  let arrive: (() => Promise<unknown>) | undefined;
  const losing: Database = {
    ...db,
    async query(sql, params) {
      arrive = () => db.query(sql, params);
      throw new Error('the answer was lost');
    },
  };
  const lose = () => expect(reserved('lost', losing, releases.releaseUncertain)).rejects.toThrow('lost');
  await lose();
  await arrive?.();
  await expect(reserved('lost')).rejects.toMatchObject({ code: 'idempotency_key_processing' });
  await releases.job.runOnce();
  const second = await reserved('lost');
  await releases.job.runOnce();
  await expect(reserved('lost')).rejects.toMatchObject({ code: 'idempotency_key_processing' });
  await releases.release(second, 'trace');

  await lose();
  await releases.job.runOnce();
  await arrive?.();
  nowMs += 59_000;
  await releases.job.runOnce();
  const third = await reserved('lost');
  await releases.release(third, 'trace');

  await lose();
  nowMs += 60_000;
  await arrive?.();
  await releases.job.runOnce();
  await expect(reserved('lost')).rejects.toMatchObject({ code: 'idempotency_key_processing' });
});
