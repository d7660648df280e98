/** Unknown routes, invalid URLs, and the headers of every response. */
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { routeOf, type TestOrg } from '../harness.ts';
import { checkAnswer } from '../support/contract-check.ts';
import { refusalIn, useEdgeWorld } from '../support/edge-world.ts';
import { exchange, RawClient, rawRequest } from '../support/raw-socket.ts';

const origin = 'https://app.example.com';
const edge = useEdgeWorld({ SVC_CORS_ORIGINS: origin });
let org: TestOrg;

beforeAll(async () => {
  org = await edge.world.createOrg();
});
afterEach(() => edge.checkHealthy());

async function ask(method: string, target: string, headers: readonly string[] = []) {
  const [answer, ...more] = await exchange(edge.port, rawRequest(method, target, headers));
  expect(more).toEqual([]);
  return answer;
}

describe('an undeclared route is 404, with any credentials', () => {
  it.each([
    ['POST', '/'],
    ['GET', '/v1'],
    ['GET', '/v1/'],
    ['GET', '/v2'],
    ['GET', '/v2/meta/errors'],
    ['GET', '/V1/meta/errors'],
    ['GET', '/v1/meta/errors/'],
    ['GET', '/v1//meta/errors'],
    ['GET', '/v1/admin/orgs/'],
    ['GET', '/v1/orgs//keys'],
    ['GET', '/v1/meta/errors%2F'],
    ['POST', '/v1/meta/errors'],
    ['DELETE', '/v1/admin/orgs'],
    ['PUT', '/v1/admin/orgs'],
    ['OPTIONS', '/v1/admin/orgs'],
    ['OPTIONS', '*'],
    ['PROPFIND', '/v1/meta/errors'],
    ['TRACE', '/v1/meta/errors'],
    ['QUERY', '/v1/meta/errors'],
    ['CONNECT', 'example.com:443'],
    ['CONNECT', '/v1/meta/errors'],
    ['GET', 'http://elsewhere/v1/nothing'],
    ['GET', '/v1/orgs/%00'],
    ['GET', '/v1/meta/errors%00'],
  ])('%s %s', async (method, target) => {
    expect(refusalIn(await ask(method, target))).toBe('404 not_found');
    expect(refusalIn(await ask(method, target, edge.operator))).toBe('404 not_found');
  });

  it('HEAD of a route that only has POST', async () => {
    const client = await RawClient.open(edge.port);
    await client.send(rawRequest('HEAD', '/v1/admin/orgs/x/suspend', edge.operator));
    expect((await client.answer('HEAD')).status).toBe(404);
    client.destroy();
  });
});

describe('URLs', () => {
  it.each([
    '/v1/orgs/%zz',
    '/v1/orgs/%',
    '/v1/orgs/%c3',
    '/v1/orgs/%ed%a0%80',
    '/v1/%ff',
    '/v1/meta/errors?a=%zz',
    '/v1/meta/errors?%',
    '/v1/meta/errors?a=%c3%28',
  ])('broken percent-encoding: %s', async (target) => {
    expect(refusalIn(await ask('GET', target))).toBe('400 bad_request');
  });

  it.each([
    ['limit=5&limit=6', 'limit:invalid_type'],
    ['sort=name&sort=bogus', 'sort:invalid_type'],
    ['bogus=1&bogus=2', 'bogus:unknown_field'],
    ['name=%00', 'name:invalid_value'],
    ['sort=%00', 'sort:invalid_value'],
    ['sort=bogus', 'sort:invalid_value'],
    ['__proto__=1', '__proto__:unknown_field'],
    ['constructor=1', 'constructor:unknown_field'],
    ['limit=', 'limit:invalid_type'],
    ['limit=1e999', 'limit:invalid_type'],
    ['limit=-Infinity', 'limit:invalid_type'],
    ['limit=NaN', 'limit:invalid_type'],
    ['limit=1.5', 'limit:invalid_type'],
    ['limit=0', 'limit:out_of_range'],
    ['name', 'name:empty'],
  ])('one field error for each invalid parameter: ?%s', async (query, found) => {
    const answer = await ask('GET', `/v1/admin/orgs?${query}`, edge.operator);
    expect(refusalIn(answer)).toBe(`422 validation_failed ${found}`);
  });

  it('every invalid parameter is listed', async () => {
    const answer = await ask('GET', '/v1/admin/orgs?a=1&limit=x&limit=y&name=%00&sort=bogus', edge.operator);
    expect(
      JSON.parse(answer?.text ?? '').error.details.fields.map((f: { field: string }) => f.field),
    ).toEqual(expect.arrayContaining(['a', 'limit', 'name', 'sort']));
    expect(JSON.parse(answer?.text ?? '').error.details.fields).toHaveLength(4);
  });

  it.each([100, 101, 5_000, 14_000])('an unknown id of %i characters is not found', async (length) => {
    const target = `/v1/admin/orgs/${'a'.repeat(length)}`;
    expect(refusalIn(await ask('GET', target))).toBe('401 unauthorized');
    expect(refusalIn(await ask('GET', target, edge.operator))).toBe('404 not_found');
  });

  it('percent-encoded and absolute URLs find the same route', async () => {
    for (const target of ['/v1/meta/%65rrors', 'http://elsewhere/v1/meta/errors']) {
      expect((await ask('GET', target))?.status, target).toBe(200);
    }
  });
});

