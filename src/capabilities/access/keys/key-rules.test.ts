import { expect, test } from 'vitest';
import { useOrgPerTest, useWorld } from '../../../../test/harness.ts';

const world = useWorld();
const org = useOrgPerTest(world);
const day = 24 * 3_600;

const owner = (method: string, path: string, body?: object) =>
  world.request(method, `/v1/orgs/${org.id}${path}`, {
    key: org.ownerKey,
    ...(body !== undefined && { body }),
  });
const putRules = (lifetime: number | null, unused: number | null) =>
  owner('PUT', '/key-rules', { lifetime_days_max: lifetime, unused_days_max: unused });
const mint = (more: object = {}) =>
  owner('POST', '/keys', { name: 'a', role: 'member', scopes: [], ...more });
const inDays = (days: number) => new Date(world.clock.now().getTime() + days * day * 1_000).toISOString();

test('no key outlives the maximum lifetime, whoever creates or rotates it', async () => {
  const before = await mint();
  expect(before.json.expires_at).toBeNull();
  expect((await putRules(30, null)).json).toMatchObject({ lifetime_days_max: 30, unused_days_max: null });
  expect((await mint()).json.expires_at).toBe(inDays(30));
  expect((await mint({ expires_at: inDays(7) })).json.expires_at).toBe(inDays(7));
  const tooLong = await mint({ expires_at: inDays(31) });
  expect([tooLong.status, tooLong.json.error.details.fields[0].field]).toEqual([422, 'expires_at']);
  const byOperator = await world.request('POST', `/v1/admin/orgs/${org.id}/keys`, {
    key: world.operatorKey,
    body: { name: 'a', role: 'owner', scopes: [] },
  });
  expect(byOperator.json.expires_at).toBe(inDays(30));
  const rotated = await owner('POST', `/keys/${before.json.id}/rotate`);
  expect(rotated.json.expires_at).toBe(inDays(30));
  const later = await owner('POST', `/keys/${rotated.json.id}/rotate`, { expires_at: inDays(31) });
  expect(later.status).toBe(422);
});

test('only an owner changes the rules', async () => {
  const { secret } = await world.mintKey(org, 'admin', ['keys:read', 'keys:write']);
  const path = `/v1/orgs/${org.id}/key-rules`;
  const body = { lifetime_days_max: null, unused_days_max: null };
  expect((await world.request('PUT', path, { key: secret, body })).status).toBe(403);
  expect((await world.request('GET', path, { key: secret })).json).toEqual({ ...body, updated_at: null });
});

test('unused keys are listed, and revoked once the rule has been in force for its time', async () => {
  const unused = (await mint({ name: 'unused' })).json;
  const used = await mint({ name: 'used', scopes: ['keys:read'] });
  world.clock.advanceSeconds(40 * day);
  await world.request('GET', `/v1/orgs/${org.id}/keys`, { key: used.json.secret });
  await world.runJob('record-key-uses');
  const listed = async (days: number) =>
    (await owner('GET', `/keys?unused_days=${days}`)).json.data.map(({ id }: { id: string }) => id);
  expect(await listed(30)).toEqual([unused.id]);
  expect(await listed(50)).toEqual([]);

  await putRules(null, 30);
  await world.runJob('revoke-unused-keys');
  expect((await owner('GET', `/keys/${unused.id}`)).json.status).toBe('active');
  world.clock.advanceSeconds(29 * day);
  for (const key of [org.ownerKey, used.json.secret]) {
    await world.request('GET', `/v1/orgs/${org.id}/keys`, { key });
  }
  await world.runJob('record-key-uses');
  world.clock.advanceSeconds(2 * day);
  await world.runJob('revoke-unused-keys');
  expect((await owner('GET', `/keys/${unused.id}`)).json.status).toBe('revoked');
  expect((await owner('GET', `/keys/${used.json.id}`)).json.status).toBe('active');
  const audit = await owner('GET', `/audit-log?target=${unused.id}&action=keys.revoke_unused`);
  expect(audit.json.data).toHaveLength(1);
});

test('removing a member revokes the keys that are locked to the member, and no others', async () => {
  const member = await owner('POST', '/members', { email: 'ada@example.com', role: 'member' });
  const attribution = { member_id: member.json.id as string };
  const own = (await mint({ attribution, attribution_locked: ['member_id'] })).json;
  const service = (await mint({ attribution })).json;
  await owner('DELETE', `/members/${member.json.id}`);
  expect((await owner('GET', `/keys/${own.id}`)).json.status).toBe('revoked');
  expect((await owner('GET', `/keys/${service.id}`)).json.status).toBe('active');
  const call = await world.request('GET', '/v1/runs', { key: own.secret });
  expect([call.status, call.json.error.code]).toEqual([410, 'gone']);
  const audit = await owner('GET', `/audit-log?target=${own.id}&action=members.remove`);
  expect(audit.json.data).toHaveLength(1);
});
