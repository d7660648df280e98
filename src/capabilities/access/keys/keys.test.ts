import { describe, expect, test } from 'vitest';
import { useOrg, useWorld } from '../../../../test/harness.ts';
import { scopes } from '../../../contract/scopes.ts';

const world = useWorld();
const org = useOrg(world);

const keys = (method: string, path: string, key: string, body?: unknown) =>
  world.request(method, `/v1/orgs/${org.id}/keys${path}`, { key, ...(body !== undefined && { body }) });
const codeOf = async (key: string) => {
  const { status, json } = await world.request('GET', `/v1/orgs/${org.id}`, { key });
  return status === 200 ? 200 : json.error.code;
};

describe('creating', () => {
  test('returns the secret once and stores only its digest', async () => {
    const { status, json } = await keys('POST', '', org.ownerKey, {
      name: 'ci',
      role: 'member',
      scopes: ['runs:write'],
    });
    expect(status).toBe(201);
    expect(json).toMatchObject({
      name: 'ci',
      role: 'member',
      scopes: ['runs:write'],
      status: 'active',
      org_id: org.id,
    });
    expect(json.secret).toMatch(/^svc_live_[0-9A-Za-z]{39}$/);
    expect(json.secret.startsWith(json.hint.slice(0, -1))).toBe(true);

    const { json: shown } = await keys('GET', `/${json.id}`, org.ownerKey);
    const { secret, ...rest } = json;
    expect(shown).toEqual(rest);
    for (const table of ['keys', 'audit_log', 'outbox', 'idempotency_keys']) {
      const rows = await world.db.query(`SELECT t::text AS row FROM ${table} t`, []);
      expect(JSON.stringify(rows)).not.toContain(secret);
    }
  });

  test('does not grant a higher role or more scopes than the caller has', async () => {
    const admin = await world.mintKey(org, 'admin', ['keys:write', 'org:read']);
    const owner = await keys('POST', '', admin.secret, { name: 'x', role: 'owner', scopes: [] });
    expect(owner.json.error.code).toBe('forbidden');
    const wider = await keys('POST', '', admin.secret, {
      name: 'x',
      role: 'viewer',
      scopes: ['org:read', 'runs:read'],
    });
    expect(wider.json.error.code).toBe('forbidden');
    expect(wider.json.error.message).toContain('runs:read');
    const equal = await keys('POST', '', admin.secret, {
      name: 'x',
      role: 'admin',
      scopes: ['org:read', 'keys:write'],
    });
    expect(equal.status).toBe(201);
  });

  test('does not replay the response of a more privileged caller', async () => {
    const admin = await world.mintKey(org, 'admin', ['keys:write']);
    const mint = (key: string) =>
      world.request('POST', `/v1/orgs/${org.id}/keys`, {
        key,
        body: { name: 'x', role: 'owner', scopes: [] },
        headers: { 'idempotency-key': 'guessable' },
      });
    const first = await mint(org.ownerKey);
    expect(first.status).toBe(201);
    expect((await mint(org.ownerKey)).text).toBe(first.text);
    const weaker = await mint(admin.secret);
    expect(weaker.json.error.code).toBe('idempotency_key_conflict');
    expect(weaker.text).not.toContain(first.json.secret);
  });

  test('an unknown scope, a repeated scope and a wrong role are field errors', async () => {
    const { json } = await keys('POST', '', org.ownerKey, { name: '', role: 'king', scopes: ['runs:fly'] });
    expect(json.error.details.fields).toEqual([
      { field: 'name', code: 'empty', message: expect.any(String) },
      { field: 'role', code: 'invalid_value', message: expect.any(String) },
      { field: 'scopes[0]', code: 'invalid_value', message: expect.any(String) },
    ]);
    const twice = await keys('POST', '', org.ownerKey, {
      name: 'a',
      role: 'viewer',
      scopes: ['org:read', 'org:read'],
    });
    expect(twice.json.error.details.fields).toMatchObject([{ field: 'scopes', code: 'invalid_value' }]);
  });

  test('rejects an impossible validity', async () => {
    const mint = (more: object) =>
      keys('POST', '', org.ownerKey, { name: 'a', role: 'viewer', scopes: [], ...more });
    for (const more of [
      { expires_at: '2026-11-15T12:00:00Z' },
      { not_before: '2027-01-02T00:00:00Z', expires_at: '2027-01-01T00:00:00+00:00' },
    ]) {
      expect((await mint(more)).json.error.details.fields).toMatchObject([
        { field: 'expires_at', code: 'out_of_range' },
      ]);
    }
    expect((await mint({ expires_at: '2027-01-01' })).json.error.details.fields).toMatchObject([
      { field: 'expires_at', code: 'invalid_format' },
    ]);
  });
});

