/** Attribution of keys over HTTP: creating, changing, rotating, listing, and who may give which values. */
import { beforeAll, describe, expect, test } from 'vitest';
import { type TestAnswer, useOrg, useWorld } from '../../../../test/harness.ts';
import { cookieOf, postForm } from '../../../../test/support/sign-in.ts';

const world = useWorld();
const org = useOrg(world);

type Auth = { readonly key: string } | { readonly headers: Record<string, string> };

const send = (method: string, path: string, auth: Auth, body?: object) =>
  world.request(method, `/v1/orgs/${org.id}/keys${path}`, { ...auth, ...(body !== undefined && { body }) });
const asOwner = (method: string, path: string, body?: object) =>
  send(method, path, { key: org.ownerKey }, body);
const draft = { name: 'a', role: 'admin', scopes: ['keys:write', 'keys:read', 'runs:write'] };
const mint = (more: object, auth: Auth = { key: org.ownerKey }) =>
  send('POST', '', auth, { ...draft, ...more });
const attributionIn = ({ json }: TestAnswer) => ({
  attribution: json.attribution,
  attribution_locked: json.attribution_locked,
});
const codeIn = ({ status, json }: TestAnswer) => [status, json?.error?.code];
const fieldsIn = ({ json }: TestAnswer) =>
  json.error.details.fields.map(({ field, code }: { field: string; code: string }) => [field, code]);

const run = (key: string, body: object = {}) =>
  world.request('POST', '/v1/runs', { key, body: { model: 'm', cost_usd: '0.01', ...body } });

describe('a key', () => {
  test('a key has no attribution by default', async () => {
    expect(attributionIn(await mint({}))).toEqual({ attribution: {}, attribution_locked: [] });
  });

  test('keeps its attribution: created, read, listed, rotated', async () => {
    const attribution = {
      member_id: 'someone else',
      team: 'search',
      department: 'd',
      workflow: 'w',
      deployment: 'p',
      customer_id: 'acme',
      tags: { env: 'live' },
    };
    const created = await mint({ attribution, attribution_locked: ['tags', 'team'] });
    expect(created.status).toBe(201);
    const expected = { attribution, attribution_locked: ['team', 'tags'] };
    expect(attributionIn(created)).toEqual(expected);
    expect(attributionIn(await asOwner('GET', `/${created.json.id}`))).toEqual(expected);
    for (const filter of ['member_id=someone+else', 'team=search', 'customer_id=acme', 'deployment=p']) {
      const { json } = await asOwner('GET', `?${filter}`);
      expect(json.data.map(({ id }: { id: string }) => id)).toEqual([created.json.id]);
    }
    expect((await asOwner('GET', '?team=nobody')).json.data).toEqual([]);
    expect(attributionIn(await asOwner('POST', `/${created.json.id}/rotate`))).toEqual(expected);
  });

  test('a key that an operator creates has one too', async () => {
    const answer = await world.request('POST', `/v1/admin/orgs/${org.id}/keys`, {
      key: world.operatorKey,
      body: { ...draft, attribution: { team: 't' }, attribution_locked: ['team'] },
    });
    expect(attributionIn(answer)).toEqual({ attribution: { team: 't' }, attribution_locked: ['team'] });
    const operatorKey = await world.request('POST', '/v1/admin/keys', {
      key: world.operatorKey,
      body: { name: 'o', attribution: { team: 't' } },
    });
    expect(fieldsIn(operatorKey)).toEqual([['attribution', 'unknown_field']]);
  });

  test('rejects invalid attribution', async () => {
    const faults: [object, string, string][] = [
      [{ attribution: { team: '' } }, 'attribution.team', 'empty'],
      [{ attribution: { team: 'x'.repeat(201) } }, 'attribution.team', 'out_of_range'],
      [{ attribution: { model: 'm' } }, 'attribution.model', 'unknown_field'],
      [{ attribution: { team: null } }, 'attribution.team', 'invalid_type'],
      [{ attribution: [] }, 'attribution', 'invalid_type'],
      [{ attribution: { tags: { env: 1 } } }, 'attribution.tags.env', 'invalid_type'],
      [{ attribution_locked: ['team'] }, 'attribution_locked', 'invalid_value'],
      [{ attribution: { tags: {} }, attribution_locked: ['tags'] }, 'attribution_locked', 'invalid_value'],
      [{ attribution_locked: ['model'] }, 'attribution_locked[0]', 'invalid_value'],
    ];
    for (const [body, field, code] of faults) {
      const answer = await mint(body);
      expect([answer.status, ...fieldsIn(answer)]).toEqual([422, [field, code]]);
    }
    const tags = Object.fromEntries(Array.from({ length: 21 }, (_, n) => [`t${n}`, 'v']));
    expect((await mint({ attribution: { tags } })).status).toBe(422);
  });
});

