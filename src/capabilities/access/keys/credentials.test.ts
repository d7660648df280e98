/** Fail open: the keys that are accepted while the database is unavailable. */
import { beforeAll, beforeEach, expect, test } from 'vitest';
import { useOrgPerTest, useWorld } from '../../../../test/harness.ts';
import { eventually } from '../../../../test/support/eventually.ts';
import { createNotificationsReceived } from '../../../../test/support/notifications-received.ts';
import {
  type Database,
  DatabaseUnavailable,
  type NotificationListener,
} from '../../../platform/db/database.ts';
import { type AddressList, isListed } from '../../../platform/http/message/address.ts';
import { type Credentials, createCredentials } from './credentials.ts';

const address = '192.0.2.1';

const world = useWorld();
const org = useOrgPerTest(world);
let credentials: Credentials;
let isAway: boolean;
let notificationsHealthy: boolean;
let listeners: NotificationListener[];
let notificationsReceived: () => Promise<void>;

beforeAll(() => {
  notificationsReceived = createNotificationsReceived(world.db);
});
beforeEach(() => {
  isAway = false;
  notificationsHealthy = true;
  listeners = [];
  // The real database, with queries and notifications that the test can switch off.
  const db: Database = {
    ...world.db,
    query: (sql, params) =>
      isAway ? Promise.reject(new DatabaseUnavailable('away')) : world.db.query(sql, params),
    listen(channel, listener) {
      listeners.push(listener);
      world.db.listen(channel, (payload) => notificationsHealthy && listener(payload));
    },
    notificationsHealthy: () => notificationsHealthy,
  };
  credentials = createCredentials(db, { acceptLastKnown: true });
});

async function revoke(id: string): Promise<void> {
  const path = `/v1/orgs/${org.id}/keys/${id}`;
  expect((await world.request('DELETE', path, { key: org.ownerKey })).status).toBe(204);
}

/** Simulates the loss or the recovery of the notification connection. */
function setNotificationsHealthy(healthy: boolean): void {
  notificationsHealthy = healthy;
  for (const listener of listeners) {
    listener(null);
  }
}

function goAway(): void {
  isAway = true;
  setNotificationsHealthy(false);
}

function comeBack(): void {
  isAway = false;
  setNotificationsHealthy(true);
}

/** Waits until the key is cached, and no notification can evict it but that of a later change. */
async function untilCached(token: string): Promise<void> {
  await notificationsReceived();
  const cached = async () => {
    await credentials.find(token, address);
    return credentials.peek(token);
  };
  await expect.poll(cached).toBeDefined();
}

test('accepts a key that was cached', async () => {
  await untilCached(org.ownerKey);
  goAway();
  expect((await credentials.find(org.ownerKey, address))?.org?.id).toBe(org.id);
});

test('does not accept a key that was revoked before and was not presented since', async () => {
  const { id, secret } = await world.mintKey(org, 'admin', ['org:read']);
  await untilCached(secret);
  await untilCached(org.ownerKey);
  await revoke(id);
  goAway();
  await expect(credentials.find(secret, address)).rejects.toThrow(DatabaseUnavailable);
  expect(await credentials.find(org.ownerKey, address), 'another key of the org').toBeDefined();
});

test('does not accept the keys of an org that was suspended before', async () => {
  const other = await world.createOrg();
  await untilCached(org.ownerKey);
  await untilCached(other.ownerKey);
  const path = `/v1/admin/orgs/${org.id}/suspend`;
  expect((await world.request('POST', path, { key: world.operatorKey })).status).toBe(200);
  goAway();
  await expect(credentials.find(org.ownerKey, address)).rejects.toThrow(DatabaseUnavailable);
  expect(await credentials.find(other.ownerKey, address)).toBeDefined();
});

