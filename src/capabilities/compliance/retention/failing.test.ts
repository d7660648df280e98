/** Deletions that fail, and the retention of the operators' log. */
import { expect, test } from 'vitest';
import { useOrg, useWorld } from '../../../../test/harness.ts';
import { errorSummary, invalid } from '../../../../test/support/limits.ts';
import { retryAfterMs } from './job.ts';

const dayMs = 86_400_000;
const world = useWorld();
const org = useOrg(world);

const call = (method: string, path: string, body?: object) =>
  world.request(method, `/v1/orgs/${org.id}${path}`, { key: org.ownerKey, ...(body && { body }) });
const asOperator = (method: string, path: string, body?: object) =>
  world.request(method, `/v1/admin/${path}`, { key: world.operatorKey, ...(body && { body }) });
const policy = async () => (await call('GET', '/retention-policy')).json;
const firstSeq = async () => (await call('GET', '/audit-log?sort=seq&limit=1')).json.data[0].seq;
const runsLeft = async () => (await world.request('GET', '/v1/runs', { key: org.ownerKey })).json.data.length;
const recordsOfRuns = async () =>
  (await call('GET', '/audit-log?action=retention_policy.run')).json.data.length;

const deleteAll = () => world.runJob('apply-retention');

test('a kind that fails does not block others, is reported, and is retried', async () => {
  const started_at = new Date(world.clock.now().getTime() - 40 * dayMs).toISOString();
  const recorded = await world.request('POST', '/v1/runs/bulk?enforcement=record', {
    key: org.ownerKey,
    body: { runs: [{ model: 'm', cost_usd: '0.01', started_at }] },
  });
  expect(recorded.status).toBe(201);
  world.clock.advanceSeconds(40 * 86_400);
  // Like a corrupt row: every statement that deletes runs fails in the database.
  await world.db.query(
    `CREATE FUNCTION refuse_deletion() RETURNS trigger LANGUAGE plpgsql AS
       $$ BEGIN RAISE EXCEPTION 'a broken row'; END $$`,
  );
  await world.db.query(
    'CREATE TRIGGER broken BEFORE DELETE ON runs FOR EACH ROW EXECUTE FUNCTION refuse_deletion()',
  );
  const failures = () => world.logLines.filter((line) => line.includes('a broken row')).length;
  await call('PUT', '/retention-policy', { runs_days: 30, audit_days: 30 });
  const since = world.clock.now().toISOString();
  await deleteAll();
  expect([await runsLeft(), await firstSeq(), failures()]).toEqual([1, expect.any(Number), 1]);
  expect(await firstSeq()).toBeGreaterThan(1);
  const { failing_since, failing, last_run } = await policy();
  expect({ failing_since, failing }).toEqual({ failing_since: since, failing: ['runs'] });
  expect(last_run).toMatchObject({ finished_at: null, deleted: { runs: 0 } });
  expect(last_run.deleted.audit_entries).toBeGreaterThan(0);

  // A failed deletion is retried after a while, not continuously.
  await deleteAll();
  expect(failures()).toBe(1);
  world.clock.advanceSeconds(retryAfterMs / 1_000);
  await deleteAll();
  expect(failures()).toBe(2);
  expect(await recordsOfRuns()).toBe(0);

  // Completed deletions are recorded, however long the others keep failing.
  world.clock.advanceSeconds(86_400);
  await deleteAll();
  expect(await recordsOfRuns()).toBe(1);
  expect((await policy()).failing_since).toBe(since);

  await world.db.query('DROP TRIGGER broken ON runs');
  world.clock.advanceSeconds(retryAfterMs / 1_000);
  await deleteAll();
  expect(await runsLeft()).toBe(0);
  expect(await policy()).toMatchObject({
    failing_since: null,
    failing: [],
    last_run: { finished_at: expect.any(String), deleted: { runs: 1 } },
  });
});