describe('changing a key', () => {
  test('applies to the next request, with an audit entry and an event', async () => {
    const { json: key } = await mint({});
    expect((await run(key.secret)).json.team).toBeNull();
    const change = { name: 'b', attribution: { team: 'search' }, attribution_locked: ['team'] };
    const changed = await asOwner('PATCH', `/${key.id}`, change);
    expect([changed.status, changed.json]).toEqual([
      200,
      { ...key, ...change, secret: undefined, last_used_at: changed.json.last_used_at },
    ]);
    expect((await run(key.secret)).json.team).toBe('search');
    expect(codeIn(await run(key.secret, { team: 'ads' }))).toEqual([403, 'forbidden']);

    const [entry] = await world.db.query(
      `SELECT before -> 'attribution' AS before, after -> 'attribution' AS after FROM audit_log
        WHERE action = 'keys.change' AND target_id = $1`,
      [key.id],
    );
    expect(entry).toEqual({ before: {}, after: { team: 'search' } });
    const [event] = await world.db.query<{ data: object }>(
      `SELECT data FROM outbox WHERE type = 'key.updated' AND data ->> 'id' = $1`,
      [key.id],
    );
    expect(event?.data).toMatchObject({ attribution: { team: 'search' }, attribution_locked: ['team'] });
  });

  test('replaces the attribution, and keeps what the body leaves out', async () => {
    const { json: key } = await mint({ attribution: { team: 't' }, attribution_locked: ['team'] });
    const patch = (body: object) => asOwner('PATCH', `/${key.id}`, body);
    expect(attributionIn(await patch({ name: 'b' }))).toEqual({
      attribution: { team: 't' },
      attribution_locked: ['team'],
    });
    // The lock would be without a value.
    expect(fieldsIn(await patch({ attribution: { workflow: 'w' } }))).toEqual([
      ['attribution_locked', 'invalid_value'],
    ]);
    expect(attributionIn(await patch({ attribution: { workflow: 'w' }, attribution_locked: [] }))).toEqual({
      attribution: { workflow: 'w' },
      attribution_locked: [],
    });
    expect(attributionIn(await patch({ attribution: { member_id: null } }))).toEqual({
      attribution: {},
      attribution_locked: [],
    });
  });

  test('fails for a revoked key, a higher role and an unknown key', async () => {
    const { json: key } = await mint({});
    await asOwner('DELETE', `/${key.id}`);
    expect(codeIn(await asOwner('PATCH', `/${key.id}`, { name: 'b' }))).toEqual([409, 'conflict']);
    expect(codeIn(await asOwner('PATCH', '/key_unknown', { name: 'b' }))).toEqual([404, 'not_found']);
    const { json: owner } = await mint({ role: 'owner' });
    const { json: admin } = await mint({});
    const byAdmin = await send('PATCH', `/${owner.id}`, { key: admin.secret }, { name: 'b' });
    expect(codeIn(byAdmin)).toEqual([403, 'forbidden']);
  });
});

describe('a key with locked values', () => {
  const attribution = { customer_id: 'acme', team: 'search', tags: { env: 'live' } };
  const attribution_locked = ['customer_id', 'tags'];
  const own = { customer_id: 'acme', tags: { env: 'live' } };
  let locked: { id: string; secret: string };
  let auth: { key: string };
  beforeAll(async () => {
    locked = (await mint({ attribution, attribution_locked })).json;
    auth = { key: locked.secret };
  });

  test('passes them on to the keys that it creates, locked', async () => {
    for (const more of [{}, { attribution: { customer_id: 'acme' } }, { attribution: { tags: {} } }]) {
      expect(attributionIn(await mint(more, auth))).toEqual({ attribution: own, attribution_locked });
    }
    const narrower = {
      attribution: { ...own, team: 'ads', tags: { env: 'live', app: 'bot' } },
      attribution_locked: ['team', 'customer_id', 'tags'],
    };
    expect(attributionIn(await mint(narrower, auth))).toEqual(narrower);
  });

  test('creates no key with other values or without the lock', async () => {
    const attempts: [object, string][] = [
      [{ attribution: { customer_id: 'other' } }, 'customer_id'],
      [{ attribution: { tags: { env: 'test' } } }, 'tags'],
      [{ attribution_locked: [] }, 'customer_id'],
      [{ attribution: own, attribution_locked: ['customer_id'] }, 'tags'],
    ];
    for (const [more, field] of attempts) {
      const answer = await mint(more, auth);
      expect([...codeIn(answer), answer.json.error.details]).toEqual([403, 'forbidden', { field }]);
    }
    const tags = Object.fromEntries(Array.from({ length: 20 }, (_, n) => [`t${n}`, 'v']));
    expect(fieldsIn(await mint({ attribution: { tags } }, auth))).toEqual([['attribution.tags', 'too_many']]);
  });

  test('a key with locked values neither changes nor rotates keys of others, nor loosens its own lock', async () => {
    const { json: free } = await mint({});
    const { json: same } = await mint({}, auth);
    const patch = (id: string, body: object) => send('PATCH', `/${id}`, auth, body);
    expect(codeIn(await patch(free.id, { attribution, attribution_locked }))).toEqual([403, 'forbidden']);
    expect(codeIn(await send('POST', `/${free.id}/rotate`, auth))).toEqual([403, 'forbidden']);
    for (const id of [locked.id, same.id]) {
      expect(codeIn(await patch(id, { attribution_locked: [] }))).toEqual([403, 'forbidden']);
      expect(codeIn(await patch(id, { attribution: { ...own, customer_id: 'b' } }))).toEqual([
        403,
        'forbidden',
      ]);
    }
    expect((await patch(same.id, { name: 'renamed' })).status).toBe(200);
    expect((await send('POST', `/${same.id}/rotate`, auth)).status).toBe(200);
  });

  test('binds the console session of the key too', async () => {
    const cookie = cookieOf(await postForm(world, '/console/login', { key: locked.secret }));
    const session = { headers: { cookie, 'sec-fetch-site': 'same-origin' } };
    expect(codeIn(await mint({ attribution: { customer_id: 'other' } }, session))).toEqual([
      403,
      'forbidden',
    ]);
    expect(attributionIn(await mint({}, session))).toEqual({ attribution: own, attribution_locked });
  });

  test('does not get the stored response of a key without the lock', async () => {
    const body = { ...draft, attribution: own, attribution_locked };
    const once = (key: string) =>
      world.request('POST', `/v1/orgs/${org.id}/keys`, {
        key,
        body,
        headers: { 'idempotency-key': 'guess' },
      });
    const { json: free } = await mint({});
    const first = await once(free.secret);
    expect(first.status).toBe(201);
    expect((await once(free.secret)).text).toBe(first.text);
    const other = await once(locked.secret);
    expect(codeIn(other)).toEqual([409, 'idempotency_key_conflict']);
    expect(other.text).not.toContain(first.json.secret);
  });
});

