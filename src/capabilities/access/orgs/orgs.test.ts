import { beforeAll, describe, expect, test } from 'vitest';
import { useWorld } from '../../../../test/harness.ts';

const world = useWorld();

const admin = (method: string, path: string, body?: unknown) =>
  world.request(method, `/v1/admin/orgs${path}`, {
    key: world.operatorKey,
    ...(body !== undefined && { body }),
  });

describe('creating', () => {
  test('sets defaults for omitted fields', async () => {
    const { status, json } = await admin('POST', '', { name: 'Müller & Söhne' });
    expect(status).toBe(201);
    expect(json).toMatchObject({
      name: 'Müller & Söhne',
      slug: 'mu-ller-so-hne',
      timezone: 'UTC',
      home_region: null,
      status: 'active',
      created_at: '2026-11-15T12:00:00.000Z',
    });
    expect(json.id).toMatch(/^org_[0-9a-hjkmnp-tv-z]{26}$/);
  });

  test('a derived slug that is taken gets a suffix', async () => {
    const first = await admin('POST', '', { name: 'Twice' });
    const second = await admin('POST', '', { name: 'Twice' });
    expect(first.json.slug).toBe('twice');
    expect(second.json.slug).toMatch(/^twice-[0-9a-z]{8}$/);
  });

  test('concurrent creations with one name all get a slug', async () => {
    const answers = await Promise.all(
      Array.from({ length: 12 }, () => admin('POST', '', { name: 'At once' })),
    );
    expect(answers.map(({ status }) => status)).toEqual(Array(12).fill(201));
    expect(new Set(answers.map(({ json }) => json.slug)).size).toBe(12);
  });

  test('a name without letters gets a slug', async () => {
    const { json } = await admin('POST', '', { name: '日本' });
    expect(json.slug).toBe('org');
  });

  test('returns conflict for a given slug that is taken', async () => {
    await admin('POST', '', { name: 'A', slug: 'chosen' });
    const { status, json } = await admin('POST', '', { name: 'B', slug: 'chosen' });
    expect([status, json.error.code]).toEqual([409, 'conflict']);
  });

  test('rejects an unknown time zone', async () => {
    for (const timezone of ['Mars/Olympus', '+01:00']) {
      const { json } = await admin('POST', '', { name: 'A', timezone });
      expect(json.error.details.fields).toEqual([
        { field: 'timezone', code: 'invalid_value', message: expect.any(String) },
      ]);
    }
    expect((await admin('POST', '', { name: 'A', timezone: 'Africa/Cairo' })).status).toBe(201);
  });
});

describe('changing', () => {
  test('PATCH merges: omitted fields stay', async () => {
    const { json: org } = await admin('POST', '', {
      name: 'Before',
      home_region: 'eu',
      timezone: 'Europe/Berlin',
    });
    world.clock.advanceSeconds(60);
    const { status, json } = await admin('PATCH', `/${org.id}`, { name: 'After', home_region: null });
    expect(status).toBe(200);
    expect(json).toEqual({
      ...org,
      name: 'After',
      home_region: null,
      updated_at: world.clock.now().toISOString(),
    });
    expect((await admin('GET', `/${org.id}`)).json).toEqual(json);
  });

  test('an owner can change name, slug and time zone only', async () => {
    const org = await world.createOrg();
    const { json } = await world.request('PATCH', `/v1/orgs/${org.id}`, {
      key: org.ownerKey,
      body: { name: 'Renamed', slug: 'renamed', timezone: 'Asia/Tokyo' },
    });
    expect(json).toMatchObject({ name: 'Renamed', slug: 'renamed', timezone: 'Asia/Tokyo' });
    const refused = await world.request('PATCH', `/v1/orgs/${org.id}`, {
      key: org.ownerKey,
      body: { home_region: 'eu' },
    });
    expect(refused.json.error.details.fields).toMatchObject([
      { field: 'home_region', code: 'unknown_field' },
    ]);
  });

  test('returns 404 for an unknown org', async () => {
    expect((await admin('PATCH', '/org_none', { name: 'A' })).status).toBe(404);
    expect((await admin('POST', '/org_none/suspend')).status).toBe(404);
  });
});

