import { beforeAll, describe, expect, test } from 'vitest';
import { type TestOrg, useWorld } from '../../../../test/harness.ts';

const world = useWorld();
let org: TestOrg;

const body = { url: 'https://receiver.example/hook', events: ['budget.*'] };
const call = (
  method: string,
  path: string,
  options: { body?: unknown; headers?: Record<string, string> } = {},
) => world.request(method, `/v1/orgs/${org.id}/webhooks${path}`, { key: org.ownerKey, ...options });
const create = async (more: object = {}) => (await call('POST', '', { body: { ...body, ...more } })).json;
const fields = ({ json }: Awaited<ReturnType<typeof call>>) =>
  json.error.details.fields.map(({ field, code }: { field: string; code: string }) => `${field} ${code}`);
const audited = async (action: string) =>
  world.db.query<{ before: object | null; after: object | null }>(
    'SELECT before, after FROM audit_log WHERE tenant_id = $1 AND action = $2 ORDER BY seq',
    [org.id, action],
  );

describe('a subscription', () => {
  beforeAll(async () => {
    org = await world.createOrg();
  });

  test('a subscription can be created, read, listed, updated and deleted, with audit entries', async () => {
    const made = await call('POST', '', { body: { ...body, description: 'finance' } });
    expect(made.status).toBe(201);
    expect(made.json).toMatchObject({ ...body, description: 'finance', status: 'active', event_version: 1 });
    const { id } = made.json;
    expect((await call('GET', `/${id}`)).json).toEqual(made.json);
    const changed = await call('PATCH', `/${id}`, { body: { events: ['*'], description: null } });
    expect(changed.json).toMatchObject({ url: body.url, events: ['*'], description: null });
    expect((await call('GET', '')).json.data).toEqual([changed.json]);
    expect((await call('GET', '?status=paused')).json.data).toEqual([]);
    expect((await call('DELETE', `/${id}`)).status).toBe(204);
    expect((await call('GET', `/${id}`)).status).toBe(404);
    expect((await call('GET', `/${id}/deliveries`)).status).toBe(404);
    expect((await call('DELETE', `/${id}`)).status).toBe(404);
    for (const action of ['webhooks.create', 'webhooks.change', 'webhooks.delete']) {
      expect(await audited(action)).toHaveLength(1);
    }
  });

  test('a subscription of a chat shows its URL to those who may change it, and neither to readers nor in the audit log', async () => {
    const url = 'https://chat.example/services/T0/B0/canary-token-3f9a';
    const made = await create({ url, events: undefined, format: 'slack' });
    expect(made.url).toBe(url);
    const plain = await create({ url: 'https://receiver.example/canary' });
    const found = async (key: string, search: string) =>
      (await world.request('GET', `/v1/orgs/${org.id}/webhooks?search=${search}`, { key })).json.data.map(
        ({ id }: { id: string }) => id,
      );
    // Members who signed in to the console have all scopes, whatever their role.
    for (const [role, scopes] of [
      ['viewer', ['webhooks:read']],
      ['member', ['webhooks:read', 'webhooks:write']],
      ['admin', ['webhooks:read']],
    ] as const) {
      const { secret } = await world.mintKey(org, role, scopes);
      const shown = async (path: string) =>
        (await world.request('GET', `/v1/orgs/${org.id}/webhooks${path}`, { key: secret })).json;
      expect((await shown(`/${made.id}`)).url).toBe('https://chat.example/…3f9a');
      expect(JSON.stringify(await shown(''))).not.toContain('canary-token');
      expect(await found(secret, 'canary')).toEqual([plain.id]);
      expect(await found(secret, 'chat.example')).toEqual([made.id]);
    }
    const { secret } = await world.mintKey(org, 'admin', ['webhooks:read', 'webhooks:write']);
    expect(await found(secret, 'canary-token')).toEqual([made.id]);
    await call('DELETE', `/${plain.id}`);
    const changed = await call('PATCH', `/${made.id}`, { body: { description: 'ops' } });
    expect(changed.json.url).toBe(url);
    await call('DELETE', `/${made.id}`);
    for (const action of ['webhooks.create', 'webhooks.change', 'webhooks.delete']) {
      expect(JSON.stringify(await audited(action))).not.toContain('canary-token');
    }
  });

  test('a subscription has no other state transitions than the documented ones', async () => {
    const { id } = await create();
    expect((await call('POST', `/${id}/resume`)).json.error.code).toBe('conflict');
    expect((await call('POST', `/${id}/pause`)).json.status).toBe('paused');
    expect((await call('POST', `/${id}/pause`)).json.error.code).toBe('conflict');
    expect((await call('POST', `/${id}/resume`)).json.status).toBe('active');
  });

  test.each([
    [
      'a kind that there is not',
      { events: ['budget.created', 'budget.exploded'] },
      'events[1] invalid_value',
    ],
    ['a group that there is not', { events: ['nothing.*'] }, 'events[0] invalid_value'],
    ['no kind', { events: [] }, 'events empty'],
    ['something else', { events: ['*.created'] }, 'events[0] invalid_format'],
    ['http', { url: 'http://receiver.example/' }, 'url invalid_value'],
    ['another scheme', { url: 'file:///etc/passwd' }, 'url invalid_value'],
    ['no URL', { url: 'receiver.example' }, 'url invalid_format'],
    ['credentials', { url: 'https://user:secret@receiver.example/' }, 'url invalid_value'],
    ['a user alone', { url: 'https://user@receiver.example/' }, 'url invalid_value'],
    ['a private address', { url: 'https://10.0.0.1/' }, 'url invalid_value'],
    ['one in disguise', { url: 'https://0x7f000001/' }, 'url invalid_value'],
    ['one in the other family', { url: 'https://[::ffff:127.0.0.1]/' }, 'url invalid_value'],
    ['a field that there is not', { secret: 'mine' }, 'secret unknown_field'],
  ])('a subscription is rejected with %s, on creation and on update', async (_, wrong, fault) => {
    const made = await call('POST', '', { body: { ...body, ...wrong } });
    expect([made.status, fields(made)]).toEqual([422, [fault]]);
    const { id } = await create();
    const changed = await call('PATCH', `/${id}`, { body: wrong });
    expect([changed.status, fields(changed)]).toEqual([422, [fault]]);
  });

  test('a subscription is created once, however often it is sent with the same key', async () => {
    const before = (await call('GET', '?limit=200')).json.data.length;
    const headers = { 'idempotency-key': 'subscribe once' };
    const first = await call('POST', '', { body, headers });
    expect((await call('POST', '', { body, headers })).text).toBe(first.text);
    expect((await call('GET', '?limit=200')).json.data).toHaveLength(before + 1);
  });

  test('a subscription is limited to a hundred per org', async () => {
    org = await world.createOrg();
    for (let i = 0; i < 100; i += 1) {
      await create();
    }
    const more = await call('POST', '', { body });
    expect([more.status, more.json.error.code]).toEqual([409, 'conflict']);
  });
});

