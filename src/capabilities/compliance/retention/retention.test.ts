import { beforeEach, describe, expect, test } from 'vitest';
import { type TestOrg, useWorld } from '../../../../test/harness.ts';
import { errorSummary, invalid } from '../../../../test/support/limits.ts';
import { dropEmptyMonths } from '../../../ledger/partitions.ts';
import { retryAfterMs } from './job.ts';

const dayMs = 86_400_000;
const world = useWorld();
let org: TestOrg;
beforeEach(async () => {
  org = await world.createOrg();
});

const call = (method: string, path: string, body?: object) =>
  world.request(method, path, { key: org.ownerKey, ...(body !== undefined && { body }) });
const path = () => `/v1/orgs/${org.id}/retention-policy`;
const put = (body: object) => call('PUT', path(), body);

const deleteAll = () => world.runJob('apply-retention');

const daysAgo = (days: number) => new Date(world.clock.now().getTime() - days * dayMs).toISOString();

/** Records this many runs on each of these days, at one cent per run. */
async function record(days: readonly number[], runs: number, more: object = {}): Promise<void> {
  const body = {
    runs: days.flatMap((day) =>
      Array.from({ length: runs }, (_, n) => ({
        model: 'm',
        cost_usd: '0.01',
        input_tokens: 10,
        output_tokens: 5,
        started_at: daysAgo(day),
        external_id: `${org.id} ${day} ${n}`,
        ...more,
      })),
    ),
  };
  expect((await call('POST', '/v1/runs/bulk?enforcement=record', body)).status).toBe(201);
}

const count = async (table: string) => {
  const [row] = await world.db.query<{ count: bigint }>(
    `SELECT count(*) AS count FROM ${table} WHERE org_id = $1`,
    [org.id],
  );
  return Number(row?.count);
};

async function expectBalanced(costUsd: string): Promise<void> {
  const { json } = await call('GET', `/v1/orgs/${org.id}/ledger/reconciliation`);
  expect(json).toMatchObject({
    balanced: true,
    drift_usd: '0',
    totals: { cost_usd: { entries: costUsd, runs: costUsd, usage: costUsd } },
  });
}

const usage = async () =>
  (await call('GET', `/v1/orgs/${org.id}/usage?from=${daysAgo(800)}&group_by=model`)).json.data;

describe('the policy', () => {
  test('keeps everything but content by default', async () => {
    expect((await call('GET', path())).json).toEqual({
      runs_days: null,
      content_days: 0,
      audit_days: null,
      deliveries_days: 30,
      idempotency_days: 3,
      legal_hold: false,
      updated_at: null,
      failing_since: null,
      failing: [],
      last_run: null,
    });
  });

  test('the retention policy is replaced as a whole, audited, and emits an event', async () => {
    const body = { runs_days: 30, content_days: 7, audit_days: 365, deliveries_days: 14, legal_hold: true };
    const { status, json } = await put(body);
    expect([status, json]).toEqual([200, expect.objectContaining({ ...body, idempotency_days: 3 })]);
    expect((await call('GET', path())).json).toEqual(json);
    await put({ runs_days: 40 });
    expect((await call('GET', path())).json).toMatchObject({
      runs_days: 40,
      content_days: 0,
      legal_hold: false,
    });
    const log = await call('GET', `/v1/orgs/${org.id}/audit-log?action=retention_policy.put`);
    expect(log.json.data).toMatchObject([
      { before: { runs_days: 30 }, after: { runs_days: 40 } },
      { before: { runs_days: null }, after: { runs_days: 30 } },
    ]);
    const events = await world.db.query(
      `SELECT 1 AS one FROM outbox WHERE tenant_id = $1 AND type = 'org.retention_policy_updated'`,
      [org.id],
    );
    expect(events).toHaveLength(2);
  });

  test.each<[object, string[]]>([
    [{ runs_days: 0 }, ['runs_days out_of_range']],
    [{ runs_days: 3_651 }, ['runs_days out_of_range']],
    [{ content_days: -1 }, ['content_days out_of_range']],
    [{ content_days: null }, ['content_days invalid_type']],
    [{ audit_days: 29 }, ['audit_days out_of_range']],
    [{ deliveries_days: 0 }, ['deliveries_days out_of_range']],
    [{ idempotency_days: 31 }, ['idempotency_days out_of_range']],
    [{ runs_days: '30', legal_hold: 'no' }, ['legal_hold invalid_type', 'runs_days invalid_type']],
    [{ runs_days: 1.5 }, ['runs_days invalid_type']],
    [{ days: 1 }, ['days unknown_field']],
  ])('rejects %j', async (body, faults) => {
    expect(errorSummary(await put(body))).toEqual(invalid(...faults));
  });

  test('the retention policy is restricted to owners', async () => {
    const { secret } = await world.mintKey(org, 'admin', ['org:read', 'org:write']);
    const answer = await world.request('PUT', path(), { key: secret, body: {} });
    expect(errorSummary(answer)).toEqual([403, 'forbidden']);
    expect((await world.request('GET', path(), { key: secret })).status).toBe(200);
  });
});

