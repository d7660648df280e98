import { describe, expect, test } from 'vitest';
import { useOrg, useWorld } from '../../../../test/harness.ts';
import { DatabaseUnavailable } from '../../../platform/db/database.ts';
import { createIds } from '../../../platform/ids.ts';
import { createLog } from '../../../platform/log.ts';
import { type Attempts, createAttempts, type RejectedAttempt } from './attempts.ts';

const world = useWorld();
const org = useOrg(world);

/** Returns attempts on a database that can be made unavailable. */
function attemptsOn(state: { isAway: boolean }): Attempts {
  const { db, clock } = world;
  return createAttempts({
    db: {
      ...db,
      transaction: (work) =>
        state.isAway ? Promise.reject(new DatabaseUnavailable('away')) : db.transaction(work),
    },
    ids: createIds(clock),
    heads: world.services.auditHeads,
    clock,
    log: createLog('silent'),
  });
}

const login = (tenantId: string, id: string): RejectedAttempt => ({
  tenantId,
  actor: { kind: 'anonymous', id, at: world.clock.now(), address: '203.0.113.7' },
  action: 'console.login',
  outcome: 'failure',
  code: 'unauthorized',
  target: { kind: 'console', id: 'login' },
});

const written = (tenantId: string) =>
  world.db.query<{ actor_id: string; action: string; detail: Record<string, number> | null }>(
    `SELECT actor_id, action, detail FROM audit_log WHERE tenant_id = $1 AND outcome = 'failure' ORDER BY seq`,
    [tenantId],
  );

test('writes a flood from one actor as a few entries and one with the count of the rest', async () => {
  const attempts = attemptsOn({ isAway: false });
  for (let n = 0; n < 1_000; n += 1) {
    attempts.note(login('flooded', 'a'));
  }
  attempts.note(login('flooded', 'b'));
  await attempts.flush();
  expect((await written('flooded')).map(({ actor_id, detail }) => [actor_id, detail?.repeated])).toEqual([
    ...Array.from({ length: 5 }, () => ['a', undefined]),
    ['b', undefined],
    ['a', 995],
  ]);
});

test('keeps what cannot be written, counts what does not fit into the queue, and writes the count', async () => {
  const state = { isAway: true };
  const attempts = attemptsOn(state);
  for (let n = 0; n < 5_100; n += 1) {
    attempts.note(login('waiting', `n${n}`));
  }
  // The last tenth of the queue is for orgs with few attempts.
  attempts.note(login('other', 'a'));
  await expect(attempts.flush()).rejects.toThrow('away');
  await expect(attempts.flush()).rejects.toThrow('away');
  state.isAway = false;
  await attempts.flush();
  const rows = await written('waiting');
  expect(rows.filter(({ action }) => action === 'console.login')).toHaveLength(4_500);
  expect(rows.filter(({ action }) => action !== 'console.login')).toMatchObject([
    { action: 'audit.attempts_dropped', detail: { count: 600 } },
  ]);
  expect(await written('other')).toHaveLength(1);
});

test('throws if a required entry cannot be written', async () => {
  const state = { isAway: true };
  const attempts = attemptsOn(state);
  await expect(attempts.record(login('recorded', 'a'))).rejects.toThrow(DatabaseUnavailable);
  state.isAway = false;
  await attempts.record(login('recorded', 'a'));
  expect(await written('recorded')).toHaveLength(1);
});

describe('over HTTP', () => {
  const denied = async () => {
    await world.app.finish();
    const { json } = await world.request('GET', `/v1/orgs/${org.id}/audit-log?outcome=denied&sort=seq`, {
      key: org.ownerKey,
    });
    return json.data;
  };

  test("records attempts without permission in the log of the caller's org, but not invalid requests", async () => {
    const { id, secret } = await world.mintKey(org, 'viewer', ['keys:write', 'org:read']);
    const post = (path: string, body: object) => world.request('POST', path, { key: secret, body });
    const refused = await post(`/v1/orgs/${org.id}/keys`, { name: 'a', role: 'owner', scopes: [] });
    await post('/v1/runs', { model: 'm', cost_usd: '1' });
    await post('/v1/admin/orgs', { name: 'a' });
    await world.request('GET', '/v1/orgs/org_unknown', { key: secret });
    await world.request('GET', `/v1/orgs/${org.id}?nonsense=1`, { key: secret });
    await world.request('GET', `/v1/orgs/${org.id}`, { key: 'svc_test_wrong' });
    const entries = await denied();
    expect(entries).toMatchObject([
      { action: 'keys.mint', code: 'forbidden', target: { id: 'POST /v1/orgs/{id}/keys' } },
      { action: 'runs.create', code: 'missing_scope', detail: { required: 'runs:write' } },
      { action: 'orgs.create', code: 'forbidden' },
    ]);
    expect(entries[0]).toMatchObject({
      actor: { kind: 'key', id },
      outcome: 'denied',
      trace_id: refused.headers['x-svc-trace-id'],
      address: '127.0.0.1',
      detail: { params: { id: org.id } },
    });
  });

  test('records requests from addresses outside the allow-list, and the log verifies', async () => {
    const path = `/v1/orgs/${org.id}/ip-allow-list`;
    await world.request('PUT', path, { key: org.ownerKey, body: { cidrs: ['127.0.0.0/8'] } });
    await world.request('GET', path, { key: org.ownerKey, address: '203.0.113.9' });
    expect((await denied()).at(-1)).toMatchObject({ code: 'ip_not_allowed', address: '203.0.113.9' });
    const { json } = await world.request('GET', `/v1/orgs/${org.id}/audit-log/verify`, { key: org.ownerKey });
    expect(json.findings).toEqual([]);
  });
});