describe('the secret of a subscription', () => {
  beforeAll(async () => {
    org = await world.createOrg();
  });

  test('the secret of a subscription is returned once, identified by its fingerprint, and never stored in plain text', async () => {
    const { id } = await create();
    expect((await call('GET', `/${id}/signing`)).json).toEqual({
      event_version: 1,
      fingerprint: null,
      created_at: null,
      age_seconds: null,
      overlap_ends_at: null,
      previous_fingerprint: null,
    });
    const { secret, ...told } = (await call('POST', `/${id}/signing/rotate`)).json;
    expect(secret).toMatch(/^whsec_[\w-]{43}$/);
    world.clock.advanceSeconds(90);
    expect((await call('GET', `/${id}/signing`)).json).toEqual({ ...told, age_seconds: 90 });
    expect((await call('GET', `/${id}`)).json.event_version).toBe(2);
    for (const table of ['webhook_subscriptions', 'audit_log', 'outbox', 'idempotency_keys']) {
      const rows = await world.db.query<{ text: string }>(`SELECT ${table}::text AS text FROM ${table}`);
      const bytes = Buffer.from(secret).toString('hex');
      expect(rows.filter(({ text }) => text.includes(secret) || text.includes(bytes))).toEqual([]);
    }
    expect(world.logLines.join('')).not.toContain(secret);
  });

  test('the secret of a subscription can be created with the subscription, so that no delivery is signed with the secret of the org', async () => {
    const { secret, ...made } = await create({ create_secret: true });
    expect(secret).toMatch(/^whsec_[\w-]{43}$/);
    expect(made.event_version).toBe(2);
    expect((await call('GET', `/${made.id}`)).json).toEqual(made);
    expect((await call('GET', `/${made.id}/signing`)).json).toMatchObject({
      event_version: 2,
      overlap_ends_at: null,
      previous_fingerprint: null,
    });
    const entries = await audited('webhooks.create');
    expect(entries.at(-1)?.after).toMatchObject({ id: made.id, event_version: 2 });
    expect(JSON.stringify(entries)).not.toContain('whsec_');
    expect(await create({ create_secret: false })).not.toHaveProperty('secret');
    expect(fields(await call('POST', '', { body: { ...body, create_secret: 'yes' } }))).toEqual([
      'create_secret invalid_type',
    ]);
  });

  test('created with the subscription is the same for a repeated request', async () => {
    const headers = { 'idempotency-key': 'subscribe with a secret' };
    const request = { body: { ...body, create_secret: true }, headers };
    const [first, again] = [await call('POST', '', request), await call('POST', '', request)];
    expect(first.json.secret).toMatch(/^whsec_/);
    expect(again.text).toBe(first.text);
    const stored = await world.db.query<{ text: string }>(
      'SELECT idempotency_keys::text AS text FROM idempotency_keys',
    );
    expect(stored.filter(({ text }) => text.includes(first.json.secret))).toEqual([]);
  });

  test('overlaps for a day after a rotation; another rotation requires force, and ends the oldest', async () => {
    const { id } = await create();
    const rotate = (force?: boolean) =>
      call('POST', `/${id}/signing/rotate`, force === undefined ? {} : { body: { force } });
    const first = (await rotate()).json;
    expect(first).toMatchObject({ overlap_ends_at: null, previous_fingerprint: null });
    const second = (await rotate()).json;
    const inADay = new Date(world.clock.now().getTime() + 86_400_000).toISOString();
    expect(second).toMatchObject({ overlap_ends_at: inADay, previous_fingerprint: first.fingerprint });
    expect((await rotate()).json.error.code).toBe('conflict');
    expect((await rotate(false)).json.error.code).toBe('conflict');
    const third = (await rotate(true)).json;
    expect(third.previous_fingerprint).toBe(second.fingerprint);
    world.clock.advanceSeconds(86_399);
    expect((await rotate()).json.error.code).toBe('conflict');
    world.clock.advanceSeconds(1);
    expect((await call('GET', `/${id}/signing`)).json).toMatchObject({
      fingerprint: third.fingerprint,
      overlap_ends_at: null,
      previous_fingerprint: null,
    });
    expect((await rotate()).json.previous_fingerprint).toBe(third.fingerprint);
  });

  test('the secret of a subscription is rotated once under concurrent rotations', async () => {
    const { id } = await create();
    await call('POST', `/${id}/signing/rotate`);
    const both = await Promise.all([
      call('POST', `/${id}/signing/rotate`),
      call('POST', `/${id}/signing/rotate`),
    ]);
    expect(both.map(({ status }) => status).sort()).toEqual([200, 409]);
  });

  test('the secret of a subscription is returned again for a retry with the same key only', async () => {
    const { id } = await create();
    const headers = { 'idempotency-key': 'rotate once' };
    const first = await call('POST', `/${id}/signing/rotate`, { headers });
    expect((await call('POST', `/${id}/signing/rotate`, { headers })).text).toBe(first.text);
  });
});

