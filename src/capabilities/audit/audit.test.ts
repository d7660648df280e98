import { afterAll, beforeAll, expect, test } from 'vitest';
import { createWorld, type World } from '../../../test/harness.ts';
import { type AuditEntry, chainStart, entryHash } from './chain.ts';

let world: World;
beforeAll(async () => {
  world = await createWorld();
});
afterAll(() => world.close());

interface Row extends AuditEntry {
  readonly previousHash: string;
  readonly hash: string;
}

const entries = (tenantId: string) =>
  world.db.query<Row>(
    `SELECT tenant_id AS "tenantId", seq, id, at, actor_kind AS "actorKind", actor_id AS "actorId", action,
            target_kind AS "targetKind", target_id AS "targetId", before, after, address, trace_id AS "traceId",
            previous_hash AS "previousHash", hash
       FROM audit_log WHERE tenant_id = $1 ORDER BY seq`,
    [tenantId],
  );

test('a change, its audit entry and its event commit together', async () => {
  const org = await world.createOrg();
  const answer = await world.request('PATCH', `/v1/orgs/${org.id}`, {
    key: org.ownerKey,
    body: { name: 'New' },
  });
  const entry = (await entries(org.id)).at(-1);
  expect(entry).toMatchObject({
    action: 'org.change',
    actorKind: 'key',
    targetKind: 'org',
    targetId: org.id,
    address: '127.0.0.1',
    traceId: answer.headers['x-svc-trace-id'],
    after: answer.json,
  });
  expect(entry?.before).toMatchObject({ id: org.id, name: expect.not.stringMatching('New') });
  const events = await world.db.query(
    `SELECT data FROM outbox WHERE tenant_id = $1 AND type = 'org.updated'`,
    [org.id],
  );
  expect(events).toEqual([{ data: answer.json }]);
});

test('when the commit does not happen, neither the change nor its traces are there', async () => {
  const org = await world.createOrg();
  const before = await entries(org.id);
  world.fault = (point) => {
    if (point === 'write.before_commit') {
      throw new Error('the power is out');
    }
  };
  const failed = await world.request('PATCH', `/v1/orgs/${org.id}`, {
    key: org.ownerKey,
    body: { name: 'Lost' },
  });
  world.fault = undefined;
  expect(failed.json.error.code).toBe('internal');
  expect(await entries(org.id)).toEqual(before);
  const { json } = await world.request('GET', `/v1/orgs/${org.id}`, { key: org.ownerKey });
  expect(json.name).not.toBe('Lost');
});

test('the chain of an org holds, also when its changes are made at once', async () => {
  const org = await world.createOrg();
  await Promise.all(
    Array.from({ length: 20 }, (_, i) =>
      world.request('PATCH', `/v1/orgs/${org.id}`, { key: org.ownerKey, body: { name: `N${i}` } }),
    ),
  );
  const rows = await entries(org.id);
  expect(rows).toHaveLength(22);
  let previous = chainStart;
  rows.forEach(({ previousHash, hash, ...entry }, index) => {
    expect(entry.seq).toBe(BigInt(index + 1));
    expect(previousHash).toBe(previous);
    expect(hash).toBe(entryHash(previousHash, entry));
    previous = hash;
  });
  const [head] = await world.db.query('SELECT seq, hash FROM audit_chains WHERE tenant_id = $1', [org.id]);
  expect(head).toEqual({ seq: 22n, hash: previous });
});
