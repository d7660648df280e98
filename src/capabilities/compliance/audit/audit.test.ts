import { beforeAll, describe, expect, test } from 'vitest';
import { type TestOrg, useOrg, useWorld } from '../../../../test/harness.ts';
import { type AuditRow, entryOfRow } from './queries.ts';

const world = useWorld();

const entries = async (tenantId: string) =>
  (
    await world.db.query<AuditRow>('SELECT * FROM audit_log WHERE tenant_id = $1 ORDER BY seq', [tenantId])
  ).map(entryOfRow);

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

test('if the commit fails, neither the change nor its entry and event exist', async () => {
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

test('the chain of an org is valid, also after concurrent changes', async () => {
  const org = await world.createOrg();
  await Promise.all(
    Array.from({ length: 20 }, (_, i) =>
      world.request('PATCH', `/v1/orgs/${org.id}`, { key: org.ownerKey, body: { name: `N${i}` } }),
    ),
  );
  const rows = await entries(org.id);
  expect(rows.map(({ seq }) => seq)).toEqual(Array.from({ length: 22 }, (_, i) => i + 1));
  expect(rows.slice(1).map(({ previousHash }) => previousHash)).toEqual(
    rows.slice(0, -1).map(({ hash }) => hash),
  );
  const { json } = await world.request('GET', `/v1/orgs/${org.id}/audit-log/verify`, { key: org.ownerKey });
  expect(json).toMatchObject({ valid: true, checked_entries: 22, first_seq: 1, last_seq: 22, findings: [] });
});

test('the log is ordered by time, whatever the clocks of processes say', async () => {
  const org = await world.createOrg();
  world.clock.advanceSeconds(3_600);
  await rename(org, 'later');
  world.clock.advanceSeconds(-3_600);
  await rename(org, 'earlier');
  const times = (await entries(org.id)).map(({ at }) => at);
  expect(times).toEqual([...times].sort());
});

async function rename(org: TestOrg, name: string): Promise<void> {
  const { status } = await world.request('PATCH', `/v1/orgs/${org.id}`, {
    key: org.ownerKey,
    body: { name },
  });
  expect(status).toBe(200);
}

describe('reading', () => {
  const org = useOrg(world);
  let traceId: string | undefined;
  beforeAll(async () => {
    world.clock.advanceSeconds(10);
    await rename(org, 'one');
    world.clock.advanceSeconds(10);
    const { headers } = await world.request('PATCH', `/v1/orgs/${org.id}`, {
      key: org.ownerKey,
      body: { name: 'two' },
    });
    traceId = headers['x-svc-trace-id'];
    const { secret } = await world.mintKey(org, 'viewer', ['audit:read']);
    await world.request('PATCH', `/v1/orgs/${org.id}`, { key: secret, body: { name: 'three' } });
    await world.request('POST', '/v1/runs', { key: secret, body: { model: 'm', cost_usd: '1' } });
    await world.runJob('audit-refused-attempts');
  });
  const list = async (query: string) =>
    (await world.request('GET', `/v1/orgs/${org.id}/audit-log?${query}`, { key: org.ownerKey })).json;
  const actions = async (query: string) =>
    (await list(query)).data.map(({ action }: { action: string }) => action);

  test('lists entries in pages, latest first', async () => {
    const all = await actions('');
    expect(all).toEqual([
      'runs.create',
      'org.change',
      'orgs.keys.mint',
      'org.change',
      'org.change',
      'orgs.keys.mint',
      'orgs.create',
    ]);
    const seen: string[] = [];
    for (let query = 'limit=3'; query !== ''; ) {
      const page = await list(query);
      seen.push(...page.data.map(({ action }: { action: string }) => action));
      query = page.next_cursor === null ? '' : `limit=3&cursor=${page.next_cursor}`;
    }
    expect(seen).toEqual(all);
    expect(await actions('sort=seq')).toEqual([...all].reverse());
  });

  test('the audit log filters entries', async () => {
    const { data } = await list('');
    const changed = data.find(
      ({ outcome, action }: { outcome: string; action: string }) =>
        outcome === 'success' && action === 'org.change',
    );
    expect(await actions(`trace_id=${traceId}`)).toEqual(['org.change']);
    expect(await actions(`actor=${changed.actor.id}`)).toEqual(['org.change', 'org.change']);
    expect(await actions('actor_kind=operator')).toEqual(['orgs.keys.mint', 'orgs.keys.mint', 'orgs.create']);
    expect(await actions('action=org.change&outcome=success')).toEqual(['org.change', 'org.change']);
    expect(await actions(`target=${org.id}`)).toEqual(['org.change', 'org.change', 'orgs.create']);
    expect(await actions('target_kind=key')).toEqual(['orgs.keys.mint', 'orgs.keys.mint']);
    expect(await actions(`from=${changed.at}&outcome=success`)).toEqual(['orgs.keys.mint', 'org.change']);
    expect(await actions(`to=${changed.at}`)).toEqual(['org.change', 'orgs.keys.mint', 'orgs.create']);
    expect(await actions('outcome=denied')).toEqual(['runs.create', 'org.change']);
    expect(await actions('code=missing_scope')).toEqual(['runs.create', 'org.change']);
  });

  test('the audit log rejects invalid filters', async () => {
    for (const [query, fault] of [
      ['outcome=maybe', 'outcome invalid_value'],
      ['from=yesterday', 'from invalid_format'],
      ['sort=at', 'sort invalid_value'],
      ['cursor=x', 'cursor invalid_value'],
      ['actor_id=x', 'actor_id unknown_field'],
    ]) {
      const { error } = await list(query as string);
      expect(error.details.fields.map(({ field, code }: Fault) => `${field} ${code}`)).toEqual([fault]);
    }
  });
});

interface Fault {
  readonly field: string;
  readonly code: string;
}