test('a key works from not_before until expires_at, to the millisecond', async () => {
  const key = await world.mintKey(org, 'viewer', ['org:read'], {
    not_before: new Date(world.clock.now().getTime() + 10_000).toISOString(),
    expires_at: new Date(world.clock.now().getTime() + 20_000).toISOString(),
  });
  const status = async () => (await keys('GET', `/${key.id}`, org.ownerKey)).json.status;
  expect([await codeOf(key.secret), await status()]).toEqual(['key_expired', 'not_yet_valid']);
  world.clock.advanceSeconds(10);
  expect([await codeOf(key.secret), await status()]).toEqual([200, 'active']);
  world.clock.advanceSeconds(9.999);
  expect(await codeOf(key.secret)).toBe(200);
  world.clock.advanceSeconds(0.001);
  expect([await codeOf(key.secret), await status()]).toEqual(['key_expired', 'expired']);
});

describe('revoking', () => {
  test('revoking a key takes effect immediately and permanently, and can be repeated', async () => {
    const key = await world.mintKey(org, 'viewer', ['org:read']);
    expect(await codeOf(key.secret)).toBe(200);
    expect((await keys('DELETE', `/${key.id}`, org.ownerKey)).status).toBe(204);
    expect(await codeOf(key.secret)).toBe('gone');
    expect((await keys('DELETE', `/${key.id}`, org.ownerKey)).status).toBe(204);
    const rows = await world.db.query(
      `SELECT 1 AS one FROM audit_log WHERE action = 'keys.revoke' AND target_id = $1`,
      [key.id],
    );
    expect(rows).toHaveLength(1);
    world.clock.advanceSeconds(10 * 365 * 86_400);
    expect(await codeOf(key.secret)).toBe('gone');
    world.clock.advanceSeconds(-10 * 365 * 86_400);
  });

  test('a revoked key that has also expired returns 410', async () => {
    const key = await world.mintKey(org, 'viewer', ['org:read'], {
      expires_at: new Date(world.clock.now().getTime() + 5_000).toISOString(),
    });
    await keys('DELETE', `/${key.id}`, org.ownerKey);
    world.clock.advanceSeconds(10);
    expect(await codeOf(key.secret)).toBe('gone');
  });

  test('an admin cannot revoke an owner', async () => {
    const admin = await world.mintKey(org, 'admin', scopes);
    const owner = await world.mintKey(org, 'owner', []);
    expect((await keys('DELETE', `/${owner.id}`, admin.secret)).json.error.code).toBe('forbidden');
  });
});

test('how much calls of a key hold is set, kept by a rotation, and cleared', async () => {
  const draft = { name: 'agents', role: 'member', scopes: ['gateway:call'] };
  expect((await keys('POST', '', org.ownerKey, { ...draft, hold: 'any' })).status).toBe(422);
  const { json: minted } = await keys('POST', '', org.ownerKey, { ...draft, hold: 'expected' });
  expect(minted.hold).toBe('expected');
  expect((await keys('PATCH', `/${minted.id}`, org.ownerKey, { hold: 'paced' })).json.hold).toBe('paced');
  expect((await keys('PATCH', `/${minted.id}`, org.ownerKey, { reserve_for_running: 601 })).status).toBe(422);
  expect((await keys('PATCH', `/${minted.id}`, org.ownerKey, { reserve_for_running: 0 })).json).toMatchObject(
    {
      hold: 'paced',
      reserve_for_running: 0,
    },
  );
  expect((await keys('PATCH', `/${minted.id}`, org.ownerKey, { name: 'agent' })).json.hold).toBe('paced');
  const { json: rotated } = await keys('POST', `/${minted.id}/rotate`, org.ownerKey);
  expect([rotated.hold, rotated.reserve_for_running]).toEqual(['paced', 0]);
  expect((await keys('PATCH', `/${rotated.id}`, org.ownerKey, { hold: null })).json).not.toHaveProperty(
    'hold',
  );
});