test('keeps events while their deliveries cannot be deleted', async () => {
  const eventsLeft = async () =>
    (
      await world.db.query('SELECT 1 AS one FROM outbox WHERE tenant_id = $1 AND fanned_out_at IS NOT NULL', [
        org.id,
      ])
    ).length;
  await world.db.query('UPDATE outbox SET fanned_out_at = created_at WHERE tenant_id = $1', [org.id]);
  world.clock.advanceSeconds(40 * 86_400);
  expect(await eventsLeft()).toBeGreaterThan(0);
  await world.db.query(
    `CREATE TRIGGER broken BEFORE DELETE ON webhook_deliveries FOR EACH STATEMENT EXECUTE FUNCTION refuse_deletion()`,
  );
  await call('PUT', '/retention-policy', { deliveries_days: 30 });
  await deleteAll();
  expect((await policy()).failing).toEqual(['deliveries']);
  expect(await eventsLeft()).toBeGreaterThan(0);

  await world.db.query('DROP TRIGGER broken ON webhook_deliveries');
  // A changed policy retries everything immediately: its response shows the state after that.
  const { json } = await call('PUT', '/retention-policy', { deliveries_days: 30 });
  expect(json).toEqual(await policy());
  expect(json.failing).toEqual([]);
  await deleteAll();
  expect([await eventsLeft(), await policy()]).toEqual([0, expect.objectContaining({ failing_since: null })]);
});

test("keeps the operators' log as long as its policy says, and verifies it from there", async () => {
  const read = async () => (await asOperator('GET', 'retention-policy')).json;
  expect(await read()).toMatchObject({
    audit_days: null,
    legal_hold: false,
    updated_at: null,
    last_run: null,
  });
  for (const name of ['one', 'two']) {
    await asOperator('POST', 'plans', { name, overage_policy: 'allow' });
    world.clock.advanceSeconds(60 * 86_400);
  }
  const { json: kept } = await asOperator('POST', 'audit-log/checkpoints');
  await asOperator('PUT', 'retention-policy', { audit_days: 90, legal_hold: true });
  await deleteAll();
  expect((await read()).last_run).toBeNull();
  const { status, json } = await asOperator('PUT', 'retention-policy', { audit_days: 90 });
  expect([status, json.audit_days, json.legal_hold]).toEqual([200, 90, false]);
  await deleteAll();
  const { deleted } = (await read()).last_run;
  expect(deleted.audit_entries).toBeGreaterThan(0);
  const verified = (await asOperator('GET', `audit-log/verify?checkpoint=${kept.token}`)).json;
  expect(verified).toMatchObject({ valid: true, removed_until_seq: deleted.audit_entries });
  const { data } = (await asOperator('GET', 'audit-log?limit=3')).json;
  expect(data).toMatchObject([
    { action: 'retention_policy.run', actor: { kind: 'service' } },
    { action: 'platform_retention.put', before: { legal_hold: true }, after: { audit_days: 90 } },
    { action: 'platform_retention.put', before: { audit_days: null }, after: { legal_hold: true } },
  ]);
  // The log of the org is not affected.
  expect((await call('GET', '/audit-log/verify')).json.valid).toBe(true);
});

test("rejects invalid fields of the operators' policy", async () => {
  const put = (body: object) => asOperator('PUT', 'retention-policy', body);
  expect(errorSummary(await put({ audit_days: 89 }))).toEqual(invalid('audit_days out_of_range'));
  expect(errorSummary(await put({ runs_days: 30 }))).toEqual(invalid('runs_days unknown_field'));
  const asOwner = await world.request('GET', '/v1/admin/retention-policy', { key: org.ownerKey });
  expect(errorSummary(asOwner)).toEqual([403, 'forbidden']);
});

test('keeps ledger entries while their runs cannot be deleted', async () => {
  const entriesLeft = async () =>
    (await world.db.query('SELECT 1 AS one FROM ledger_entries WHERE org_id = $1', [org.id])).length;
  const body = { model: 'm', cost_usd: '0.01' };
  expect((await world.request('POST', '/v1/runs', { key: org.ownerKey, body })).status).toBe(201);
  world.clock.advanceSeconds(400 * 86_400);
  await world.db.query(
    'CREATE TRIGGER broken BEFORE DELETE ON runs FOR EACH ROW EXECUTE FUNCTION refuse_deletion()',
  );
  await call('PUT', '/retention-policy', { runs_days: 30 });
  await deleteAll();
  expect((await policy()).failing).toEqual(['runs']);
  expect(await runsLeft()).toBe(1);
  expect(await entriesLeft()).toBeGreaterThan(0);

  await world.db.query('DROP TRIGGER broken ON runs');
  await call('PUT', '/retention-policy', { runs_days: 30 });
  await deleteAll();
  expect([await runsLeft(), await entriesLeft()]).toEqual([0, 0]);
});