describe('deleting runs', () => {
  test('keeps sums, usage and a balanced ledger, and records the deletion', async () => {
    await record([100, 40, 10], 20);
    const before = await usage();
    await put({ runs_days: 30 });
    await deleteAll();
    expect(await count('runs')).toBe(20);
    expect(await count('ledger_entries')).toBe(60);
    await expectBalanced('0.6');
    expect(await usage()).toEqual(before);

    const { json: policy } = await call('GET', path());
    const nothing = { contents: 0, ledger_entries: 0, audit_entries: 0, support_access: 0, deliveries: 0 };
    const deleted = { runs: 40, ...nothing, events: 0 };
    expect(policy.last_run).toMatchObject({ deleted, finished_at: expect.any(String) });
    expect((await call('GET', `/v1/orgs/${org.id}/retention-runs`)).json.data).toEqual([policy.last_run]);
    const log = await call('GET', `/v1/orgs/${org.id}/audit-log?action=retention_policy.run`);
    expect(log.json.data).toMatchObject([
      { actor: { kind: 'service', id: 'retention' }, target: { id: policy.last_run.id }, after: { deleted } },
    ]);
  });

  test('deletes ledger entries once no window of a limit can include them', async () => {
    await record([800, 400, 300], 10, { customer_id: 'c', chain_id: 'chain' });
    await call('POST', `/v1/orgs/${org.id}/budgets`, {
      name: 'year',
      scope_kind: 'org',
      period: 'year',
      limit_usd: '100',
    });
    await put({ runs_days: 30 });
    await deleteAll();
    expect([await count('runs'), await count('ledger_entries')]).toEqual([0, 10]);
    await expectBalanced('0.3');
    // The ledger still balances after more history is recorded.
    await record([801], 5);
    await expectBalanced('0.35');
    world.clock.advanceSeconds(86_400 + 1);
    await deleteAll();
    expect([await count('runs'), await count('ledger_entries')]).toEqual([0, 10]);
    await expectBalanced('0.35');
  });

  test('keeps the usage of chains, credit packs and prepaid balances', async () => {
    await world.request('PUT', `/v1/admin/orgs/${org.id}/prepaid`, {
      key: world.operatorKey,
      body: { enabled: true },
    });
    await world.request('POST', `/v1/admin/orgs/${org.id}/prepaid/top-ups`, {
      key: world.operatorKey,
      body: { amount_usd: '10' },
    });
    await call('PUT', `/v1/orgs/${org.id}/chain-budget`, { max_cost_usd: '0.05' });
    await call('POST', `/v1/orgs/${org.id}/credit-packs`, { customer_id: 'c', amount_usd: '5' });
    const run = { model: 'm', cost_usd: '0.03', chain_id: 'long', customer_id: 'c' };
    expect((await call('POST', '/v1/runs', run)).status).toBe(201);
    await put({ runs_days: 30 });
    world.clock.advanceSeconds(500 * 86_400);
    await deleteAll();
    expect([await count('runs'), await count('ledger_entries')]).toEqual([0, 0]);
    // Recounting from the ledger alone gives the same result.
    await world.db.query('DELETE FROM counters WHERE org_id = $1', [org.id]);
    await world.services.ledger.maintenance.evictCounters();
    await expectBalanced('0.03');
    const more = await call('POST', '/v1/runs', { ...run, cost_usd: '0.021' });
    expect(errorSummary(more)).toEqual([402, 'chain_budget_exceeded']);
    expect((await call('POST', '/v1/runs', { ...run, cost_usd: '0.02' })).status).toBe(201);
    await expectBalanced('0.05');
  });

  test('never deletes a run in progress, and deletes one that never ended', async () => {
    const started = await call('POST', '/v1/runs', {
      model: 'm',
      status: 'running',
      estimated_cost_usd: '1',
    });
    await put({ runs_days: 1 });
    world.clock.advanceSeconds(7 * 86_400);
    await deleteAll();
    expect((await call('GET', `/v1/runs/${started.json.id}`)).json.status).toBe('running');
    world.clock.advanceSeconds(2 * 86_400);
    await deleteAll();
    expect(errorSummary(await call('GET', `/v1/runs/${started.json.id}`))).toEqual([404, 'not_found']);
  });

  test('does not create a deleted run again by its external id', async () => {
    await record([40], 1);
    await put({ runs_days: 30 });
    await deleteAll();
    const run = { model: 'm', cost_usd: '0.01', external_id: `${org.id} 40 0` };
    const same = { ...run, input_tokens: 10, output_tokens: 5, started_at: daysAgo(40) };
    expect(errorSummary(await call('POST', '/v1/runs', same))).toEqual([410, 'gone']);
    expect(errorSummary(await call('POST', '/v1/runs', run))).toEqual([409, 'conflict']);
  });

  test('resumes after a failed batch', async () => {
    await record([50, 40], 900);
    await put({ runs_days: 30 });
    let batches = 0;
    world.fault = (point) => {
      if (point === 'retention.before_commit') {
        batches += 1;
        if (batches === 2) {
          throw new Error('the power is out');
        }
      }
    };
    await deleteAll();
    world.fault = undefined;
    expect(await count('runs')).toBe(800);
    await expectBalanced('18');
    expect((await call('GET', path())).json.last_run).toMatchObject({
      finished_at: null,
      deleted: { runs: 1_000 },
    });
    world.clock.advanceSeconds(retryAfterMs / 1_000);
    await deleteAll();
    expect(await count('runs')).toBe(0);
    await expectBalanced('18');
    expect((await call('GET', path())).json.last_run.deleted.runs).toBe(1_800);
    expect((await call('GET', `/v1/orgs/${org.id}/retention-runs`)).json.data).toHaveLength(1);
  });

  test('an org that fails does not delay others, and is retried', async () => {
    await record([40], 3);
    await put({ runs_days: 30 });
    const failing = org;
    org = await world.createOrg();
    await record([40], 2);
    await put({ runs_days: 30 });
    // Like a corrupt row: every statement that deletes runs of this org fails in the database.
    await world.db.query(
      `CREATE FUNCTION refuse_deletion() RETURNS trigger LANGUAGE plpgsql AS
         $$ BEGIN IF OLD.org_id = '${failing.id}' THEN RAISE EXCEPTION 'a broken row'; END IF; RETURN OLD; END $$`,
    );
    await world.db.query(
      'CREATE TRIGGER broken BEFORE DELETE ON runs FOR EACH ROW EXECUTE FUNCTION refuse_deletion()',
    );
    const failingOrgs = async () =>
      /^svc_retention_failing_orgs (\d+)/m.exec((await world.request('GET', '/metrics')).text)?.[1];
    await deleteAll();
    expect([await count('runs'), await failingOrgs()]).toEqual([0, '1']);
    expect((await call('GET', path())).json.failing_since).toBeNull();

    org = failing;
    expect(await count('runs')).toBe(3);
    const since = world.clock.now().toISOString();
    expect((await call('GET', path())).json).toMatchObject({ failing_since: since, last_run: null });
    expect(world.logLines.filter((line) => line.includes('a broken row')).join()).toContain(failing.id);
    // A failed deletion is retried after a while, not continuously.
    await deleteAll();
    expect(world.logLines.filter((line) => line.includes('a broken row'))).toHaveLength(1);
    world.clock.advanceSeconds(retryAfterMs / 1_000);
    await deleteAll();
    expect((await call('GET', path())).json.failing_since).toBe(since);

    await world.db.query('DROP TRIGGER broken ON runs');
    world.clock.advanceSeconds(retryAfterMs / 1_000);
    await deleteAll();
    expect([await count('runs'), await failingOrgs()]).toEqual([0, '0']);
    expect((await call('GET', path())).json).toMatchObject({
      failing_since: null,
      last_run: { deleted: { runs: 3 } },
    });
    await expectBalanced('0.03');
  });

  test('a legal hold stops all deletions', async () => {
    await record([40], 3);
    await put({ runs_days: 30, legal_hold: true });
    await deleteAll();
    expect(await count('runs')).toBe(3);
    await put({ runs_days: 30 });
    await deleteAll();
    expect(await count('runs')).toBe(0);
  });

  test('drops empty partitions of past months', async () => {
    await world.db.query(
      `CREATE TABLE IF NOT EXISTS runs_2024_01 PARTITION OF runs FOR VALUES FROM ('2024-01-01') TO ('2024-02-01')`,
    );
    await world.db.query(
      `CREATE TABLE IF NOT EXISTS runs_2024_02 PARTITION OF runs FOR VALUES FROM ('2024-02-01') TO ('2024-03-01')`,
    );
    await record([(world.clock.now().getTime() - Date.parse('2024-02-10T00:00:00Z')) / dayMs], 1);
    expect(await dropEmptyMonths(world.db, world.clock.now())).toContain('runs_2024_01');
    const left = await world.db.query<{ name: string | null }>(
      `SELECT to_regclass('runs_2024_01')::text AS name UNION ALL SELECT to_regclass('runs_2024_02')::text`,
    );
    expect(left.map(({ name }) => name)).toEqual([null, 'runs_2024_02']);
  });
});

