/** The usage of limits with a wildcard, by value. */
import { describe, expect, test } from 'vitest';
import { useOrg, useWorld } from '../../../../test/harness.ts';

const world = useWorld();
const org = useOrg(world);

const own = (method: string, path: string, body?: object) =>
  world.request(method, path.startsWith('/v1') ? path : `/v1/orgs/${org.id}/${path}`, {
    key: org.ownerKey,
    ...(body !== undefined && { body }),
  });
const spend = (fields: object) => own('POST', '/v1/runs', { model: 'm', ...fields });
const created = async (path: string, body: object): Promise<string> => {
  const { status, json, text } = await own('POST', path, body);
  expect(status, text).toBe(201);
  return json.id;
};
const each = (scope_kind: string) => ({
  name: scope_kind,
  scope_kind,
  scope_id: '*',
  period: 'day',
  limit_usd: '10',
});
const listValues = async (limitId: string, query = '') =>
  (await own('GET', `limits/${limitId}/values${query}`)).json;

interface Listed {
  readonly values: Record<string, string>;
  readonly standing: Record<string, string>;
  readonly state: string;
}
const brief = ({ data }: { readonly data: readonly Listed[] }) =>
  data.map(({ values, standing: { settled, held, remaining }, state }) => [
    Object.values(values).join(),
    settled,
    held,
    remaining,
    state,
  ]);

describe('values of a budget for each member', () => {
  test('the values of a budget have what is settled, held and left, the highest cost first', async () => {
    const budget = await created('budgets', each('member'));
    await spend({ member_id: 'amy', cost_usd: '1' });
    await spend({ member_id: 'bob', cost_usd: '8.5' });
    await spend({ member_id: 'cid', cost_usd: '4' });
    await spend({ cost_usd: '2' });
    await own('POST', '/v1/edge/decision', { model: 'm', member_id: 'cid', estimated_cost_usd: '6' });
    const listed = await listValues(budget);
    expect(brief(listed)).toEqual([
      ['bob', '8.5', '0', '1.5', 'near'],
      ['cid', '4', '6', '0', 'exhausted'],
      ['amy', '1', '0', '9', 'ok'],
    ]);
    expect(listed.data[0]).toMatchObject({
      values: { member_id: 'bob' },
      standing: { window_start: '2026-11-15T00:00:00.000Z', window_end: '2026-11-16T00:00:00.000Z' },
    });
  });

  test('the values of a budget are those of the current window, also of a limit that was created later', async () => {
    world.clock.advanceSeconds(24 * 3_600);
    await world.runJob('expire-holds');
    await spend({ member_id: 'amy', cost_usd: '3' });
    const late = await created('budgets', { ...each('member'), name: 'late', period: 'month' });
    expect(brief(await listValues(late))).toEqual([
      ['bob', '8.5', '0', '1.5', 'near'],
      ['cid', '4', '0', '6', 'ok'],
      ['amy', '4', '0', '6', 'ok'],
    ]);
    const [daily] = (await own('GET', 'limits?search=member')).json.data;
    expect(brief(await listValues(daily.id))).toEqual([['amy', '3', '0', '7', 'ok']]);
  });

  test('the values of a budget are paginated', async () => {
    const late = (await own('GET', 'limits?search=late')).json.data[0].id;
    const pages: string[][] = [];
    for (let cursor = ''; pages.length < 10; ) {
      const { data, next_cursor } = await listValues(late, `?limit=1${cursor}`);
      pages.push(data.map(({ values }: Listed) => values.member_id));
      if (next_cursor === null) {
        break;
      }
      cursor = `&cursor=${next_cursor}`;
    }
    expect(pages).toEqual([['bob'], ['cid'], ['amy']]);
    const ascending = await listValues(late, '?sort=settled');
    expect(ascending.data.map(({ values }: Listed) => values.member_id)).toEqual(['amy', 'cid', 'bob']);
    expect((await own('GET', `limits/${late}/values?sort=name`)).status).toBe(422);
    expect((await own('GET', `limits/${late}/values?cursor=x`)).status).toBe(422);
  });
});

test('lists customers and values of tags too', async () => {
  const customers = await created('customer-limits', { customer_id: '*', period: 'day', limit_usd: '5' });
  const tags = await created('budgets', each('tag:project'));
  await spend({ customer_id: 'acme', cost_usd: '2', tags: { project: 'site' } });
  expect(brief(await listValues(customers))).toEqual([['acme', '2', '0', '3', 'ok']]);
  const listed = await listValues(tags);
  expect(brief(listed)).toEqual([['site', '2', '0', '8', 'ok']]);
  expect(listed.data[0].values).toEqual({ 'tag:project': 'site' });
});

test('lists only values with runs that the rest of the match applies to', async () => {
  const quota = { name: 'q', unit: 'usd', limit: '10', window_seconds: 86_400, kind: 'quota' };
  const { json } = await world.request('PUT', `/v1/admin/orgs/${org.id}/rate-limits`, {
    key: world.operatorKey,
    body: { policies: [{ ...quota, match: { model: 'small', customer_id: '*' } }] },
  });
  await spend({ customer_id: 'one', cost_usd: '1', model: 'small' });
  await spend({ customer_id: 'two', cost_usd: '2', model: 'small' });
  await spend({ customer_id: 'one', cost_usd: '3', model: 'large' });
  await spend({ customer_id: 'none', cost_usd: '0.5', model: 'large' });
  expect(brief(await listValues(json.policies[0].id))).toEqual([
    ['two', '2', '0', '8', 'ok'],
    ['one', '1', '0', '9', 'ok'],
  ]);
});

test('sorts and continues after sums beyond 64 bits', async () => {
  const large = await world.createOrg();
  const send = (method: string, path: string, body?: object) =>
    world.request(method, path, { key: large.ownerKey, ...(body && { body }) });
  const budget = { ...each('team'), period: 'month' };
  const { id } = (await send('POST', `/v1/orgs/${large.id}/budgets`, budget)).json;
  const runs = ['a', 'a', 'b'].map((team, day) => ({
    model: 'm',
    team,
    cost_usd: '8999999999',
    started_at: new Date(Date.UTC(2026, 10, 1 + day)).toISOString(),
  }));
  await send('POST', '/v1/runs/bulk?enforcement=record', { runs });
  const page = (query: string) => send('GET', `/v1/orgs/${large.id}/limits/${id}/values?limit=1${query}`);
  const first = (await page('')).json;
  const second = (await page(`&cursor=${first.next_cursor}`)).json;
  expect([...brief(first), ...brief(second)].map(([team, settled]) => [team, settled])).toEqual([
    ['a', '17999999998'],
    ['b', '8999999999'],
  ]);
});

test('the list of values is empty for a limit without a wildcard, and finds no limit of another org', async () => {
  const total = await created('budgets', { name: 'total', scope_kind: 'org', period: 'day', limit_usd: '5' });
  expect(await listValues(total)).toEqual({ data: [], next_cursor: null });
  const other = await world.createOrg();
  for (const path of [`${other.id}/limits/${total}`, `${org.id}/limits/unknown`]) {
    const answer = await world.request('GET', `/v1/orgs/${path}/values`, {
      key: path.startsWith(other.id) ? other.ownerKey : org.ownerKey,
    });
    expect(answer.status).toBe(404);
  }
});