describe('suspending', () => {
  test('suspending an org stops it immediately, and reinstating restores it', async () => {
    const org = await world.createOrg();
    const own = () => world.request('GET', `/v1/orgs/${org.id}`, { key: org.ownerKey });
    expect((await own()).status).toBe(200);

    const suspended = await admin('POST', `/${org.id}/suspend`, { reason: 'unpaid' });
    expect(suspended.json).toMatchObject({ status: 'suspended', suspension_reason: 'unpaid' });
    expect((await own()).json.error.code).toBe('org_suspended');

    const reinstated = await admin('POST', `/${org.id}/reinstate`);
    expect(reinstated.json).toMatchObject({ status: 'active', suspension_reason: null });
    expect((await own()).status).toBe(200);
  });

  test('returns conflict for a transition to the current state', async () => {
    const org = await world.createOrg();
    expect((await admin('POST', `/${org.id}/reinstate`)).json.error.code).toBe('conflict');
    await admin('POST', `/${org.id}/suspend`);
    expect((await admin('POST', `/${org.id}/suspend`)).json.error.code).toBe('conflict');
  });
});

describe('the IP allow-list', () => {
  test('admits only listed addresses, IPv4 and IPv6, and all if it is empty', async () => {
    const org = await world.createOrg();
    const path = `/v1/orgs/${org.id}/ip-allow-list`;
    const put = (cidrs: string[], address: string, force?: boolean) =>
      world.request('PUT', path, { key: org.ownerKey, address, body: { cidrs, ...(force && { force }) } });
    const from = async (address: string) =>
      (await world.request('GET', path, { key: org.ownerKey, address })).status;

    expect((await put(['192.0.2.0/24', '2001:db8::/32', '198.51.100.7'], '192.0.2.1')).status).toBe(200);
    expect(await from('192.0.2.255')).toBe(200);
    expect(await from('::ffff:192.0.2.9')).toBe(200);
    expect(await from('198.51.100.7')).toBe(200);
    expect(await from('198.51.100.8')).toBe(403);
    expect(await from('2001:db8:1::5')).toBe(200);
    expect(await from('2001:db9::5')).toBe(403);

    const refused = await world.request('GET', path, { key: org.ownerKey, address: '203.0.113.1' });
    expect(refused.json.error.code).toBe('ip_not_allowed');

    const lockout = await put(['203.0.113.0/24'], '192.0.2.1');
    expect(lockout.json.error.code).toBe('conflict');
    expect((await put(['203.0.113.0/24'], '192.0.2.1', true)).status).toBe(200);
    expect(await from('192.0.2.1')).toBe(403);
    // IPv6 ranges do not match IPv4.
    expect((await put(['::/0'], '203.0.113.5')).json.error.code).toBe('conflict');
    expect((await put([], '203.0.113.5')).json).toEqual({ cidrs: [] });
    expect(await from('192.0.2.1')).toBe(200);
  });

  test('the IP allow-list can be cleared by an operator if the org has locked itself out', async () => {
    const org = await world.createOrg();
    const path = `/v1/orgs/${org.id}/ip-allow-list`;
    const body = { cidrs: ['192.0.2.1'], force: true };
    expect((await world.request('PUT', path, { key: org.ownerKey, body })).status).toBe(200);
    expect((await world.request('GET', path, { key: org.ownerKey })).json.error.code).toBe('ip_not_allowed');
    expect((await admin('DELETE', `/${org.id}/ip-allow-list`)).status).toBe(204);
    expect((await world.request('GET', path, { key: org.ownerKey })).json).toEqual({ cidrs: [] });
  });

  test('reports every invalid entry', async () => {
    const org = await world.createOrg();
    const { json } = await world.request('PUT', `/v1/orgs/${org.id}/ip-allow-list`, {
      key: org.ownerKey,
      body: { cidrs: ['127.0.0.1', 'example.com', '10.0.0.0/33', '::1/129', '1.2.3', '10.0.0.0/8/8'] },
    });
    expect(json.error.details.fields.map(({ field }: { field: string }) => field)).toEqual([
      'cidrs[1]',
      'cidrs[2]',
      'cidrs[3]',
      'cidrs[4]',
      'cidrs[5]',
    ]);
  });
});