describe('content', () => {
  const post = () => call('POST', '/v1/runs', { model: 'm', cost_usd: '1', content: 'a secret plan' });
  const contentOf = async (id: string) => (await call('GET', `/v1/runs/${id}`)).json.content;
  const stored = () =>
    world.db.query<{ content: string | null }>('SELECT content FROM runs WHERE org_id = $1', [org.id]);

  test('content of runs is not stored until a policy says so, then encrypted, and deleted in time', async () => {
    const dropped = await post();
    expect(await contentOf(dropped.json.id)).toBeNull();
    await put({ content_days: 2 });
    const kept = await post();
    expect(kept.json.content).toBeNull();
    expect(await contentOf(kept.json.id)).toBe('a secret plan');
    expect(JSON.stringify(await stored())).not.toContain('secret plan');
    const { json: list } = await call('GET', '/v1/runs');
    expect(list.data.map(({ content }: { content: string | null }) => content)).toEqual([null, null]);
    await deleteAll();
    expect(await contentOf(kept.json.id)).toBe('a secret plan');
    world.clock.advanceSeconds(2 * 86_400 + 1);
    await deleteAll();
    expect(await contentOf(kept.json.id)).toBeNull();
    expect(await stored()).toEqual([{ content: null }, { content: null }]);
    expect((await call('GET', path())).json.last_run.deleted.contents).toBe(1);
  });

  test('content of runs is deleted immediately when the policy no longer keeps it', async () => {
    await put({ content_days: 2 });
    const { json } = await post();
    await put({});
    expect(await contentOf((await post()).json.id)).toBeNull();
    await deleteAll();
    expect(await contentOf(json.id)).toBeNull();
  });
});

