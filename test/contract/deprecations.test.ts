/** Deprecation can be relied on: one registry, and everything that is said follows it, on every response. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { deprecationHeaders } from '../../src/contract/deprecation-headers.ts';
import type { Deprecation } from '../../src/contract/deprecations.ts';
import { DatabaseUnavailable } from '../../src/platform/db/database.ts';
import { createWorld, type TestAnswer, type TestOrg, type World } from '../harness.ts';
import { exchange } from '../support/raw-socket.ts';

const docsUrl = 'https://docs.example.com/purser';
const origin = 'https://app.example.com';

let world: World;
let org: TestOrg;
let other: TestOrg;
beforeAll(async () => {
  world = await createWorld({
    SVC_DOCS_URL: docsUrl,
    SVC_CORS_ORIGINS: origin,
    SVC_BODY_LIMIT_BYTES: '2000',
    SVC_AUTH_BACKOFF_ATTEMPTS: '1000000',
  });
  [org, other] = [await world.createOrg(), await world.createOrg()];
});
afterAll(() => world.close());

const ordinary: Deprecation = {
  route: '/v1/orgs/{id}/budgets',
  since: '2026-11-01',
  sunset: 'Sat, 01 Jan 2028 00:00:00 GMT',
  replacement: '/v1/orgs/{id}/better-budgets',
  documentation: '/deprecations#budgets',
};
const ordinaryHeaders = {
  deprecation: '@1793491200',
  sunset: 'Sat, 01 Jan 2028 00:00:00 GMT',
  link: `<${docsUrl}>; rel="deprecation", </v1/orgs/{id}/better-budgets>; rel="successor-version"`,
};

const budget = { name: 'a', scope_kind: 'org', period: 'day', limit_usd: '1' };
const path = () => `/v1/orgs/${org.id}/budgets`;

function signals({ headers }: Pick<TestAnswer, 'headers'>): Record<string, string | undefined> {
  const { deprecation, sunset, link } = headers;
  return { ...(deprecation && { deprecation }), ...(sunset && { sunset }), ...(link && { link }) };
}

async function listed(): Promise<{ route: string }[]> {
  return (await world.request('GET', '/v1/meta/deprecations')).json;
}

/** The series of the counter, by route. */
async function counted(): Promise<Record<string, number>> {
  const { text } = await world.request('GET', '/metrics');
  const lines = [...text.matchAll(/^svc_deprecated_route_calls_total(.*) (\d+)$/gm)];
  return Object.fromEntries(
    lines.map(([, labels, value]) => [/^\{route="([^"]*)"\}$/.exec(labels ?? '')?.[1], Number(value)]),
  );
}

async function described(route: string) {
  return (await world.request('GET', '/v1/openapi.json')).json.paths[route];
}

describe('a route that is flagged while the service runs', () => {
  test('shows everywhere on the next response, and nowhere once it is unflagged', async () => {
    const { deprecations } = world.app;
    const before = await described(ordinary.route);
    expect(JSON.stringify(before)).not.toContain('deprecated');
    expect(await counted()).not.toHaveProperty([ordinary.route]);
    expect(signals(await world.request('GET', path(), { key: org.ownerKey }))).toEqual({});

    deprecations.flag(ordinary);
    expect((await counted())[ordinary.route]).toBe(0);
    expect(signals(await world.request('GET', path(), { key: org.ownerKey }))).toEqual(ordinaryHeaders);
    expect(await listed()).toContainEqual({ ...ordinary, documentation: `${docsUrl}/deprecations#budgets` });
    const flagged = await described(ordinary.route);
    for (const operation of [flagged.get, flagged.post]) {
      expect(operation.deprecated).toBe(true);
      for (const { headers } of Object.values<{ headers: object }>(operation.responses)) {
        expect(headers).toMatchObject({ Deprecation: {}, Sunset: {}, Link: {} });
      }
    }
    expect((await counted())[ordinary.route]).toBe(1);

    deprecations.unflag(ordinary.route);
    expect(signals(await world.request('GET', path(), { key: org.ownerKey }))).toEqual({});
    expect((await listed()).map(({ route }) => route)).not.toContain(ordinary.route);
    expect(await described(ordinary.route)).toEqual(before);
    expect(await counted()).not.toHaveProperty([ordinary.route]);

    deprecations.flag(ordinary);
    expect((await counted())[ordinary.route], 'a counter never goes down').toBe(1);
    deprecations.unflag(ordinary.route);
  });

  test('without a successor neither the listing nor the link names one', async () => {
    const { replacement: _, ...alone } = ordinary;
    world.app.deprecations.flag(alone);
    const { link } = signals(await world.request('GET', path(), { key: org.ownerKey }));
    expect(link).toBe(`<${docsUrl}>; rel="deprecation"`);
    const entry = (await listed()).find(({ route }) => route === alone.route) ?? {};
    expect(Object.keys(entry).sort()).toEqual(['documentation', 'route', 'since', 'sunset']);
    world.app.deprecations.unflag(alone.route);
  });
});

describe('every response of a flagged route carries the headers and is counted', () => {
  beforeEach(() => world.app.deprecations.flag(ordinary));
  afterEach(() => {
    world.fault = undefined;
    world.app.deprecations.unflag(ordinary.route);
  });

  const throws = (error: Error) => () => {
    throw error;
  };
  const cases: [name: string, status: number, ask: () => Promise<TestAnswer>][] = [
    ['success', 200, () => world.request('GET', path(), { key: org.ownerKey })],
    ['created', 201, () => world.request('POST', path(), { key: org.ownerKey, body: budget })],
    ['HEAD', 200, () => world.request('HEAD', path(), { key: org.ownerKey })],
    ['HEAD without a key', 401, () => world.request('HEAD', path())],
    ['no key', 401, () => world.request('GET', path())],
    ['a key that is none', 401, () => world.request('GET', path(), { key: 'nonsense' })],
    ['another org', 404, () => world.request('GET', path(), { key: other.ownerKey })],
    [
      'a scope too few',
      403,
      async () => world.request('GET', path(), { key: (await world.mintKey(org, 'owner', [])).secret }),
    ],
    ['a bad query', 422, () => world.request('GET', `${path()}?sort=x`, { key: org.ownerKey })],
    [
      'a query that cannot be decoded',
      400,
      () => world.request('GET', `${path()}?a=%zz`, { key: org.ownerKey }),
    ],
    ['a bad body', 422, () => world.request('POST', path(), { key: org.ownerKey, body: {} })],
    [
      'a body that is too large',
      413,
      () => world.request('POST', path(), { key: org.ownerKey, body: { name: 'a'.repeat(3_000) } }),
    ],
    [
      'an unexpected error',
      500,
      () => {
        world.fault = throws(new Error('on purpose'));
        return world.request('GET', path(), { key: org.ownerKey });
      },
    ],
    [
      'a dependency that is away',
      503,
      () => {
        world.fault = throws(new DatabaseUnavailable('on purpose'));
        return world.request('POST', path(), { key: org.ownerKey, body: budget });
      },
    ],
  ];
  test.each(cases)('%s: %i', async (_, status, ask) => {
    const before = (await counted())[ordinary.route] ?? 0;
    const answer = await ask();
    expect([answer.status, signals(answer)]).toEqual([status, ordinaryHeaders]);
    expect((await counted())[ordinary.route]).toBe(before + 1);
  });

  test('too many requests: 429', async () => {
    const limited = await world.createOrg();
    await world.request('PUT', `/v1/admin/orgs/${limited.id}/rate-limits`, {
      key: world.operatorKey,
      body: { read_rpm: 1 },
    });
    const read = () => world.request('GET', `/v1/orgs/${limited.id}/budgets`, { key: limited.ownerKey });
    await read();
    const refused = await read();
    expect([refused.status, signals(refused)]).toEqual([429, ordinaryHeaders]);
  });

  test('a replay', async () => {
    const post = () =>
      world.request('POST', path(), {
        key: org.ownerKey,
        body: budget,
        headers: { 'idempotency-key': 'deprecated' },
      });
    await post();
    const replayed = await post();
    expect(replayed.headers['idempotent-replayed']).toBe('true');
    expect(signals(replayed)).toEqual(ordinaryHeaders);
  });

  test('what is refused before the route is asked, on a socket', async () => {
    const { port } = await world.listen();
    const key = `Authorization: Bearer ${org.ownerKey}`;
    const json = 'Content-Type: application/json';
    const heads: [status: number, lines: string[], rest: string][] = [
      [400, [`GET ${path()} HTTP/1.1`, key], ''],
      [400, [`GET ${path()} HTTP/1.1`, 'Host: a', 'Host: b', key], ''],
      [400, [`GET ${path()} HTTP/1.1`, 'Host: a', 'Expect: tea', key], ''],
      // The body breaks off, or is framed by nonsense.
      [422, [`POST ${path()} HTTP/1.1`, 'Host: a', key, json, 'Content-Length: 100'], '{"a":'],
      [400, [`POST ${path()} HTTP/1.1`, 'Host: a', key, json, 'Transfer-Encoding: chunked'], 'zz\r\n'],
    ];
    for (const [status, lines, rest] of heads) {
      const [answer] = await exchange(port, Buffer.from(`${lines.join('\r\n')}\r\n\r\n${rest}`));
      expect([answer?.status, signals(answer as TestAnswer)], lines.join()).toEqual([
        status,
        ordinaryHeaders,
      ]);
    }
  });

  test('a browser may read them', async () => {
    const { headers } = await world.request('GET', path(), { headers: { origin } });
    expect(headers['access-control-expose-headers']?.split(', ')).toEqual(
      expect.arrayContaining(['Deprecation', 'Sunset', 'Link', 'x-svc-trace-id', 'Retry-After']),
    );
  });
});

test('a decision is told and counted too, while it is flagged and no longer', async () => {
  const route = '/v1/edge/decision';
  const ask = () =>
    world.request('POST', route, {
      key: org.ownerKey,
      body: { model: 'm', estimated_cost_usd: '0.01' },
      headers: { 'content-type': 'application/json' },
    });
  // The first is looked up, the second goes the fast path.
  expect([(await ask()).status, (await ask()).status]).toEqual([200, 200]);
  const entry = { ...ordinary, route };
  world.app.deprecations.flag(entry);
  const told = await ask();
  expect([told.status, signals(told)]).toEqual([200, deprecationHeaders(entry, docsUrl)]);
  expect((await counted())[route]).toBe(1);
  world.app.deprecations.unflag(route);
  expect(signals(await ask())).toEqual({});
});

test('no page, no unknown path and no other method of a flagged path carries them', async () => {
  world.app.deprecations.flag(ordinary);
  for (const target of [
    '/docs',
    '/docs/deprecations',
    '/healthz',
    '/metrics',
    '/',
    '/v1/nothing',
    `${path()}/`,
  ]) {
    expect(signals(await world.request('GET', target)), target).toEqual({});
  }
  expect(signals(await world.request('PUT', path(), { key: org.ownerKey, body: {} }))).toEqual({});
  world.app.deprecations.unflag(ordinary.route);
});