describe('HEAD', () => {
  it('HEAD is served wherever GET is, with the same headers and no body', async () => {
    const { world, port } = edge;
    const paths = world.app.routes.filter(({ method }) => method === 'GET').map(({ path }) => path);
    expect(paths.length).toBeGreaterThan(5);
    for (const template of [...paths, '/healthz', '/readyz', '/docs', '/v1/nothing', '/v1/orgs/%zz']) {
      const target = template
        .replace('{id}', org.id)
        .replace('{org_id}', org.id)
        .replace('{key_id}', 'key_x');
      for (const key of [undefined, world.operatorKey, org.ownerKey]) {
        const headers = key === undefined ? [] : [`Authorization: Bearer ${key}`];
        const client = await RawClient.open(port);
        await client.send(rawRequest('GET', target, headers), rawRequest('HEAD', target, headers));
        const got = await client.answer();
        const headed = await client.answer('HEAD');
        await client.send(rawRequest('GET', '/healthz'));
        expect((await client.answer()).status, 'nothing was left over').toBe(200);
        client.destroy();

        if (target.startsWith('/v1')) {
          checkAnswer(got, routeOf(world.router, 'GET', target));
        }
        expect(headed.status, target).toBe(got.status);
        expect(withoutVolatile(headed.headers), target).toEqual(withoutVolatile(got.headers));
        expect(headed.headers['x-svc-trace-id']).toMatch(/^[0-9a-f]{32}$/);
      }
    }
  });

  function withoutVolatile({
    date: _date,
    'x-svc-trace-id': _id,
    ...rest
  }: Readonly<Record<string, string>>) {
    return rest;
  }
});

it('every response has its own trace id, which the client cannot choose and which is in the log', async () => {
  const chosen = 'c'.repeat(32);
  const seen = new Set<string>();
  const requests = [
    rawRequest('GET', '/healthz', [`x-svc-trace-id: ${chosen}`]),
    rawRequest('GET', '/v1/meta/errors', [`X-Svc-Trace-Id: ${chosen}`, `traceparent: 00-${chosen}-00-01`]),
    rawRequest('GET', '/v1/nothing', [`x-svc-trace-id: ${chosen}`]),
    rawRequest('CONNECT', 'x:1', [`x-svc-trace-id: ${chosen}`]),
    `x-svc-trace-id: ${chosen}\r\n\r\n`,
  ];
  for (const request of requests) {
    const [answer] = await exchange(edge.port, request);
    const id = answer?.headers['x-svc-trace-id'] ?? '';
    expect(id).toMatch(/^[0-9a-f]{32}$/);
    expect(id).not.toBe(chosen);
    expect(edge.world.logLines.some((line) => line.includes(id))).toBe(true);
    seen.add(id);
  }
  expect(seen.size).toBe(requests.length);
});

describe('browsers', () => {
  const preflight = ['Access-Control-Request-Method: POST', 'Access-Control-Request-Headers: authorization'];

  it('a preflight from a configured origin is answered', async () => {
    const answer = await ask('OPTIONS', '/v1/admin/orgs', [`Origin: ${origin}`, ...preflight]);
    expect(answer?.status).toBe(204);
    expect(answer?.headers).toMatchObject({
      'access-control-allow-origin': origin,
      'access-control-allow-methods': expect.stringMatching(/GET.*HEAD.*POST.*PUT.*PATCH.*DELETE/),
      'access-control-allow-headers': expect.stringMatching(/Authorization.*Content-Type.*Idempotency-Key/),
      vary: 'Origin',
    });
    expect(answer?.headers['x-svc-trace-id']).toMatch(/^[0-9a-f]{32}$/);
  });

  it.each([
    ['no origin', preflight],
    ['another origin', ['Origin: https://evil.example.com', ...preflight]],
    ['an origin that only begins alike', [`Origin: ${origin}.evil.com`, ...preflight]],
    ['the null origin', ['Origin: null', ...preflight]],
    ['no preflight', [`Origin: ${origin}`]],
  ])('%s: OPTIONS is 404', async (_, headers) => {
    const answer = await ask('OPTIONS', '/v1/admin/orgs', headers);
    expect(refusalIn(answer)).toBe('404 not_found');
  });

  it('a configured origin may read every response, including errors, and the exposed headers', async () => {
    for (const target of ['/v1/meta/errors', '/v1/admin/orgs', '/v1/nothing', '/v1/orgs/%zz']) {
      const answer = await ask('GET', target, [`Origin: ${origin}`]);
      expect(answer?.headers['access-control-allow-origin'], target).toBe(origin);
      expect(answer?.headers['access-control-expose-headers'], target).toMatch(/x-svc-trace-id.*Retry-After/);
      expect(answer?.headers.vary, target).toBe('Origin');
    }
  });

  it('another origin gets no CORS headers', async () => {
    const answer = await ask('GET', '/v1/meta/errors', ['Origin: https://evil.example.com']);
    expect(answer?.status).toBe(200);
    expect(Object.keys(answer?.headers ?? {}).filter((name) => name.startsWith('access-control'))).toEqual(
      [],
    );
  });
});