test('removes old audit entries, and verifies the rest from the anchor', async () => {
  for (let day = 0; day < 60; day += 10) {
    await call('PATCH', `/v1/orgs/${org.id}`, { name: `Day ${day}` });
    world.clock.advanceSeconds(10 * 86_400);
  }
  const logPath = `/v1/orgs/${org.id}/audit-log`;
  const { json: kept } = await call('POST', `${logPath}/checkpoints`);
  await put({ audit_days: 30 });
  await deleteAll();
  const { json } = await call('GET', `${logPath}/verify?checkpoint=${kept.token}`);
  expect(json).toMatchObject({ valid: true, removed_until_seq: 5, first_seq: 6, kept_checkpoint: 'checked' });
  expect((await call('GET', `${logPath}?sort=seq`)).json.data[0].seq).toBe(6);
  // The anchor is signed, so entries that are removed in another way are reported as missing.
  const findings = async () =>
    (await call('GET', `${logPath}/verify`)).json.findings.map(
      ({ kind, seq }: { kind: string; seq: number }) => [kind, seq],
    );
  await world.db.query('DELETE FROM audit_log WHERE tenant_id = $1 AND seq = 6', [org.id]);
  expect(await findings()).toEqual([['entry_missing', 6]]);
  await world.db.query(
    `UPDATE audit_anchors SET seq = 6, hash = (SELECT previous_hash FROM audit_log WHERE tenant_id = $1 AND seq = 7)
      WHERE tenant_id = $1`,
    [org.id],
  );
  expect(await findings()).toEqual([['anchor_invalid', 6]]);
});

