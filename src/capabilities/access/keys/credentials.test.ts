/** What is believed of a key while the database is away, where the operator chose that the edge goes on. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createWorld, type TestOrg, type World } from '../../../../test/harness.ts';
import {
  type Database,
  DatabaseUnavailable,
  type NotificationListener,
} from '../../../platform/db/database.ts';
import { type Credentials, createCredentials } from './credentials.ts';

let world: World;
let org: TestOrg;
let credentials: Credentials;
let isAway: boolean;
let hearsNotices: boolean;
let listeners: NotificationListener[];

beforeAll(async () => {
  world = await createWorld();
});
beforeEach(async () => {
  org = await world.createOrg();
  isAway = false;
  hearsNotices = true;
  listeners = [];
  // The real database behind a door that can be shut, for questions and for notices.
  const db: Database = {
    ...world.db,
    query: (sql, params) =>
      isAway ? Promise.reject(new DatabaseUnavailable('away')) : world.db.query(sql, params),
    listen(channel, listener) {
      listeners.push(listener);
      world.db.listen(channel, (payload) => hearsNotices && listener(payload));
    },
    notificationsHealthy: () => hearsNotices,
  };
  credentials = createCredentials(db, { believeLastKnown: true });
});
afterAll(() => world.close());

async function revoke(id: string): Promise<void> {
  const path = `/v1/orgs/${org.id}/keys/${id}`;
  expect((await world.request('DELETE', path, { key: org.ownerKey })).status).toBe(204);
}

/** As the engine says it: when the connection is lost, and when it is there again. */
function hearing(hears: boolean): void {
  hearsNotices = hears;
  for (const listener of listeners) {
    listener(null);
  }
}

function goAway(): void {
  isAway = true;
  hearing(false);
}

function comeBack(): void {
  isAway = false;
  hearing(true);
}

/** What is announced is heard again from the server a little later, and a row that was read meanwhile is not kept. */
async function know(token: string): Promise<void> {
  const known = async () => {
    await credentials.find(token);
    return credentials.peek(token);
  };
  await expect.poll(known).toBeDefined();
}

test('a key that was known is believed', async () => {
  await know(org.ownerKey);
  goAway();
  expect((await credentials.find(org.ownerKey))?.org?.id).toBe(org.id);
});

test('a key that was revoked before is not, although nobody presented it since', async () => {
  const { id, secret } = await world.mintKey(org, 'admin', ['org:read']);
  await know(secret);
  await know(org.ownerKey);
  await revoke(id);
  goAway();
  await expect(credentials.find(secret)).rejects.toThrow(DatabaseUnavailable);
  expect(await credentials.find(org.ownerKey), 'another one of the org').toBeDefined();
});

test('nor are the keys of an org that was suspended before', async () => {
  const other = await world.createOrg();
  await know(org.ownerKey);
  await know(other.ownerKey);
  const path = `/v1/admin/orgs/${org.id}/suspend`;
  expect((await world.request('POST', path, { key: world.operatorKey })).status).toBe(200);
  goAway();
  await expect(credentials.find(org.ownerKey)).rejects.toThrow(DatabaseUnavailable);
  expect(await credentials.find(other.ownerKey)).toBeDefined();
});

test('nor one that was revoked while no notice could be heard, once the database was back', async () => {
  const { id, secret } = await world.mintKey(org, 'admin', ['org:read']);
  await know(secret);
  hearing(false);
  await revoke(id);
  comeBack();
  await know(org.ownerKey);
  goAway();
  await expect(credentials.find(secret)).rejects.toThrow(DatabaseUnavailable);
  expect(await credentials.find(org.ownerKey)).toBeDefined();
});