describe('a slug that an org gave up', () => {
  let slugs = 0;
  const newSlug = () => `former-${++slugs}`;
  const create = (body: object) => world.request('POST', '/v1/admin/orgs', { key: world.operatorKey, body });
  const patch = (id: string, body: object) =>
    world.request('PATCH', `/v1/admin/orgs/${id}`, { key: world.operatorKey, body });
  const made = async (slug: string) => (await create({ name: 'a', slug })).json.id as string;
  const outcomeOf = ({ status, json }: { status: number; json: { error?: { code: string } } }) => [
    status,
    json?.error?.code,
  ];

  /** Checks that no other org can get the slug, by any operation. */
  async function expectHeld(slug: string): Promise<void> {
    expect(outcomeOf(await create({ name: 'a', slug }))).toEqual([409, 'conflict']);
    const other = await world.createOrg();
    expect(outcomeOf(await patch(other.id, { slug }))).toEqual([409, 'conflict']);
    const own = await world.request('PATCH', `/v1/orgs/${other.id}`, { key: other.ownerKey, body: { slug } });
    expect(outcomeOf(own)).toEqual([409, 'conflict']);
    const named = await create({ name: slug });
    expect([named.status, named.json.slug]).toEqual([201, expect.stringMatching(`^${slug}-[0-9a-z]{8}$`)]);
  }

  test('a slug that an org gave up is reserved for a year, and the same org can take it back', async () => {
    const [first, second] = [newSlug(), newSlug()];
    const id = await made(first);
    expect((await patch(id, { slug: second })).status).toBe(200);
    await expectHeld(first);
    expect((await patch(id, { slug: first })).json.slug).toBe(first);
    await expectHeld(second);
    world.clock.advanceSeconds(365 * 86_400);
    expect((await create({ name: 'a', slug: second })).status).toBe(201);
    expect(outcomeOf(await create({ name: 'a', slug: first })), 'in use').toEqual([409, 'conflict']);
  });

  test('a slug that an org gave up is reserved after the org was removed', async () => {
    const slug = newSlug();
    const id = await made(slug);
    await world.request('POST', `/v1/admin/orgs/${id}/suspend`, { key: world.operatorKey });
    const removal = await world.request('DELETE', `/v1/admin/orgs/${id}`, { key: world.operatorKey });
    expect(removal.status).toBe(204);
    await world.runJob('purge-removed-orgs');
    await expectHeld(slug);
    world.clock.advanceSeconds(365 * 86_400);
    expect((await create({ name: 'a', slug })).status).toBe(201);
  });

  test('a slug that an org gave up cannot be taken by a concurrent request', async () => {
    for (let round = 0; round < 5; round += 1) {
      const slug = newSlug();
      const id = await made(slug);
      const other = await world.createOrg();
      const [renamed, ...others] = await Promise.all([
        patch(id, { slug: newSlug() }),
        create({ name: 'a', slug }),
        patch(other.id, { slug }),
        create({ name: 'a', slug }),
      ]);
      expect(renamed.status).toBe(200);
      expect(others.map(outcomeOf)).toEqual(Array(3).fill([409, 'conflict']));
    }
  });

  test('a slug that an org gave up is limited to twenty a year', async () => {
    const id = await made(newSlug());
    for (let n = 0; n < 20; n += 1) {
      expect((await patch(id, { slug: newSlug() })).status).toBe(200);
    }
    expect(outcomeOf(await patch(id, { slug: newSlug() }))).toEqual([409, 'conflict']);
    world.clock.advanceSeconds(365 * 86_400);
    expect((await patch(id, { slug: newSlug() })).status).toBe(200);
  });
});

