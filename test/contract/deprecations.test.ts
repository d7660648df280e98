/** Deprecations: headers, listings, metrics and documentation follow one registry, on every response. */
import { readFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { deprecationHeaders } from '../../src/contract/deprecation-headers.ts';
import type { Deprecation } from '../../src/contract/deprecations.ts';
import { DatabaseUnavailable } from '../../src/platform/db/database.ts';
import { dereferenced } from '../../src/platform/http/routes/openapi-references.ts';
import { createWorld, type TestAnswer, useOrg, useWorld } from '../harness.ts';
import { declaredRoutes } from '../support/declared-routes.ts';
import { exchange, RawClient, rawRequest } from '../support/raw-socket.ts';

const docsUrl = 'https://docs.example.com/purser';
const origin = 'https://app.example.com';

const committedOpenApi = JSON.parse(
  readFileSync(new URL('../../docs/generated/openapi.json', import.meta.url), 'utf8'),
);

const world = useWorld({
  SVC_DOCS_URL: docsUrl,
  SVC_CORS_ORIGINS: origin,
  SVC_BODY_LIMIT_BYTES: '2000',
  SVC_AUTH_BACKOFF_ATTEMPTS: '1000000',
});
const org = useOrg(world);
const other = useOrg(world);

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

/** Returns the series of the counter, by route. */
async function counted(): Promise<Record<string, number>> {
  const { text } = await world.request('GET', '/metrics');
  const lines = [...text.matchAll(/^svc_deprecated_route_calls_total(.*) (\d+)$/gm)];
  return Object.fromEntries(
    lines.map(([, labels, value]) => [/^\{route="([^"]*)"\}$/.exec(labels ?? '')?.[1], Number(value)]),
  );
}

async function described(route: string) {
  return dereferenced((await world.request('GET', '/v1/openapi.json')).json).paths[route];
}

describe('a route that is flagged while the service runs', () => {
  test('a route that is flagged while the service runs is shown everywhere from the next response on, and nowhere once it is unflagged', async () => {
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

  test('a route that is flagged while the service runs is still served after its sunset date', async () => {
    const sunset = 'Wed, 01 Jan 2020 00:00:00 GMT';
    world.app.deprecations.flag({ ...ordinary, sunset });
    const answer = await world.request('GET', path(), { key: org.ownerKey });
    expect([answer.status, signals(answer)]).toEqual([200, { ...ordinaryHeaders, sunset }]);
    world.app.deprecations.unflag(ordinary.route);
  });

  test('a route that is flagged while the service runs has no successor in the listing and the link header if there is none', async () => {
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
      'a dependency that is unavailable',
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

  test('a rate-limited request: 429', async () => {
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

  test('requests over a socket that are rejected before the route is called', async () => {
    const { port } = await world.listen();
    const key = `Authorization: Bearer ${org.ownerKey}`;
    const json = 'Content-Type: application/json';
    const heads: [status: number, lines: string[], rest: string][] = [
      [400, [`GET ${path()} HTTP/1.1`, key], ''],
      [400, [`GET ${path()} HTTP/1.1`, 'Host: a', 'Host: b', key], ''],
      [400, [`GET ${path()} HTTP/1.1`, 'Host: a', 'Expect: tea', key], ''],
      // The body is truncated, or its framing is invalid.
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

  test.each([
    ['a NUL', '%00', 404],
    ['no escape', '%zz', 400],
    ['no UTF-8', '%ff', 400],
    ['half an escape', 'org%', 400],
  ])('an id in the path that cannot be decoded: %s', async (_, id, status) => {
    for (const method of ['GET', 'HEAD', 'POST']) {
      const before = (await counted())[ordinary.route] ?? 0;
      const answer = await world.request(method, `/v1/orgs/${id}/budgets?limit=1`, { key: org.ownerKey });
      expect([answer.status, signals(answer)], method).toEqual([status, ordinaryHeaders]);
      expect((await counted())[ordinary.route]).toBe(before + 1);
    }
  });

  describe('a head that is never read completely', () => {
    const filler = 'x'.repeat(20_000);
    const answerTo = async (parts: readonly string[], method = 'GET') => {
      const before = (await counted())[ordinary.route] ?? 0;
      const { port } = await world.listen();
      const client = await RawClient.open(port);
      for (const part of parts) {
        await client.send(part);
        // A round trip on another connection: everything sent before has arrived by then.
        await exchange(port, 'GET /healthz HTTP/1.0\r\n\r\n');
      }
      const answer = await client.answer(method);
      expect(client.unread).toBe('');
      client.destroy();
      return { answer, counted: ((await counted())[ordinary.route] ?? 0) - before };
    };

    test.each<[name: string, parts: (line: string) => string[]]>([
      ['in one piece', (line) => [`${line}Host: a\r\nX: ${filler}`]],
      ['in two pieces', (line) => [`${line}Host: a\r\n`, `X: ${filler}`]],
      ['with a request line in two pieces', (line) => [line.slice(0, 9), `${line.slice(9)}X: ${filler}`]],
      ['with a header that is malformed', (line) => [`${line}Host a\r\n\r\n`]],
    ])('%s', async (_, parts) => {
      for (const method of ['GET', 'POST', 'HEAD']) {
        const got = await answerTo(parts(`${method} ${path()}?limit=1 HTTP/1.1\r\n`), method);
        expect([got.answer.status, signals(got.answer), got.counted], method).toEqual([
          400,
          ordinaryHeaders,
          1,
        ]);
      }
    });

    test.each<[name: string, before: string]>([
      ['a request', rawRequest('GET', '/healthz')],
      ['a request that Node reads', rawRequest('GET', '/healthz', ['TE: trailers'])],
      ['a body', rawRequest('POST', '/v1/nothing', ['Content-Length: 2', 'TE: trailers'], '{}')],
      [
        'a body in chunks',
        rawRequest('POST', '/v1/nothing', ['Transfer-Encoding: chunked'], '2\r\n{}\r\n0\r\n\r\n'),
      ],
    ])('after %s on the same connection', async (_, earlier) => {
      const { port } = await world.listen();
      for (const parts of [
        [earlier, `GET ${path()} HTTP/1.1\r\nX: ${filler}`],
        [`${earlier}GET ${path()} HTTP/1.1\r\nX: ${filler}`],
        [`${earlier}GET ${path()} HTTP/1.1\r\nX: `, filler],
        [`${earlier}GET ${path()}`, ` HTTP/1.1\r\nX: ${filler}`],
      ]) {
        const client = await RawClient.open(port);
        for (const part of parts) {
          await client.send(part);
          await exchange(port, 'GET /healthz HTTP/1.0\r\n\r\n');
        }
        expect(signals(await client.answer())).toEqual({});
        const answer = await client.answer();
        expect([answer.status, signals(answer)]).toEqual([400, ordinaryHeaders]);
        client.destroy();
      }
    });

    test('a query that is too long does not hide the route', async () => {
      const { answer } = await answerTo([`GET ${path()}?cursor=${filler}`]);
      expect([answer.status, signals(answer)]).toEqual([400, ordinaryHeaders]);
    });

    test('another route, and an incomplete path, do not have the headers', async () => {
      for (const target of ['/v1/nothing HTTP/1.1', `/v1/orgs/${filler}`, '/healthz HTTP/1.1']) {
        const { answer } = await answerTo([`GET ${target}\r\nX: ${filler}`]);
        expect([answer.status, signals(answer)]).toEqual([400, {}]);
      }
    });
  });

  test('browsers of configured origins may read the headers', async () => {
    const { headers } = await world.request('GET', path(), { headers: { origin } });
    expect(headers['access-control-expose-headers']?.split(', ')).toEqual(
      expect.arrayContaining(['Deprecation', 'Sunset', 'Link', 'x-svc-trace-id', 'Retry-After']),
    );
  });
});

test('decisions have the headers and are counted while the route is flagged', async () => {
  const route = '/v1/edge/decision';
  const ask = () =>
    world.request('POST', route, {
      key: org.ownerKey,
      body: { model: 'm', estimated_cost_usd: '0.01' },
      headers: { 'content-type': 'application/json' },
    });
  // The first request loads the caches, the second takes the fast path.
  expect([(await ask()).status, (await ask()).status]).toEqual([200, 200]);
  const entry = { ...ordinary, route };
  world.app.deprecations.flag(entry);
  const flagged = await ask();
  expect([flagged.status, signals(flagged)]).toEqual([200, deprecationHeaders(entry, docsUrl)]);
  expect((await counted())[route]).toBe(1);
  world.app.deprecations.unflag(route);
  expect(signals(await ask())).toEqual({});
});

test('pages, unknown paths and other methods of a flagged path do not have the headers', async () => {
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

describe('the deprecated routes', () => {
  const announced: Record<string, { readonly headers: object; readonly query: string }> = {
    '/v1/admin/orgs/{org_id}/webhook-secret': {
      headers: {
        deprecation: '@1784678400',
        sunset: 'Fri, 31 Dec 2027 23:59:59 GMT',
        link: `<${docsUrl}>; rel="deprecation", </v1/orgs/{id}/webhooks/{sub_id}/signing>; rel="successor-version"`,
      },
      query: '',
    },
    '/v1/admin/orgs/{org_id}/webhook-secret/rotate': {
      headers: {
        deprecation: '@1784678400',
        sunset: 'Fri, 31 Dec 2027 23:59:59 GMT',
        link: `<${docsUrl}>; rel="deprecation", </v1/orgs/{id}/webhooks/{sub_id}/signing/rotate>; rel="successor-version"`,
      },
      query: '',
    },
    '/v1/forecast': {
      headers: {
        deprecation: '@1784678400',
        sunset: 'Wed, 31 Dec 2036 23:59:59 GMT',
        link: `<${docsUrl}>; rel="deprecation", </v1/capacity/forecasts>; rel="successor-version"`,
      },
      query: '?deployment=d&teams=2',
    },
  };
  const served = declaredRoutes().filter(({ path: template }) => announced[template] !== undefined);

  test('the deprecated routes are these three, counted from zero', async () => {
    expect(served.map((route) => route.path).sort()).toEqual(Object.keys(announced).sort());
    const fresh = await createWorld();
    const { json } = await fresh.request('GET', '/v1/meta/deprecations');
    expect(json).toEqual([
      {
        route: '/v1/admin/orgs/{org_id}/webhook-secret',
        since: '2026-07-22',
        sunset: 'Fri, 31 Dec 2027 23:59:59 GMT',
        replacement: '/v1/orgs/{id}/webhooks/{sub_id}/signing',
        documentation: 'http://localhost/docs/deprecations#org-level-webhook-secret',
      },
      {
        route: '/v1/admin/orgs/{org_id}/webhook-secret/rotate',
        since: '2026-07-22',
        sunset: 'Fri, 31 Dec 2027 23:59:59 GMT',
        replacement: '/v1/orgs/{id}/webhooks/{sub_id}/signing/rotate',
        documentation: 'http://localhost/docs/deprecations#org-level-webhook-secret',
      },
      {
        route: '/v1/forecast',
        since: '2026-07-22',
        sunset: 'Wed, 31 Dec 2036 23:59:59 GMT',
        replacement: '/v1/capacity/forecasts',
        documentation: 'http://localhost/docs/deprecations#linear-forecast',
      },
    ]);
    const { text } = await fresh.request('GET', '/metrics');
    const series = text.split('\n').filter((line) => line.startsWith('svc_deprecated_route_calls_total'));
    expect(series).toEqual(
      Object.keys(announced).map((route) => `svc_deprecated_route_calls_total{route="${route}"} 0`),
    );
    await fresh.close();
  });

  test.each(served.map((route) => [`${route.method} ${route.path}`, route] as const))(
    '%s has the headers on every response',
    async (_, { method, path: template, access, success }) => {
      const { headers, query } = announced[template] ?? { headers: {}, query: '' };
      const key = access.kind === 'org' ? org.ownerKey : world.operatorKey;
      const target = (orgId: string) => `${template.replace('{org_id}', orgId)}${query}`;
      const seen: number[] = [];
      const ask = async (url: string, bearer: string | undefined, verb: string = method) => {
        const answer = await world.request(verb, url, bearer === undefined ? {} : { key: bearer });
        expect(signals(answer), `${verb} ${url}: ${answer.status}`).toEqual(headers);
        seen.push(answer.status);
      };
      await ask(target(org.id), key);
      await ask(target(org.id), undefined);
      await ask(`${template.replace('{org_id}', org.id)}?colour=red`, key);
      world.fault = () => {
        throw new Error('on purpose');
      };
      await ask(target(org.id), key);
      world.fault = () => {
        throw new DatabaseUnavailable('on purpose');
      };
      await ask(target(org.id), key);
      world.fault = undefined;
      expect(seen).toEqual([success, 401, 422, 500, 503]);
      if (method === 'GET') {
        await ask(target(org.id), key, 'HEAD');
        await ask(target(org.id), undefined, 'HEAD');
        expect(seen.slice(5)).toEqual([200, 401]);
      }
      if (template.includes('{org_id}')) {
        await ask(target('org_none'), key);
        expect(seen.at(-1)).toBe(404);
      } else {
        const limited = await world.createOrg();
        const body = { read_rpm: 1 };
        await world.request('PUT', `/v1/admin/orgs/${limited.id}/rate-limits`, {
          key: world.operatorKey,
          body,
        });
        await ask(target(''), limited.ownerKey);
        await ask(target(''), limited.ownerKey);
        expect(seen.slice(-2)).toEqual([200, 429]);
      }
      expect((await counted())[template]).toBeGreaterThanOrEqual(seen.length);
    },
  );

  test('their OpenAPI operations are deprecated, and no others', () => {
    const flagged = Object.entries<Record<string, { deprecated?: boolean }>>(committedOpenApi.paths).flatMap(
      ([template, item]) =>
        Object.entries(item).flatMap(([method, { deprecated }]) =>
          deprecated === undefined ? [] : [`${method.toUpperCase()} ${template} ${deprecated}`],
        ),
    );
    expect(flagged.sort()).toEqual(served.map((route) => `${route.method} ${route.path} true`).sort());
  });
});

describe('the documentation', () => {
  const open = useWorld();

  const anchors = async () => {
    const { status, text, headers } = await open.request('GET', '/docs/deprecations');
    expect([status, headers['content-type']]).toEqual([200, 'text/html; charset=utf-8']);
    expect(text).not.toMatch(/<script>|<style|(src|href)="(https?:)?\/\/|@import|url\(/);
    return { text, ids: [...text.matchAll(/<h2 id="([^"]+)"/g)].map(([, id]) => id) };
  };

  test('explains every entry at the URL in the listing', async () => {
    open.app.deprecations.flag(ordinary);
    const { json } = await open.request('GET', '/v1/meta/deprecations');
    const { ids, text } = await anchors();
    for (const { route, sunset, documentation } of json) {
      const [page, anchor] = documentation.split('#');
      expect(page).toBe('http://localhost/docs/deprecations');
      expect(ids).toContain(anchor);
      expect(text).toContain(route);
      expect(text).toContain(sunset);
    }
    expect(new Set(ids).size).toBe(ids.length);
    open.app.deprecations.unflag(ordinary.route);
    expect((await anchors()).ids).not.toContain('budgets');
  });

  test('the documentation has a note with the date for each of the five announced deprecations', async () => {
    const { ids, text } = await anchors();
    expect(ids).toEqual([
      'org-level-webhook-secret',
      'linear-forecast',
      'webhook-v1-delivery',
      'read-limit-setting',
    ]);
    for (const id of ids) {
      const section = text.split(`<h2 id="${id}">`)[1]?.split(/<h2|<\/article>/)[0] ?? '';
      expect(section).toContain('2026-07-22');
      expect(section.match(/<p>/g)?.length, id).toBeGreaterThanOrEqual(2);
    }
    expect(text).toContain('no earlier than two releases after the announcement');
  });
});