test('a revocation takes effect in a process whose clock is behind', async () => {
  const key = await world.mintKey(org, 'viewer', ['org:read']);
  await keys('DELETE', `/${key.id}`, org.ownerKey);
  world.clock.advanceSeconds(-3_600);
  expect(await codeOf(key.secret)).toBe('gone');
  world.clock.advanceSeconds(3_600);
});

describe('rotating', () => {
  test('creates a successor, and the old key ends after the overlap', async () => {
    const old = await world.mintKey(org, 'member', ['org:read']);
    const { status, json } = await keys('POST', `/${old.id}/rotate`, org.ownerKey, { overlap_seconds: 30 });
    expect(status).toBe(200);
    expect(json).toMatchObject({ role: 'member', scopes: ['org:read'], rotated_from: old.id });
    expect(json.id).not.toBe(old.id);
    expect([await codeOf(old.secret), await codeOf(json.secret)]).toEqual([200, 200]);
    world.clock.advanceSeconds(30);
    expect([await codeOf(old.secret), await codeOf(json.secret)]).toEqual(['gone', 200]);
  });

  test('rotating a key without a body ends the old one immediately', async () => {
    const old = await world.mintKey(org, 'member', ['org:read']);
    const { json } = await keys('POST', `/${old.id}/rotate`, org.ownerKey);
    expect([await codeOf(old.secret), await codeOf(json.secret)]).toEqual(['gone', 200]);
  });

  test('a rotated key cannot be rotated again, but can be revoked within its overlap', async () => {
    const old = await world.mintKey(org, 'member', ['org:read']);
    await keys('POST', `/${old.id}/rotate`, org.ownerKey, { overlap_seconds: 60 });
    expect((await keys('POST', `/${old.id}/rotate`, org.ownerKey)).json.error.code).toBe('conflict');
    expect((await keys('DELETE', `/${old.id}`, org.ownerKey)).status).toBe(204);
    expect(await codeOf(old.secret)).toBe('gone');
  });

  test('rotating a key does not grant more than the caller has', async () => {
    const admin = await world.mintKey(org, 'admin', ['keys:write']);
    const owner = await world.mintKey(org, 'owner', []);
    const wider = await world.mintKey(org, 'viewer', ['audit:read']);
    expect((await keys('POST', `/${owner.id}/rotate`, admin.secret)).json.error.code).toBe('forbidden');
    expect((await keys('POST', `/${wider.id}/rotate`, admin.secret)).json.error.code).toBe('forbidden');
  });

  test('the successor of a key that is not valid yet is not valid yet either', async () => {
    const later = (seconds: number) => new Date(world.clock.now().getTime() + seconds * 1_000).toISOString();
    const validity = { not_before: later(1_000), expires_at: later(2_000) };
    const old = await world.mintKey(org, 'viewer', [], validity);
    const { json } = await keys('POST', `/${old.id}/rotate`, org.ownerKey);
    expect(json).toMatchObject({ ...validity, status: 'not_yet_valid' });
  });

  test('the successor of a key that expires has the original lifetime of the old key', async () => {
    const old = await world.mintKey(org, 'viewer', [], {
      expires_at: new Date(world.clock.now().getTime() + 1_000_000).toISOString(),
    });
    world.clock.advanceSeconds(400);
    const { json } = await keys('POST', `/${old.id}/rotate`, org.ownerKey);
    expect(Date.parse(json.expires_at) - world.clock.now().getTime()).toBe(1_000_000);
  });

  test('time before a key was created does not count to its original lifetime', async () => {
    const old = await world.mintKey(org, 'viewer', [], {
      not_before: '1970-01-01T00:00:00.000Z',
      expires_at: new Date(world.clock.now().getTime() + 1_000_000).toISOString(),
    });
    const { json } = await keys('POST', `/${old.id}/rotate`, org.ownerKey);
    expect(Date.parse(json.expires_at) - world.clock.now().getTime()).toBe(1_000_000);
  });
});