describe('the secret of an org', () => {
  const ask = (method: string, path = '', key = world.operatorKey) =>
    world.request(method, `/v1/admin/orgs/${org.id}/webhook-secret${path}`, { key });

  beforeAll(async () => {
    org = await world.createOrg();
  });

  test('exists from the start, and is the same for concurrent first reads', async () => {
    const answers = await Promise.all([ask('GET'), ask('GET'), ask('GET', '', org.ownerKey)]);
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    expect(answers[0]?.json.secret).toMatch(/^whsec_/);
  });

  test('the secret of an org can be rotated until every subscription has its own, and then stays unchanged', async () => {
    const rotate = async () => (await ask('POST', '/rotate')).json.secret;
    const without = await rotate();
    expect(await rotate(), 'without any subscription').not.toBe(without);
    const [first, second] = [await create(), await create()];
    await call('POST', `/${first.id}/signing/rotate`);
    const one = await rotate();
    expect(await rotate(), 'with one that has none').not.toBe(one);
    await call('POST', `/${second.id}/signing/rotate`);
    const last = (await ask('GET')).json.secret;
    const entries = (await audited('webhooks.org_secret.rotate')).length;
    expect(await rotate()).toBe(last);
    expect((await ask('POST', '/rotate')).status).toBe(200);
    expect(await audited('webhooks.org_secret.rotate')).toHaveLength(entries);
    await create();
    expect(await rotate()).not.toBe(last);
    expect(JSON.stringify(await audited('webhooks.org_secret.rotate'))).not.toContain('whsec_');
  });
});