describe('listing', () => {
  const lister = useWorld();
  beforeAll(async () => {
    for (let i = 0; i < 7; i += 1) {
      await lister.createOrg(`Org ${6 - i}`);
      lister.clock.advanceSeconds(i % 2);
    }
  });
  const list = (query: string) =>
    lister.request('GET', `/v1/admin/orgs${query}`, { key: lister.operatorKey });

  test.each(['created_at', '-created_at', 'name', '-name'])(
    'pages by %s contain every org once, in order',
    async (sort) => {
      const seen: { id: string; name: string; created_at: string }[] = [];
      let cursor: string | null = null;
      do {
        const page: { json: { data: typeof seen; next_cursor: string | null } } = await list(
          `?limit=2&sort=${sort}${cursor === null ? '' : `&cursor=${cursor}`}`,
        );
        expect(page.json.data.length).toBeLessThanOrEqual(2);
        seen.push(...page.json.data);
        cursor = page.json.next_cursor;
      } while (cursor !== null);
      expect(new Set(seen.map(({ id }) => id)).size).toBe(7);
      const field = sort.replace('-', '') as 'name' | 'created_at';
      const values = seen.map((org) => org[field]);
      const sorted = [...values].sort();
      expect(values).toEqual(sort.startsWith('-') ? sorted.reverse() : sorted);
    },
  );

  test('the list of orgs filters by field', async () => {
    const { json } = await list('?name=Org+3');
    expect(json.data.map(({ name }: { name: string }) => name)).toEqual(['Org 3']);
    expect((await list('?status=suspended')).json).toEqual({ data: [], next_cursor: null });
    expect((await list('?slug=org-5')).json.data).toHaveLength(1);
  });

  test.each([
    ['?sort=color', 'sort', 'invalid_value'],
    ['?limit=0', 'limit', 'out_of_range'],
    ['?limit=201', 'limit', 'out_of_range'],
    ['?limit=ten', 'limit', 'invalid_type'],
    ['?limit=0x5', 'limit', 'invalid_type'],
    ['?limit=1e999', 'limit', 'invalid_type'],
    ['?status=asleep', 'status', 'invalid_value'],
    ['?color=red', 'color', 'unknown_field'],
    ['?name=A&name=B', 'name', 'invalid_type'],
    ['?cursor=zzz', 'cursor', 'invalid_value'],
    ['?name=', 'name', 'empty'],
  ])('rejects %s', async (query, field, code) => {
    const { status, json } = await list(query);
    expect(status).toBe(422);
    expect(json.error.details.fields).toMatchObject([{ field, code }]);
  });

  test('accepts the cursor of the longest name', async () => {
    for (const name of ['😀'.repeat(100), '😀'.repeat(99).concat('aa'), `${'\u0001'.repeat(199)}a`]) {
      expect((await lister.createOrg(name)).id).toMatch(/^org_/);
    }
    const { json } = await list('?limit=1&sort=-name');
    expect((await list(`?limit=1&sort=-name&cursor=${json.next_cursor}`)).status).toBe(200);
  });

  test.each(['0000-01-01T00:00:00Z', '-100000-01-01T00:00:00Z', '9999-12-31T23:59:59-23:59', 'x'])(
    'rejects a forged cursor with the time %s',
    async (time) => {
      const cursor = Buffer.from(JSON.stringify(['-created_at', time, 'x'])).toString('base64url');
      expect((await list(`?cursor=${cursor}`)).json.error.details.fields).toMatchObject([
        { field: 'cursor' },
      ]);
    },
  );

  test('a cursor is valid only for its own order', async () => {
    const { json } = await list('?limit=1&sort=name');
    expect(
      (await list(`?limit=1&sort=-name&cursor=${json.next_cursor}`)).json.error.details.fields,
    ).toMatchObject([{ field: 'cursor', code: 'invalid_value' }]);
  });
});