test('the list of keys filters by the status that a key shows', async () => {
  const other = await world.createOrg();
  const later = (seconds: number) => new Date(world.clock.now().getTime() + seconds * 1_000).toISOString();
  await world.mintKey(other, 'viewer', [], { expires_at: later(10) });
  await world.mintKey(other, 'viewer', [], { not_before: later(1_000) });
  const revoked = await world.mintKey(other, 'viewer', [], { expires_at: later(10) });
  const path = `/v1/orgs/${other.id}/keys`;
  await world.request('DELETE', `${path}/${revoked.id}`, { key: other.ownerKey });
  world.clock.advanceSeconds(20);
  const all = await world.request('GET', path, { key: other.ownerKey });
  for (const status of ['active', 'not_yet_valid', 'expired', 'revoked']) {
    const { json } = await world.request('GET', `${path}?status=${status}`, { key: other.ownerKey });
    expect(json.data).toHaveLength(1);
    expect(json.data).toEqual(all.json.data.filter((key: { status: string }) => key.status === status));
  }
});

describe('operator keys', () => {
  test('operator keys have their own life cycle', async () => {
    const admin = (method: string, path: string, key: string, body?: unknown) =>
      world.request(method, `/v1/admin/keys${path}`, { key, ...(body !== undefined && { body }) });
    const { json: minted } = await admin('POST', '', world.operatorKey, { name: 'second' });
    expect(minted).toMatchObject({ role: 'operator', org_id: null, scopes: [] });
    expect((await admin('GET', '', minted.secret)).json.data).toHaveLength(2);
    const { json: rotated } = await admin('POST', `/${minted.id}/rotate`, world.operatorKey);
    expect((await admin('GET', '', minted.secret)).json.error.code).toBe('gone');
    expect((await admin('DELETE', `/${rotated.id}`, world.operatorKey)).status).toBe(204);
    expect((await admin('GET', '', rotated.secret)).json.error.code).toBe('gone');
    expect((await admin('GET', `/${rotated.id}`, world.operatorKey)).json.status).toBe('revoked');
    expect((await admin('GET', `/${org.id}`, world.operatorKey)).json.error.code).toBe('not_found');
  });

  test('do not give access to an org', async () => {
    const { json } = await world.request('GET', `/v1/orgs/${org.id}`, { key: world.operatorKey });
    expect(json.error.code).toBe('not_found');
  });
});

describe('the last use of a key', () => {
  const write = () => world.runJob('record-key-uses');

  test('the last use of a key is accurate to about a minute, and null for an unused key', async () => {
    const org = await world.createOrg();
    const busy = await world.mintKey(org, 'member', ['org:read']);
    const idle = await world.mintKey(org, 'member', ['org:read']);
    await world.request('GET', `/v1/orgs/${org.id}`, { key: busy.secret });
    await write();
    const usedAt = world.clock.now().toISOString();
    world.clock.advanceSeconds(90);
    await write();
    const lastUse = async ({ id }: { id: string }) =>
      (await world.request('GET', `/v1/orgs/${org.id}/keys/${id}`, { key: org.ownerKey })).json.last_used_at;
    expect([await lastUse(busy), await lastUse(idle)]).toEqual([usedAt, null]);
  });

  test('the last use of a key is recorded for a key that calls the edge continuously', async () => {
    const org = await world.createOrg();
    const key = await world.mintKey(org, 'member', ['edge:decide']);
    const ask = () =>
      world.request('POST', '/v1/edge/decision', {
        key: key.secret,
        body: { model: 'm', estimated_cost_usd: '0.01' },
      });
    await ask();
    await write();
    world.clock.advanceSeconds(120);
    await ask();
    await ask();
    await write();
    const { json } = await world.request('GET', `/v1/orgs/${org.id}/keys/${key.id}`, { key: org.ownerKey });
    expect(json.last_used_at).toBe(world.clock.now().toISOString());
  });
});