test('does not accept a key that was revoked while notifications were missed, once the database was back', async () => {
  const { id, secret } = await world.mintKey(org, 'admin', ['org:read']);
  await untilCached(secret);
  setNotificationsHealthy(false);
  await revoke(id);
  comeBack();
  await untilCached(org.ownerKey);
  goAway();
  await expect(credentials.find(secret, address)).rejects.toThrow(DatabaseUnavailable);
  expect(await credentials.find(org.ownerKey, address)).toBeDefined();
});

test('accepts in a second outage a key that was not presented since the first, unless it was revoked', async () => {
  const { id, secret } = await world.mintKey(org, 'admin', ['org:read']);
  const { secret: kept } = await world.mintKey(org, 'admin', ['org:read']);
  await untilCached(secret);
  await untilCached(kept);
  goAway();
  expect(await credentials.find(kept, address)).toBeDefined();
  await revoke(id);
  comeBack();
  for (const job of credentials.jobs) {
    while (await job.runOnce()) {
      // Continue with the next batch.
    }
  }
  goAway();
  expect(await credentials.find(kept, address)).toMatchObject({ revoked: false });
  expect(await credentials.find(secret, address)).toMatchObject({ revoked: true });
});

test('accepts a key whose org was changed shortly before the outage', async () => {
  await untilCached(org.ownerKey);
  const renamed = await world.request('PATCH', `/v1/orgs/${org.id}`, {
    key: org.ownerKey,
    body: { name: 'Renamed' },
  });
  expect(renamed.status).toBe(200);
  const [job] = credentials.jobs;
  await expect
    .poll(async () => {
      await job?.runOnce();
      goAway();
      const found = await credentials.find(org.ownerKey, address).catch(() => undefined);
      comeBack();
      return found?.org?.name;
    })
    .toBe('Renamed');
});

test('the keys of an org share one IP allow-list', async () => {
  const { secret } = await world.mintKey(org, 'admin', ['org:read']);
  const listsFor = async (cidrs: readonly string[]) => {
    const body = { cidrs, force: true };
    const path = `/v1/orgs/${org.id}/ip-allow-list`;
    expect((await world.request('PUT', path, { key: org.ownerKey, body })).status).toBe(200);
    // On PostgreSQL the notification of the change may arrive later.
    setNotificationsHealthy(true);
    const keys = [
      await credentials.find(org.ownerKey, '192.0.2.1'),
      await credentials.find(secret, '192.0.2.1'),
    ];
    return keys.map((credential) => credential?.org?.allowList);
  };
  const [first, second] = await listsFor(['127.0.0.0/8', '2001:db8::/32']);
  expect(first?.ipv4).toBeDefined();
  expect(second).toBe(first);
  const [changed] = await listsFor(['127.0.0.1']);
  expect(changed).not.toBe(first);
  expect(isListed(changed as AddressList, '127.0.0.2')).toBe(false);
  expect(await listsFor([])).toEqual([null, null]);
});

test('the changed attribution of a key applies in every process, also in an outage', async () => {
  const key = await world.mintKey(org, 'viewer', [], { attribution: { team: 'before' } });
  const attributionNow = async () => (await credentials.find(key.secret, address))?.attribution;
  await untilCached(key.secret);
  expect(credentials.peek(key.secret)?.attribution).toEqual({ values: { team: 'before' }, locked: [] });
  const changed = await world.request('PATCH', `/v1/orgs/${org.id}/keys/${key.id}`, {
    key: org.ownerKey,
    body: { attribution: { team: 'after' }, attribution_locked: ['team'] },
  });
  expect(changed.status).toBe(200);
  await eventually(() => expect(credentials.peek(key.secret)).toBeUndefined());
  const after = { values: { team: 'after' }, locked: ['team'] };
  expect(await attributionNow()).toEqual(after);
  // A notification that arrives late evicts the credential once more. The job loads it again.
  const [job] = credentials.jobs;
  await expect
    .poll(async () => {
      await job?.runOnce();
      goAway();
      const found = await attributionNow().catch(() => undefined);
      comeBack();
      return found;
    })
    .toEqual(after);
});
