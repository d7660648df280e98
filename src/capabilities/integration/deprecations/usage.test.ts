import { beforeAll, describe, expect, test } from 'vitest';
import { useOrg, useWorld } from '../../../../test/harness.ts';
import { errorSummary, invalid } from '../../../../test/support/limits.ts';
import { createCallers } from './callers.ts';
import { addCalls } from './queries.ts';

const world = useWorld();
const first = useOrg(world, 'First');
const second = useOrg(world, 'Second');

const route = '/v1/forecast';
const forecast = (key: string) => world.request('GET', `${route}?deployment=d&teams=1`, { key });
const usage = (query = '') =>
  world.request('GET', `/v1/admin/deprecations/usage${query}`, { key: world.operatorKey });
const at = (offsetSeconds = 0) => new Date(world.clock.now().getTime() + offsetSeconds * 1_000);

test('returns the number of calls, and the first and last, per route, org and key', async () => {
  const firstAt = at();
  await forecast(first.ownerKey);
  world.clock.advanceSeconds(60);
  await forecast(first.ownerKey);
  await world.request('HEAD', route, { key: first.ownerKey });
  world.clock.advanceSeconds(1);
  // The request is rejected, but its key is known.
  const { id: keyId, secret } = await world.mintKey(second, 'viewer', []);
  expect((await forecast(secret)).status).toBe(403);
  await world.request('GET', route);
  await forecast('nonsense');

  const { status, json } = await usage();
  expect([status, json.next_cursor]).toEqual([200, null]);
  expect(json.data).toEqual([
    {
      route,
      org_id: second.id,
      org_name: 'Second',
      key_id: keyId,
      key_name: 'viewer',
      calls: 1,
      first_called_at: at().toISOString(),
      last_called_at: at().toISOString(),
    },
    {
      route,
      org_id: first.id,
      org_name: 'First',
      key_id: expect.stringMatching(/^key_/),
      key_name: 'owner',
      calls: 3,
      first_called_at: firstAt.toISOString(),
      last_called_at: at(-1).toISOString(),
    },
  ]);
});

describe('the list', () => {
  const calls = (name: string, tenantId: string, count: number, seconds: number) => ({
    tenantId,
    keyId: name,
    route: `/v1/${name}`,
    count,
    firstAt: at(-seconds),
    lastAt: at(seconds),
  });
  const names = ({ json }: Awaited<ReturnType<typeof usage>>) =>
    json.data.map(({ key_id }: { key_id: string }) => key_id);

  beforeAll(async () => {
    await usage();
    await world.db.query('DELETE FROM deprecated_route_calls');
    await addCalls(world.db, [
      calls('a', first.id, 10, 1),
      calls('b', second.id, 9, 2),
      calls('c', 'platform', 100, 3),
    ]);
  });

  test.each([
    ['', ['c', 'b', 'a']],
    ['?sort=last_called_at', ['a', 'b', 'c']],
    ['?sort=first_called_at', ['c', 'b', 'a']],
    ['?sort=calls', ['b', 'a', 'c']],
    ['?sort=-calls', ['c', 'a', 'b']],
    ['?route=/v1/b', ['b']],
    ['?route=/v1/none', []],
  ])('%s', async (query, expected) => {
    expect(names(await usage(query))).toEqual(expected);
    // Reading page by page returns the same entries.
    const seen: string[] = [];
    const more = query === '' ? '?' : `${query}&`;
    for (let cursor: string | null = ''; cursor !== null; ) {
      const page = await usage(`${more}limit=1${cursor === '' ? '' : `&cursor=${cursor}`}`);
      seen.push(...names(page));
      cursor = page.json.next_cursor;
    }
    expect(seen).toEqual(expected);
  });

  test('filters by org; an operator belongs to none', async () => {
    expect(names(await usage(`?org_id=${first.id}`))).toEqual(['a']);
    const operator = (await usage('?route=/v1/c')).json.data[0];
    expect([operator.org_id, operator.org_name, operator.key_name]).toEqual([null, null, null]);
  });

  test.each([
    ['?sort=route', 'sort invalid_value'],
    ['?limit=0', 'limit out_of_range'],
    ['?colour=red', 'colour unknown_field'],
    [
      `?sort=calls&cursor=${Buffer.from('["calls","many","a"]').toString('base64url')}`,
      'cursor invalid_value',
    ],
  ])('rejects %s', async (query, fault) => {
    expect(errorSummary(await usage(query))).toEqual(invalid(fault));
  });
});

describe('counts', () => {
  const credential = { keyId: 'key_x', org: null };
  const stored = async () => {
    const rows = await world.db.query<{ calls: bigint; first_called_at: Date; last_called_at: Date }>(
      `SELECT calls, first_called_at, last_called_at FROM deprecated_route_calls WHERE key_id = 'key_x'`,
    );
    return rows.map((row) => [Number(row.calls), row.first_called_at, row.last_called_at]);
  };

  test('counts of deprecated calls from several processes add up, and need no query before they are written', async () => {
    const [one, other] = [createCallers(world), createCallers(world)];
    const begin = at();
    one.called('/v1/x', credential);
    world.clock.advanceSeconds(5);
    other.called('/v1/x', credential);
    other.called('/v1/x', credential);
    expect(await stored()).toEqual([]);
    await other.flush();
    await Promise.all([one.flush(), one.job.runOnce()]);
    expect(await stored()).toEqual([[3, begin, at()]]);
  });

  test('counts of deprecated calls that could not be written are kept', async () => {
    let away = true;
    const callers = createCallers({
      clock: world.clock,
      db: {
        ...world.db,
        query: (sql, params) =>
          away ? Promise.reject(new Error('away')) : world.db.query(sql, params as unknown[]),
      },
    });
    const [before = []] = await stored();
    callers.called('/v1/x', credential);
    await expect(callers.flush()).rejects.toThrow('away');
    callers.called('/v1/x', credential);
    await expect(callers.job.runOnce()).rejects.toThrow('away');
    away = false;
    await callers.flush();
    await callers.flush();
    expect(await stored()).toEqual([[Number(before[0]) + 2, before[1], at()]]);
  });

  test('counts of deprecated calls are written when the service stops', async () => {
    await forecast(first.ownerKey);
    const count = async () =>
      (
        await world.db.query<{ calls: bigint }>('SELECT calls FROM deprecated_route_calls WHERE route = $1', [
          route,
        ])
      ).map(({ calls }) => Number(calls));
    expect(await count()).toEqual([]);
    await world.app.finish();
    expect(await count()).toEqual([1]);
  });
});
