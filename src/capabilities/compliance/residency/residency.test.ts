import { describe, expect, test } from 'vitest';
import { type TestOrg, useWorld } from '../../../../test/harness.ts';
import { createResidencyOf } from './index.ts';

const world = useWorld({ SVC_REGION: 'eu' });

const put = (org: TestOrg, body: object) =>
  world.request('PUT', `/v1/admin/orgs/${org.id}/residency`, { key: world.operatorKey, body });

const decide = (org: TestOrg) =>
  world.request('POST', '/v1/edge/decision', {
    key: org.ownerKey,
    body: { model: 'm', estimated_cost_usd: '0.1' },
  });

describe('PUT /v1/admin/orgs/{org_id}/residency', () => {
  test('sets the home region, which can be read, is audited and emits an event', async () => {
    const org = await world.createOrg();
    expect((await put(org, { home_region: 'eu' })).json).toEqual({ home_region: 'eu', mode: 'forward' });
    const strict = { home_region: 'eu', mode: 'strict' };
    expect((await put(org, strict)).json).toEqual(strict);
    const path = `/v1/admin/orgs/${org.id}`;
    expect((await world.request('GET', `${path}/residency`, { key: world.operatorKey })).json).toEqual(
      strict,
    );
    expect((await world.request('GET', path, { key: world.operatorKey })).json.home_region).toBe('eu');

    const [entry] = await world.db.query(
      `SELECT before, after FROM audit_log WHERE tenant_id = $1 AND action = 'residency.put' ORDER BY seq DESC LIMIT 1`,
      [org.id],
    );
    expect(entry).toEqual({ before: { home_region: 'eu', mode: 'forward' }, after: strict });
    const events = await world.db.query(
      `SELECT 1 AS one FROM outbox WHERE tenant_id = $1 AND type = 'org.residency_updated'`,
      [org.id],
    );
    expect(events).toHaveLength(2);
  });

  test('rejects invalid regions and modes, and unknown orgs', async () => {
    const org = await world.createOrg();
    const { json } = await put(org, { home_region: 'Not A Region', mode: 'sometimes' });
    expect(json.error.details.fields.map(({ field }: { field: string }) => field)).toEqual([
      'home_region',
      'mode',
    ]);
    expect((await put(org, {})).status).toBe(422);
    const missing = { id: 'org_none', ownerKey: '' };
    expect((await put(missing, { home_region: 'eu' })).status).toBe(404);
    const path = '/v1/admin/orgs/org_none/residency';
    expect((await world.request('GET', path, { key: world.operatorKey })).status).toBe(404);
  });
});

describe('a strict org outside its home region', () => {
  test('a strict org outside its home region is rejected for reads, writes before their body is read, and decisions on the fast path', async () => {
    const org = await world.createOrg();
    // From here on the fast path has the key in its cache.
    expect((await decide(org)).status).toBe(200);
    expect((await decide(org)).status).toBe(200);
    await put(org, { home_region: 'us', mode: 'strict' });

    const refused = [
      await decide(org),
      await world.request('GET', `/v1/orgs/${org.id}`, { key: org.ownerKey }),
      await world.request('POST', '/v1/runs', {
        key: org.ownerKey,
        raw: '{',
        headers: { 'content-type': 'x' },
      }),
      await world.request('GET', `/v1/admin/orgs/${org.id}/webhook-secret`, { key: org.ownerKey }),
    ];
    expect(refused.map(({ status, json }) => [status, json.error.code, json.error.details])).toEqual(
      refused.map(() => [403, 'residency_violation', {}]),
    );

    // Back in the home region, the same key works immediately.
    await put(org, { home_region: 'eu', mode: 'strict' });
    expect((await decide(org)).status).toBe(200);
  });

  test('a strict org outside its home region is checked after the key and the tenant, and before scope and role', async () => {
    const org = await world.createOrg();
    const { secret } = await world.mintKey(org, 'viewer', []);
    const revoked = await world.mintKey(org, 'viewer', []);
    await world.request('DELETE', `/v1/orgs/${org.id}/keys/${revoked.id}`, { key: org.ownerKey });
    await put(org, { home_region: 'us', mode: 'strict' });
    const codeOf = async (key: string, orgId = org.id) =>
      (await world.request('GET', `/v1/orgs/${orgId}`, { key })).json.error.code;
    expect(await codeOf(secret)).toBe('residency_violation');
    expect(await codeOf(revoked.secret)).toBe('gone');
    expect(await codeOf(secret, (await world.createOrg()).id)).toBe('not_found');
    await world.request('POST', `/v1/admin/orgs/${org.id}/suspend`, { key: world.operatorKey });
    expect(await codeOf(secret)).toBe('org_suspended');
  });
});

test('residencyOf returns the home region and follows changes', async () => {
  const residencyOf = createResidencyOf(world.db);
  const org = await world.createOrg();
  expect(await residencyOf(org.id)).toEqual({ homeRegion: null, mode: 'forward' });
  await put(org, { home_region: 'us', mode: 'strict' });
  expect(await residencyOf(org.id)).toEqual({ homeRegion: 'us', mode: 'strict' });
  await expect(async () => residencyOf('org_none')).rejects.toMatchObject({ code: 'not_found' });
});
