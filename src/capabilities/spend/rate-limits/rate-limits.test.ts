import { describe, expect, test } from 'vitest';
import { useOrgPerTest, useWorld } from '../../../../test/harness.ts';
import {
  badAmounts,
  chargeOf,
  errorSummary,
  invalid,
  limitsVersion,
  liveLimits,
  recordedOf,
  sender,
} from '../../../../test/support/limits.ts';

const world = useWorld();
const org = useOrgPerTest(world);

const send = sender(
  () => world,
  () => `/v1/admin/orgs/${org.id}/rate-limits`,
  () => world.operatorKey,
);
const put = (body: object) => send('PUT', '', body);
const policy = { name: 'a', match: {}, unit: 'requests', limit: 100, window_seconds: 60, kind: 'rate' };
const none = { read_rpm: null, policies: [] };
const idsOf = async () =>
  Object.fromEntries(
    (await send('GET', '')).json.policies.map(({ name, id }: { name: string; id: string }) => [name, id]),
  );

describe('replacing the rate limits', () => {
  test('an org has no policies until some are set', async () => {
    const { status, json } = await send('GET', '');
    expect([status, json]).toEqual([200, none]);
    expect((await put({})).json).toEqual(none);
  });

  test('writes the limits that the ledger reads, and returns them ordered by name', async () => {
    const version = await limitsVersion(world, org.id);
    const { status, json } = await put({
      read_rpm: 600,
      policies: [
        {
          name: 'spend',
          match: { model: 'm', customer_id: '*' },
          unit: 'usd',
          limit: '2.5',
          window_seconds: 31_536_000,
          kind: 'quota',
        },
        { ...policy, match: { key_id: '*', route_class: 'runs' }, burst: 7 },
      ],
    });
    expect(status).toBe(200);
    const times = {
      created_at: world.clock.now().toISOString(),
      updated_at: world.clock.now().toISOString(),
    };
    const id = expect.stringMatching(/^rlp_/);
    expect(json).toEqual({
      read_rpm: 600,
      policies: [
        { ...policy, id, match: { key_id: '*', route_class: 'runs' }, burst: 7, ...times },
        {
          id,
          name: 'spend',
          match: { model: 'm', customer_id: '*' },
          unit: 'usd',
          limit: '2.5',
          window_seconds: 31_536_000,
          kind: 'quota',
          burst: null,
          ...times,
        },
      ],
    });
    expect((await send('GET', '')).json).toEqual(json);
    const common = {
      id,
      period: null,
      timezone: null,
      enforcement: 'block',
      alert_thresholds: [],
      expires_at: null,
    };
    expect(await liveLimits(world, org.id)).toEqual([
      {
        ...common,
        kind: 'quota',
        unit: 'usd',
        match: { model: 'm', customer_id: '*' },
        window_seconds: 31_536_000,
        capacity: 2_500_000_000n,
        burst: null,
      },
      {
        ...common,
        kind: 'rate',
        unit: 'requests',
        match: { key_id: '*', route_class: 'runs' },
        window_seconds: 60,
        capacity: 100n,
        burst: 7n,
      },
    ]);
    expect(await limitsVersion(world, org.id)).toBeGreaterThan(version);
  });

  test('a change of `read_rpm` alone increments the version of the limits; an unchanged value does not', async () => {
    await put({ read_rpm: 5 });
    const version = await limitsVersion(world, org.id);
    await put({ read_rpm: 5 });
    expect(await limitsVersion(world, org.id)).toBe(version);
    await put({ read_rpm: 6 });
    expect(await limitsVersion(world, org.id)).toBe(version + 1n);
    expect((await put({ read_rpm: null })).json).toEqual(none);
  });

  test('a policy with the same name, kind, unit and match keeps its id if its numbers change', async () => {
    const first = { ...policy, match: { key_id: 'k', model: 'm' } };
    await put({ policies: [first, { ...policy, name: 'b' }] });
    const before = await idsOf();
    world.clock.advanceSeconds(60);
    const changed = { ...first, match: { model: 'm', key_id: 'k' }, limit: 5, window_seconds: 1, burst: 2 };
    const { json } = await put({ policies: [{ ...policy, name: 'b' }, changed] });
    expect(await idsOf()).toEqual(before);
    const [a, b] = json.policies;
    expect(a).toMatchObject({ limit: 5, window_seconds: 1, burst: 2 });
    expect(a.updated_at).toBe(world.clock.now().toISOString());
    expect(b.updated_at).toBe(b.created_at);
  });

  test.each<[string, object]>([
    ['unit', { unit: 'tokens' }],
    ['kind', { kind: 'quota' }],
    ['match', { match: { key_id: '*' } }],
    ['name', { name: 'z' }],
  ])('a policy with a different %s is a new policy', async (_, fields) => {
    await put({ policies: [policy] });
    const { a } = await idsOf();
    await put({ policies: [{ ...policy, ...fields }] });
    expect(Object.values(await idsOf())).toEqual([expect.not.stringMatching(a)]);
    expect(await liveLimits(world, org.id)).toHaveLength(1);
  });

  test('policies that are left out are removed', async () => {
    await put({ read_rpm: 5, policies: [policy, { ...policy, name: 'b' }] });
    expect((await put({ policies: [policy] })).json).toMatchObject({ read_rpm: null, policies: [policy] });
    expect((await put({})).json).toEqual(none);
    expect(await liveLimits(world, org.id)).toEqual([]);
  });

  test('concurrent PUTs leave the policies of one of them', async () => {
    const bodies = [1, 2, 3, 4].map((n) => ({ policies: [{ ...policy, limit: n }] }));
    const answers = await Promise.all([...bodies, ...bodies].map(put));
    expect(answers.map(({ status }) => status)).toEqual(Array(8).fill(200));
    expect(await liveLimits(world, org.id)).toHaveLength(1);
  });

  test('accepts up to a hundred policies', async () => {
    const many = (count: number) => ({
      policies: Array.from({ length: count }, (_, i) => ({ ...policy, name: `p${i}` })),
    });
    expect((await put(many(100))).json.policies).toHaveLength(100);
    expect(errorSummary(await put(many(101)))).toEqual(invalid('policies too_many'));
  });
});