describe('a member who is signed in', () => {
  let member: { id: string };
  let auth: { headers: Record<string, string> };
  beforeAll(async () => {
    const invited = await world.request('POST', `/v1/orgs/${org.id}/members`, {
      key: org.ownerKey,
      body: { email: 'ada@example.com', role: 'admin' },
    });
    member = invited.json;
    const joined = await postForm(world, new URL(invited.json.sign_in_url).pathname, {});
    auth = { headers: { cookie: cookieOf(joined), 'sec-fetch-site': 'same-origin' } };
  });
  const ownLock = { attribution_locked: ['member_id'] };

  test('creates keys of their own, which are locked to the member', async () => {
    const created = await mint({ attribution: { team: 't' } }, auth);
    expect(attributionIn(created)).toEqual({
      attribution: { team: 't', member_id: member.id },
      ...ownLock,
    });
    expect((await run(created.json.secret)).json.member_id).toBe(member.id);
    expect(codeIn(await run(created.json.secret, { member_id: 'other' }))).toEqual([403, 'forbidden']);
    const explicit = await mint({ attribution: { member_id: member.id }, attribution_locked: [] }, auth);
    expect(attributionIn(explicit)).toEqual({ attribution: { member_id: member.id }, ...ownLock });
    // The key of the member can only create further keys of the member.
    const further = await mint({}, { key: created.json.secret });
    expect(attributionIn(further)).toEqual({ attribution: { member_id: member.id }, ...ownLock });
    const elsewhere = await mint({ attribution: { member_id: 'other' } }, { key: created.json.secret });
    expect(codeIn(elsewhere)).toEqual([403, 'forbidden']);
  });

  test('creates keys of services and of other members on request', async () => {
    expect(attributionIn(await mint({ attribution: { member_id: null } }, auth))).toEqual({
      attribution: {},
      attribution_locked: [],
    });
    expect(attributionIn(await mint({ attribution: { member_id: 'bob' } }, auth))).toEqual({
      attribution: { member_id: 'bob' },
      attribution_locked: [],
    });
  });

  test('spends as the member', async () => {
    const post = (body: object) =>
      world.request('POST', '/v1/runs', { ...auth, body: { model: 'm', cost_usd: '0.01', ...body } });
    expect((await post({})).json.member_id).toBe(member.id);
    expect(codeIn(await post({ member_id: 'other' }))).toEqual([403, 'forbidden']);
  });
});

test('an erased customer is replaced in the attribution of keys, also for processes that have cached them', async () => {
  const attribution = { customer_id: 'person-1', tags: { account: 'person-1', env: 'live' } };
  const { json: key } = await mint({ attribution, attribution_locked: ['customer_id'] });
  expect((await run(key.secret)).json.customer_id).toBe('person-1');
  const erased = await world.request('DELETE', `/v1/orgs/${org.id}/customers/person-1`, {
    key: org.ownerKey,
  });
  expect(erased.status).toBe(204);
  const [{ pseudonym } = { pseudonym: '' }] = await world.db.query<{ pseudonym: string }>(
    'SELECT pseudonym FROM customer_erasures WHERE org_id = $1',
    [org.id],
  );
  const after = { customer_id: pseudonym, tags: { account: pseudonym, env: 'live' } };
  expect((await asOwner('GET', `/${key.id}`)).json.attribution).toEqual(after);
  expect((await run(key.secret)).json.customer_id).toBe(pseudonym);
  expect(codeIn(await run(key.secret, { customer_id: 'person-1' }))).toEqual([403, 'forbidden']);
});
