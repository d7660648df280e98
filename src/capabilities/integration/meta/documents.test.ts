/** Serving public documents is cheap, however often they are requested. */
import { readFileSync } from 'node:fs';
import { expect, test, vi } from 'vitest';
import { useWorld } from '../../../../test/harness.ts';

const world = useWorld();

const documents = ['/v1/openapi.json', '/docs', '/docs.md', '/docs/api/budgets'];
const get = (path: string, known?: string) =>
  world.request('GET', path, known === undefined ? {} : { headers: { 'if-none-match': known } });

test.each(documents)('%s is rendered once for many readers', async (path) => {
  const first = await get(path);
  expect([first.status, first.headers['cache-control']]).toEqual([200, 'no-cache']);
  const stringify = vi.spyOn(JSON, 'stringify');
  const others = await Promise.all(Array.from({ length: 20 }, () => get(path)));
  const large = stringify.mock.results.filter(({ value }) => String(value).length > 100_000);
  stringify.mockRestore();
  expect(large).toEqual([]);
  expect(new Set(others.map(({ headers }) => headers.etag))).toEqual(new Set([first.headers.etag]));
});

test.each(documents)('%s returns 304 without a body to a client that has it', async (path) => {
  const { headers, text } = await get(path);
  const etag = headers.etag ?? '';
  expect(etag).toMatch(/^"[\w-]{43}"$/);
  for (const known of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
    const again = await get(path, known);
    expect([again.status, again.text, again.headers.etag]).toEqual([304, '', etag]);
    expect(again.headers['content-type']).toBeUndefined();
  }
  const changed = await get(path, '"other"');
  expect([changed.status, changed.text]).toEqual([200, text]);
  const head = await world.request('HEAD', path, { headers: { 'if-none-match': etag } });
  expect([head.status, head.text]).toEqual([304, '']);
});

test.each(documents)('%s follows the deprecation registry immediately', async (path) => {
  const { headers } = await get(path);
  const { deprecations } = world.app;
  const route = '/v1/orgs/{id}/budgets';
  deprecations.flag({
    route,
    since: '2026-11-01',
    sunset: 'Fri, 31 Dec 2027 23:59:59 GMT',
    documentation: '/deprecations#budgets',
  });
  const flagged = await get(path, headers.etag);
  deprecations.unflag(route);
  expect(flagged.status).toBe(200);
  expect(flagged.headers.etag).not.toBe(headers.etag);
  expect((await get(path, headers.etag)).status).toBe(304);
});

test('/docs has the theme of the console, with an entity tag of its own', async () => {
  const plain = await get('/docs');
  const dark = await world.request('GET', '/docs', { headers: { cookie: 'purser_theme=dark' } });
  expect(plain.text).toContain('data-theme="auto"');
  expect(dark.text).toContain('data-theme="dark"');
  expect(dark.headers.etag).not.toBe(plain.headers.etag);
  expect(dark.headers.vary).toBe('cookie');
});

test('/docs/ leads to /docs, and an unknown page is a page with status 404', async () => {
  const slash = await get('/docs/');
  expect([slash.status, slash.headers.location]).toEqual([303, '/docs']);
  for (const path of ['/docs/nothing', '/docs/guides/..%2f..%2fpackage.json', '/docs/images/nothing.png']) {
    const { status, headers } = await get(path);
    expect([path, status, headers['content-type']]).toEqual([path, 404, 'text/html; charset=utf-8']);
  }
});

test('/docs keeps its content security policy', async () => {
  expect((await get('/docs')).headers['content-security-policy']).toMatch(/^default-src 'none'/);
});

test('/metrics counts a call that was answered before the scrape', async () => {
  const count = async () => {
    const { text } = await get('/metrics');
    return Number(/svc_deprecated_route_calls_total\{route="\/v1\/forecast"\} (\d+)/.exec(text)?.[1]);
  };
  const before = await count();
  await get('/v1/forecast');
  expect(await count()).toBe(before + 1);
});

test('/v1/meta/errors lists the codes of the gateway apart from those of the API, as its guide does', async () => {
  const { json } = await get('/v1/meta/errors');
  type Entry = { readonly code: string; readonly statuses: readonly number[] };
  const ofApi = new Map(json.data.map(({ code, statuses }: Entry) => [code, statuses]));
  const ofGateway = new Map<string, readonly number[]>(
    json.gateway.map(({ code, statuses }: Entry) => [code, statuses]),
  );
  expect([...ofGateway.keys()].filter((code) => ofApi.has(code))).toEqual([]);
  const guide = readFileSync(new URL('../../../../docs/guides/gateway.md', import.meta.url), 'utf8');
  const section = guide.split('### Error codes of the gateway')[1]?.split('\n## ')[0] ?? '';
  const inGuide = [...section.matchAll(/^\| (\d{3}) \| (.*) \|$/gm)].flatMap(([, status, codes = '']) =>
    [...codes.matchAll(/`(\w+)`/g)].map(([, code = '']) => [code, Number(status)] as const),
  );
  expect(inGuide.length).toBeGreaterThan(10);
  for (const [code, status] of inGuide) {
    expect([code, ofGateway.get(code) ?? ofApi.get(code)]).toEqual([code, expect.arrayContaining([status])]);
  }
  const named = new Set(inGuide.map(([code]) => code));
  const inStreams = [...ofGateway].filter(([, [status]]) => status === 200).map(([code]) => code);
  expect([...ofGateway.keys()].filter((code) => !named.has(code))).toEqual(inStreams);
  expect(section).toContain(inStreams[0]);
});