describe('validation', () => {
  const usd = { ...policy, unit: 'usd', limit: '1' };

  test.each<[object, string[]]>([
    [{ read_rpm: 0 }, ['read_rpm out_of_range']],
    [{ read_rpm: 1.5 }, ['read_rpm invalid_type']],
    [{ read_rpm: '5' }, ['read_rpm invalid_type']],
    [{ rpm: 5 }, ['rpm unknown_field']],
    [{ policies: {} }, ['policies invalid_type']],
    [{ policies: [7] }, ['policies[0] invalid_type']],
    [{ policies: [{}] }, ['kind', 'limit', 'name', 'unit'].map((field) => `policies[0].${field} required`)],
    [{ policies: [{ ...policy, colour: 'red' }] }, ['policies[0].colour unknown_field']],
    [{ policies: [{ ...policy, name: ' ' }] }, ['policies[0].name invalid_format']],
    [
      { policies: [policy, usd, policy] },
      ['policies[1].name invalid_value', 'policies[2].name invalid_value'],
    ],
    [{ policies: [{ ...policy, kind: 'budget' }] }, ['policies[0].kind invalid_value']],
    [{ policies: [{ ...policy, unit: 'eur' }] }, ['policies[0].unit invalid_value']],
    [{ policies: [{ ...policy, window_seconds: 0 }] }, ['policies[0].window_seconds out_of_range']],
    [{ policies: [{ ...policy, window_seconds: undefined }] }, ['policies[0].window_seconds required']],
    [
      {
        policies: [
          {
            ...policy,
            unit: 'concurrent',
            kind: 'quota',
            limit: '1',
            burst: 2,
            match: { model: 'm', customer_id: 'c', route_class: 'edge' },
          },
        ],
      },
      [
        'policies[0].burst invalid_value',
        'policies[0].kind invalid_value',
        'policies[0].limit invalid_type',
        'policies[0].match.customer_id invalid_value',
        'policies[0].match.model invalid_value',
        'policies[0].match.route_class invalid_value',
        'policies[0].window_seconds invalid_value',
      ],
    ],
    [{ policies: [{ ...policy, window_seconds: 31_536_001 }] }, ['policies[0].window_seconds out_of_range']],
    [{ policies: [{ ...policy, limit: 0 }] }, ['policies[0].limit out_of_range']],
    [{ policies: [{ ...policy, limit: -1 }] }, ['policies[0].limit out_of_range']],
    [{ policies: [{ ...policy, limit: 1.5 }] }, ['policies[0].limit invalid_type']],
    [{ policies: [{ ...policy, limit: '5' }] }, ['policies[0].limit invalid_type']],
    [{ policies: [{ ...policy, unit: 'tokens', limit: '5' }] }, ['policies[0].limit invalid_type']],
    [{ policies: [{ ...usd, limit: '0' }] }, ['policies[0].limit out_of_range']],
    [{ policies: [{ ...policy, burst: 0 }] }, ['policies[0].burst out_of_range']],
    [{ policies: [{ ...policy, burst: '1' }] }, ['policies[0].burst invalid_type']],
    [{ policies: [{ ...usd, burst: 1 }] }, ['policies[0].burst invalid_type']],
    [{ policies: [{ ...policy, kind: 'quota', burst: 1 }] }, ['policies[0].burst invalid_value']],
    [{ policies: [{ ...policy, match: { workflow: 'x' } }] }, ['policies[0].match.workflow unknown_field']],
    [{ policies: [{ ...policy, match: { model: '' } }] }, ['policies[0].match.model empty']],
    [
      { policies: [{ ...policy, match: { route_class: 'admin' } }] },
      ['policies[0].match.route_class invalid_value'],
    ],
    ...[
      { ...policy, kind: 'quota' },
      { ...policy, unit: 'tokens' },
    ].map((fields): [object, string[]] => [
      { policies: [{ ...fields, match: { route_class: 'read' } }] },
      ['policies[0].match.route_class invalid_value'],
    ]),
    ...['model', 'customer_id'].map((field): [object, string[]] => [
      { policies: [{ ...policy, match: { route_class: 'read', [field]: '*' } }] },
      ['policies[0].match.route_class invalid_value'],
    ]),
  ])('%j', async (body, faults) => {
    expect(errorSummary(await put(body))).toEqual(invalid(...faults));
    expect((await send('GET', '')).json).toEqual(none);
  });

  test.each(badAmounts)('rejects the amount %j', async (limit, code) => {
    expect(errorSummary(await put({ policies: [{ ...usd, limit }] }))).toEqual(
      invalid(`policies[0].limit ${code}`),
    );
  });

  test('reports every invalid field', async () => {
    const wrong = { ...policy, kind: 'quota', limit: '1', burst: 1, match: { route_class: 'read' } };
    expect(errorSummary(await put({ policies: [policy, wrong] }))).toEqual(
      invalid(
        'policies[1].burst invalid_value',
        'policies[1].limit invalid_type',
        'policies[1].match.route_class invalid_value',
        'policies[1].name invalid_value',
      ),
    );
  });

  test('returns 404 for an unknown org, and 403 to callers that are not operators', async () => {
    const path = '/v1/admin/orgs/org_none/rate-limits';
    const key = world.operatorKey;
    expect(errorSummary(await world.request('GET', path, { key }))).toEqual([404, 'not_found']);
    expect(errorSummary(await world.request('PUT', path, { key, body: {} }))).toEqual([404, 'not_found']);
    const own = await world.request('GET', `/v1/admin/orgs/${org.id}/rate-limits`, { key: org.ownerKey });
    expect(errorSummary(own)).toEqual([403, 'forbidden']);
  });
});

