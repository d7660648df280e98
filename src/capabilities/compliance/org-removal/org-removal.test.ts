/** Removal of an org: only its revoked keys remain. */
import { expect, test } from 'vitest';
import { useWorld } from '../../../../test/harness.ts';
import { purgeRemovedOrgs } from './purge.ts';
import { orgTables } from './queries.ts';

const world = useWorld();

const remove = (orgId: string) =>
  world.request('DELETE', `/v1/admin/orgs/${orgId}`, { key: world.operatorKey });
const suspend = (orgId: string) =>
  world.request('POST', `/v1/admin/orgs/${orgId}/suspend`, { key: world.operatorKey });

async function rowsOf(orgId: string): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const { name, column } of await orgTables(world.db)) {
    const rows = await world.db.query(`SELECT 1 AS one FROM "${name}" WHERE ${column} = $1`, [orgId]);
    if (rows.length > 0) {
      counts[name] = rows.length;
    }
  }
  return counts;
}

async function emptyAll(): Promise<void> {
  const job = purgeRemovedOrgs(world.db, world.clock);
  while (await job.runOnce()) {
    // Continue with the next batch.
  }
}

async function busyOrg() {
  const org = await world.createOrg('Short-lived');
  const call = (method: string, path: string, body: object) =>
    world.request(method, path, { key: org.ownerKey, body });
  await call('PUT', `/v1/orgs/${org.id}/spend-cap`, { cap_usd: '100' });
  await call('POST', `/v1/orgs/${org.id}/policies`, { effect: 'allow', priority: 1, reason: 'all of it' });
  await call('POST', '/v1/edge/decision', { model: 'gpt-4o', estimated_cost_usd: '1' });
  const expires_at = new Date(world.clock.now().getTime() + 3_600_000).toISOString();
  const grant = await world.request('POST', '/v1/admin/support/grants', {
    key: world.operatorKey,
    body: { org_id: org.id, scope: ['runs:read'], reason: 'a look', expires_at },
  });
  const session = await world.request('POST', `/v1/admin/support/grants/${grant.json.id}/sessions`, {
    key: world.operatorKey,
  });
  expect(session.status).toBe(201);
  const runs = Array.from({ length: 2_500 }, () => ({ model: 'gpt-4o', cost_usd: '0.001' }));
  expect((await call('POST', '/v1/runs/bulk', { runs })).status).toBe(201);
  return org;
}

test('rejects the removal of an active org', async () => {
  const org = await world.createOrg();
  expect(await remove(org.id)).toMatchObject({ status: 409, json: { error: { code: 'conflict' } } });
  expect((await remove('org_unknown')).status).toBe(404);
  expect((await world.request('GET', `/v1/orgs/${org.id}`, { key: org.ownerKey })).status).toBe(200);
});

test('rejects the removal of an org under legal hold', async () => {
  const org = await world.createOrg();
  const legalHold = (legal_hold: boolean) =>
    world.request('PUT', `/v1/orgs/${org.id}/retention-policy`, { key: org.ownerKey, body: { legal_hold } });
  expect((await legalHold(true)).status).toBe(200);
  await suspend(org.id);
  expect(await remove(org.id)).toMatchObject({ status: 409, json: { error: { code: 'conflict' } } });
});

test('an org that cannot be purged does not delay others', async () => {
  const [stuck, other] = [await busyOrg(), await busyOrg()];
  for (const org of [stuck, other]) {
    await suspend(org.id);
    await remove(org.id);
  }
  await world.db.query(
    `CREATE FUNCTION no_delete() RETURNS trigger LANGUAGE plpgsql AS
     $$ BEGIN IF OLD.org_id = TG_ARGV[0] THEN RAISE EXCEPTION 'stuck'; END IF; RETURN OLD; END $$`,
  );
  await world.db.query(
    `CREATE TRIGGER stuck BEFORE DELETE ON policies FOR EACH ROW EXECUTE FUNCTION no_delete('${stuck.id}')`,
  );
  await expect(emptyAll()).rejects.toThrow('could not be purged');
  expect(await rowsOf(other.id)).toEqual({});
  await world.db.query('DROP TRIGGER stuck ON policies');
  await emptyAll();
  expect(await rowsOf(stuck.id)).toEqual({});
});

test('a removed org leaves no data, its keys return 410, and other orgs are not affected', async () => {
  const [org, other] = [await busyOrg(), await busyOrg()];
  const slug = (await world.request('GET', `/v1/orgs/${org.id}`, { key: org.ownerKey })).json.slug;
  const ofOther = await rowsOf(other.id);
  expect(Object.keys(await rowsOf(org.id)).length).toBeGreaterThan(8);

  await suspend(org.id);
  expect((await remove(org.id)).status).toBe(204);

  const { status, json } = await world.request('GET', `/v1/orgs/${org.id}`, { key: org.ownerKey });
  expect({ status, code: json.error.code }).toEqual({ status: 410, code: 'gone' });
  const asOperator = { key: world.operatorKey };
  expect((await world.request('GET', `/v1/admin/orgs/${org.id}`, asOperator)).status).toBe(404);
  expect((await world.request('GET', `/v1/admin/orgs?slug=${slug}`, asOperator)).json.data).toEqual([]);
  expect((await remove(org.id)).status).toBe(404);
  expect(
    (
      await world.request('PUT', `/v1/admin/orgs/${org.id}/prepaid`, {
        ...asOperator,
        body: { enabled: true },
      })
    ).status,
  ).toBe(404);

  await emptyAll();
  expect(await rowsOf(org.id)).toEqual({});
  expect(await rowsOf(other.id)).toEqual(ofOther);
  expect((await world.request('GET', `/v1/orgs/${org.id}`, { key: org.ownerKey })).status).toBe(410);
});

test('also purges data that is written later, such as the end of a hold, for a day', async () => {
  const org = await busyOrg();
  await suspend(org.id);
  await remove(org.id);
  await emptyAll();
  world.clock.advanceSeconds(3_600);
  while (await world.services.ledger.expiry.expireDue()) {
    // Continue with the next batch.
  }
  await emptyAll();
  expect(await rowsOf(org.id)).toEqual({});

  world.clock.advanceSeconds(2 * 86_400);
  await emptyAll();
  const [row] = await world.db.query('SELECT name, slug, emptied_at FROM orgs WHERE id = $1', [org.id]);
  expect(row).toEqual({ name: org.id, slug: org.id, emptied_at: expect.any(Date) });
});
