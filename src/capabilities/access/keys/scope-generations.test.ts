/** Keys of earlier releases: a release that adds scopes must not take away the operations that require every scope. */
import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { useOrg, useWorld } from '../../../../test/harness.ts';
import { cookieOf, postForm } from '../../../../test/support/sign-in.ts';
import { scopes, scopesUntil, stableScopeList } from '../../../contract/scopes.ts';
import { generateKey } from '../../../platform/http/routes/key-format.ts';

const world = useWorld();
const org = useOrg(world);
let number = 0;

const first = scopesUntil(0);

/** Stores a key with the statement of release 0.1.0, which does not know generations. */
async function insertAs010(held: readonly string[]): Promise<{ id: string; secret: string }> {
  const secret = generateKey('live');
  const id = `key_of_010_${++number}`;
  await world.db.query(
    `INSERT INTO keys (org_id, id, digest, hint, name, role, scopes, not_before, expires_at, revoked_at, ends_at, rotated_from, created_at, last_used_at)
     VALUES ($1, $2, $3, 'svc_live_…', 'old', 'owner', $4, NULL, NULL, NULL, NULL, NULL, $5, NULL)`,
    [org.id, id, createHash('sha256').update(secret).digest('hex'), held, world.clock.now()],
  );
  return { id, secret };
}

const invite = (key: string) =>
  world.request('POST', `/v1/orgs/${org.id}/members`, {
    key,
    body: { email: `person${++number}@example.com`, role: 'owner' },
  });
const scopesOf = async (keyId: string) =>
  (await world.request('GET', `/v1/orgs/${org.id}/keys/${keyId}`, { key: org.ownerKey })).json.scopes;

test('a key with every scope of 0.1.0 keeps having every scope', async () => {
  const key = await insertAs010(first);
  expect((await invite(key.secret)).status).toBe(201);
  expect([...(await scopesOf(key.id))].sort()).toEqual([...scopes].sort());

  const rotated = await world.request('POST', `/v1/orgs/${org.id}/keys/${key.id}/rotate`, {
    key: key.secret,
    body: {},
  });
  expect(rotated.status).toBe(200);
  expect((await invite(rotated.json.secret)).status).toBe(201);
});

test('a console session of such a key has every scope too', async () => {
  const { secret } = await insertAs010(first);
  const cookie = cookieOf(await postForm(world, '/console/login', { key: secret }));
  const invited = await world.request('POST', `/v1/orgs/${org.id}/members`, {
    headers: { cookie },
    body: { email: 'session@example.com', role: 'owner' },
  });
  expect(invited.status).toBe(201);
});

test('a key of 0.1.0 that lacks a scope gets no new ones', async () => {
  const held = first.filter((scope) => scope !== 'forecasts:read');
  const key = await insertAs010(held);
  expect(await scopesOf(key.id)).toEqual(held);
  expect((await invite(key.secret)).json.error.code).toBe('forbidden');
});

test('a key that this release creates has exactly the scopes that it names', async () => {
  const { id, secret } = await world.mintKey(org, 'owner', [...first]);
  expect(await scopesOf(id)).toEqual(first);
  expect((await invite(secret)).json.error.code).toBe('forbidden');
});

test('the fingerprint of every scope is that of 0.1.0, and no other set shares it', () => {
  const all = stableScopeList(new Set(scopes));
  expect(all).toEqual([...first].sort());
  expect(stableScopeList(new Set(first))).not.toEqual(all);
  expect(stableScopeList(new Set(['runs:write', 'org:read']))).toEqual(['org:read', 'runs:write']);
  const withoutOne = scopes.filter((scope) => scope !== 'gateway:call');
  expect(stableScopeList(new Set(withoutOne))).toEqual([...withoutOne].sort());
});