test('removes the log of support access with the audit log, and grants that ended long ago', async () => {
  const operator = (method: string, at: string, body?: object) =>
    world.request(method, `/v1/admin/support/grants${at}`, {
      key: world.operatorKey,
      ...(body !== undefined && { body }),
    });
  const look = async () => {
    const expires_at = new Date(world.clock.now().getTime() + 3_600_000).toISOString();
    const { json: grant } = await operator('POST', '', {
      org_id: org.id,
      scope: ['org:read'],
      reason: 'Ticket 4711',
      expires_at,
    });
    const { json: session } = await operator('POST', `/${grant.id}/sessions`);
    const answer = await world.request('GET', `/v1/orgs/${org.id}`, { key: session.token });
    expect(answer.status).toBe(200);
    return grant.id as string;
  };
  const seen = async () => {
    const [log, grants] = [
      await call('GET', `/v1/orgs/${org.id}/support-access`),
      await call('GET', `/v1/orgs/${org.id}/support-access/grants`),
    ];
    const kinds: string[] = log.json.data.map(({ kind }: { kind: string }) => kind);
    return [kinds.sort(), grants.json.data.length];
  };
  const once = ['grant_created', 'request', 'session_opened'];
  await look();
  world.clock.advanceSeconds(40 * 86_400);
  const later = await look();
  await put({ runs_days: 1 });
  await deleteAll();
  expect(await seen()).toEqual([[...once, ...once].sort(), 2]);
  await put({ audit_days: 30 });
  await deleteAll();
  expect(await seen()).toEqual([once, 1]);
  expect((await operator('GET', `/${later}`)).status).toBe(200);
  // Three support log entries and one grant.
  expect((await call('GET', path())).json.last_run.deleted.support_access).toBe(4);
  expect(await count('support_sessions')).toBe(1);
});

test('keeps responses to idempotency keys as long as the policy says', async () => {
  await put({ idempotency_days: 9 });
  await world.request('PATCH', `/v1/orgs/${org.id}`, {
    key: org.ownerKey,
    body: { name: 'a' },
    headers: { 'idempotency-key': 'k' },
  });
  const rows = await world.db.query(
    `SELECT extract(day FROM expires_at - reserved_at)::int4 AS days FROM idempotency_keys WHERE tenant_id = $1`,
    [org.id],
  );
  expect(rows).toEqual([{ days: 9 }]);
});