test('a change creates an audit entry and an event of the org', async () => {
  const { json: after } = await put({ read_rpm: 5, policies: [policy] });
  expect(await recordedOf(world, org.id)).toEqual({
    entries: [
      {
        action: 'orgs.rate_limits.put',
        target_kind: 'rate_limits',
        target_id: org.id,
        before: none,
        after,
      },
    ],
    events: [{ type: 'rate_limits.updated', data: after }],
  });
});

describe('the org lists its policies', () => {
  const list = async (query: string, key = org.ownerKey) =>
    world.request('GET', `/v1/orgs/${org.id}/rate-limit-policies${query}`, { key });
  const names = async (query: string) =>
    (await list(query)).json.data.map(({ name }: { name: string }) => name).join();

  test('an org lists its rate policies with pages, sorts and filters', async () => {
    const { json } = await put({
      policies: [
        { ...policy, name: 'b' },
        { ...policy, name: 'a', kind: 'quota' },
        { ...policy, name: 'c', unit: 'tokens' },
      ],
    });
    expect((await list('?sort=name')).json).toEqual({
      data: json.policies,
      next_cursor: null,
      read_rpm: null,
    });
    expect(await names('?sort=-name')).toBe('c,b,a');
    expect(await names('?kind=quota')).toBe('a');
    expect(await names('?kind=rate&sort=name')).toBe('b,c');
    expect(await names('?unit=tokens')).toBe('c');
    const first = (await list('?sort=name&limit=2')).json;
    expect(await names(`?sort=name&limit=2&cursor=${first.next_cursor}`)).toBe('c');
    expect(errorSummary(await list('?sort=limit'))).toEqual(invalid('sort invalid_value'));
  });

  test('an org lists its rate policies with its read limit', async () => {
    await put({ read_rpm: 900 });
    expect((await list('')).json).toMatchObject({ data: [], read_rpm: 900 });
  });

  test('an org lists its rate policies if it has the scope and the role', async () => {
    const { secret: viewer } = await world.mintKey(org, 'viewer', ['budgets:read']);
    expect((await list('', viewer)).status).toBe(200);
    const { secret: unscoped } = await world.mintKey(org, 'owner', ['org:read']);
    expect((await list('', unscoped)).json.error.code).toBe('missing_scope');
    const other = await world.createOrg();
    expect(errorSummary(await list('', other.ownerKey))).toEqual([404, 'not_found']);
  });
});