describe('listing and redelivering deliveries', () => {
  test('pages without gaps, by state, type, event and time', async () => {
    org = await world.createOrg();
    const { id } = await create();
    const made: string[] = [];
    for (let i = 0; i < 5; i += 1) {
      world.clock.advanceSeconds(1);
      made.unshift((await call('POST', `/${id}/test`)).json.id);
    }
    const seenBy = async (sort: string) => {
      const seen: string[] = [];
      let cursor: string | null = '';
      while (cursor !== null) {
        const page: { data: { id: string }[]; next_cursor: string | null } = (
          await call('GET', `/${id}/deliveries?limit=2${sort}${cursor && `&cursor=${cursor}`}`)
        ).json;
        seen.push(...page.data.map((delivery) => delivery.id));
        cursor = page.next_cursor;
      }
      return seen;
    };
    expect(await seenBy('')).toEqual(made);
    expect(await seenBy('&sort=-created_at')).toEqual(made);
    expect(await seenBy('&sort=created_at')).toEqual(made.toReversed());
    expect(fields(await call('GET', `/${id}/deliveries?sort=colour`))).toEqual(['sort invalid_value']);
    const count = async (query: string) => (await call('GET', `/${id}/deliveries?${query}`)).json.data.length;
    expect(await count('state=waiting')).toBe(5);
    expect(await count('state=failed')).toBe(0);
    expect(await count('event_type=webhook.test')).toBe(5);
    expect(await count('event_type=budget.created')).toBe(0);
    expect(await count(`from=${encodeURIComponent(world.clock.now().toISOString())}`)).toBe(1);
    expect(await count(`to=${encodeURIComponent(world.clock.now().toISOString())}`)).toBe(4);
    const wrong = await call('GET', `/${id}/deliveries?cursor=abc&state=lost`);
    expect(fields(wrong)).toEqual(['state invalid_value']);
    expect(fields(await call('GET', `/${id}/deliveries?cursor=abc`))).toEqual(['cursor invalid_value']);
  });

  test('the payload of a delivery is what receivers get, for those who may create subscriptions', async () => {
    org = await world.createOrg();
    const { id } = await create();
    const delivery = (await call('POST', `/${id}/test`)).json;
    const path = `/${id}/deliveries/${delivery.id}/payload`;
    const payload = await call('GET', path);
    expect(payload.json).toEqual({
      id: delivery.event_id,
      type: 'webhook.test',
      created_at: world.clock.now().toISOString(),
      org_id: org.id,
      data: { subscription_id: id, message: 'This is a test.' },
    });
    const asKey = async (role: 'admin' | 'member', scope: 'webhooks:read' | 'webhooks:write') =>
      world.request('GET', `/v1/orgs/${org.id}/webhooks${path}`, {
        key: (await world.mintKey(org, role, [scope])).secret,
      });
    expect((await asKey('admin', 'webhooks:read')).json.error.code).toBe('missing_scope');
    expect((await asKey('member', 'webhooks:write')).json.error.code).toBe('forbidden');
    expect((await asKey('admin', 'webhooks:write')).status).toBe(200);
    expect((await call('GET', `/${id}/deliveries/dlv_none/payload`)).status).toBe(404);
    const other = await create();
    expect((await call('GET', `/${other.id}/deliveries/${delivery.id}/payload`)).status).toBe(404);
    await world.db.query('DELETE FROM outbox WHERE id = $1', [delivery.event_id]);
    expect((await call('GET', path)).json.error).toMatchObject({
      code: 'not_found',
      message: 'The event of this delivery was deleted.',
    });
  });

  test('redelivery requires a time range, and a subscription that is not disabled', async () => {
    org = await world.createOrg();
    const { id } = await create();
    const now = world.clock.now().toISOString();
    expect(fields(await call('POST', `/${id}/redeliver`, { body: { from: now, to: now } }))).toEqual([
      'to out_of_range',
    ]);
    expect(fields(await call('POST', `/${id}/redeliver`, { body: {} }))).toEqual(['from required']);
    await world.db.query(`UPDATE webhook_subscriptions SET status = 'disabled' WHERE id = $1`, [id]);
    const from = '2026-01-01T00:00:00Z';
    expect((await call('POST', `/${id}/redeliver`, { body: { from } })).json.error.code).toBe('conflict');
    expect((await call('POST', `/${id}/test`)).json.error.code).toBe('conflict');
  });
});