test('a quota with a longer window counts all usage of the new window', async () => {
  const quota = (window_seconds: number) =>
    put({ policies: [{ ...policy, kind: 'quota', limit: 3, window_seconds }] });
  const run = () => chargeOf(world, org, '0');
  await quota(60);
  expect(await run()).toBe(201);
  world.clock.advanceSeconds(60);
  expect([await run(), await run()]).toEqual([201, 201]);
  await quota(3_600);
  expect(await run()).toBe('quota_exhausted');
});

describe('a limit on requests in flight', () => {
  const inFlight = { name: 'in flight', unit: 'concurrent', limit: 3, kind: 'rate' };
  const as = (method: string, path: string, body?: object) =>
    world.request(method, path, { key: org.ownerKey, ...(body && { body }) });
  const decide = (fields: object = {}) =>
    as('POST', '/v1/edge/decision', { model: 'gpt-4o', estimated_cost_usd: '0.1', ...fields });

  test('a limit on requests in flight has no window, keeps its id, and is accepted as it is shown', async () => {
    const { json } = await put({ policies: [inFlight] });
    expect(json.policies).toMatchObject([{ ...inFlight, match: {}, burst: null, window_seconds: 0 }]);
    const { id: _, created_at: __, updated_at: ___, ...shown } = json.policies[0];
    expect((await put({ policies: [{ ...shown, limit: 4 }] })).json.policies).toMatchObject([
      { id: json.policies[0].id, limit: 4 },
    ]);
    // The same name with another unit is another policy.
    const other = await put({ policies: [{ ...policy, name: 'in flight' }] });
    expect(other.json.policies[0].id).not.toBe(json.policies[0].id);
    const units = async (unit: string) =>
      (await as('GET', `/v1/orgs/${org.id}/rate-limit-policies?unit=${unit}`)).json.data.length;
    await put({ policies: [inFlight, policy] });
    expect([await units('concurrent'), await units('requests')]).toEqual([1, 1]);
  });

  test('denies more with 429, at the edge and for running runs, until one has ended', async () => {
    await put({ policies: [inFlight] });
    const answers = await Promise.all(Array.from({ length: 8 }, () => decide()));
    const allowed = answers.filter(({ status }) => status === 200);
    expect(allowed).toHaveLength(3);
    const remaining = allowed.map(({ json }) => json.limits[0].remaining).sort();
    expect(remaining).toEqual([0, 1, 2]);
    expect(allowed[0]?.json.limits[0]).toMatchObject({ kind: 'rate', unit: 'concurrent', resets_at: null });
    const denied = answers.find(({ status }) => status === 429);
    expect(denied?.json.error).toMatchObject({
      code: 'rate_limited',
      message: 'The limit of 3 requests in flight is reached. Retry when one of them has ended.',
      details: { retry_after_seconds: 1 },
    });
    expect(denied?.headers['retry-after']).toBe('1');
    const running = { model: 'gpt-4o', status: 'running', estimated_cost_usd: '0.1' };
    expect((await as('POST', '/v1/runs', running)).json.error.code).toBe('rate_limited');
    expect((await as('POST', '/v1/runs', { model: 'gpt-4o', cost_usd: '0.1' })).status).toBe(201);
    const { decision_id } = allowed[0]?.json ?? {};
    expect((await as('POST', '/v1/runs', { model: 'gpt-4o', cost_usd: '0.1', decision_id })).status).toBe(
      201,
    );
    const { json: run } = await as('POST', '/v1/runs', running);
    expect((await decide()).status).toBe(429);
    await as('POST', `/v1/runs/${run.id}/complete`, { cost_usd: '0' });
    expect((await decide()).status).toBe(200);
    const [limit] = (await as('GET', `/v1/orgs/${org.id}/limits`)).json.data;
    expect(limit).toMatchObject({
      kind: 'rate',
      unit: 'concurrent',
      standing: { settled: 0, held: 3, remaining: 0, window_start: null },
    });
    const { json: books } = await as('GET', `/v1/orgs/${org.id}/ledger/reconciliation`);
    expect(books.balanced).toBe(true);
    await world.runJob('emit-limit-events');
    const { events } = await recordedOf(world, org.id);
    expect(events.filter(({ type }) => type === 'limit.exhausted')).toMatchObject([
      { data: { kind: 'rate', unit: 'concurrent', limit: 3, code: 'rate_limited' } },
    ]);
  });

  test('a limit on requests in flight of each key leaves other keys alone, and frees the places of a caller that is gone', async () => {
    await put({ policies: [{ ...inFlight, limit: 1, match: { key_id: '*' } }] });
    const { secret } = await world.mintKey(org, 'member', ['edge:decide']);
    const body = { model: 'gpt-4o', estimated_cost_usd: '0.1' };
    const other = () => world.request('POST', '/v1/edge/decision', { key: secret, body });
    expect((await decide({ expires_in_seconds: 10 })).status).toBe(200);
    expect((await decide()).status).toBe(429);
    expect([(await other()).status, (await other()).status]).toEqual([200, 429]);
    world.clock.advanceSeconds(11);
    await world.runJob('expire-holds');
    expect((await decide()).status).toBe(200);
  });
});
