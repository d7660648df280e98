/** All limits in one list, with their settled and held amounts. */
import { beforeAll, describe, expect, test } from 'vitest';
import { useOrg, useWorld } from '../../../../test/harness.ts';

const world = useWorld();
const org = useOrg(world);

const own = (method: string, path: string, body?: object) =>
  world.request(method, path.startsWith('/v1') ? path : `/v1/orgs/${org.id}/${path}`, {
    key: org.ownerKey,
    ...(body !== undefined && { body }),
  });

test('returns what is settled, held and left of each limit, also of unused ones', async () => {
  await own('PUT', 'spend-cap', { cap_usd: '10' });
  await own('POST', 'customer-limits', { customer_id: '*', period: 'month', limit_usd: '5' });
  await own('POST', 'credit-packs', { customer_id: 'acme', amount_usd: '3' });
  await own('POST', '/v1/runs', { model: 'm', cost_usd: '1.25', customer_id: 'acme' });
  await own('POST', '/v1/edge/decision', { model: 'm', estimated_cost_usd: '0.5' });
  await own('POST', 'budgets', { name: 'late', scope_kind: 'org', period: 'month', limit_usd: '1' });

  const { json } = await own('GET', 'limits');
  const byKind = Object.fromEntries(json.data.map((limit: { kind: string }) => [limit.kind, limit]));
  expect(byKind.spend_cap).toMatchObject({
    unit: 'usd',
    limit: '10',
    standing: {
      settled: '1.25',
      held: '0.5',
      remaining: '8.25',
      window_start: '2026-11-15T00:00:00.000Z',
      window_end: '2026-11-16T00:00:00.000Z',
    },
  });
  expect(byKind.customer).toMatchObject({ match: { customer_id: '*' }, standing: null });
  expect(byKind.credits.standing).toMatchObject({
    settled: '1.25',
    held: '0',
    remaining: '1.75',
    window_start: null,
    window_end: null,
  });
  // The budget was created in the middle of its period, below the amount already spent, so nothing remains.
  expect(byKind.budget.standing).toMatchObject({ settled: '1.25', remaining: '0' });
});

test('filters by kind and by customer, and paginates', async () => {
  const ofCustomer = async (customer: string) =>
    (await own('GET', `limits?customer_id=${customer}`)).json.data.map(({ kind }: { kind: string }) => kind);
  expect(await ofCustomer('acme')).toEqual(['credits']);
  expect(await ofCustomer('*')).toEqual(['customer']);
  expect(await ofCustomer('nobody')).toEqual([]);
  const caps = await own('GET', 'limits?kind=spend_cap');
  expect(caps.json.data.map(({ kind }: { kind: string }) => kind)).toEqual(['spend_cap']);
  const first = await own('GET', 'limits?limit=1');
  const second = await own('GET', `limits?limit=1&cursor=${first.json.next_cursor}`);
  expect(second.json.data[0].id).not.toBe(first.json.data[0].id);
});

describe('a list of many limits', () => {
  const lister = useOrg(world);
  const call = async (path: string, body?: object) =>
    (
      await world.request(body === undefined ? 'GET' : 'POST', `/v1/orgs/${lister.id}/${path}`, {
        key: lister.ownerKey,
        ...(body !== undefined && { body }),
      })
    ).json;
  const names = async (query: string) =>
    (await call(`limits${query}`)).data.map(({ name }: { name: string | null }) => name);
  beforeAll(async () => {
    const budget = async (name: string, limit_usd: string, more: object) => {
      await call('budgets', { name, period: 'month', limit_usd, enforcement: 'alert', ...more });
      // The list is in the order of creation.
      world.clock.advanceSeconds(1);
    };
    await budget('All', '100', { scope_kind: 'org', owner: 'Finance@example.com' });
    await budget('Code Review', '10', { scope_kind: 'workflow', scope_id: 'review' });
    await budget('Triage', '5', { scope_kind: 'workflow', scope_id: 'triage' });
    await budget('Research', '20', { scope_kind: 'team', scope_id: 'research' });
    await budget('Nightly', '1', { scope_kind: 'tag:job', scope_id: 'night' });
    await budget('Each team', '1', { scope_kind: 'team', scope_id: '*' });
    await call('customer-limits', { customer_id: 'acme', period: 'month', limit_usd: '5' });
    for (const [workflow, cost_usd] of [
      ['review', '8'],
      ['triage', '7'],
    ]) {
      const body = { model: 'm', cost_usd, workflow };
      await world.request('POST', '/v1/runs', { key: lister.ownerKey, body });
    }
  });

  test.each<[string, (string | null)[]]>([
    ['?search=REVIEW', ['Code Review']],
    ['?search=finance%40', ['All']],
    ['?search=acme', [null]],
    ['?search=%25', []],
    ['?scope_kind=org', ['All']],
    ['?scope_kind=workflow', ['Code Review', 'Triage']],
    ['?scope_kind=workflow&search=triage', ['Triage']],
    ['?scope_kind=customer', [null]],
    ['?scope_kind=tag%3Ajob', ['Nightly']],
    ['?scope_kind=team&scope_id=*', ['Each team']],
    ['?scope_id=research', ['Research']],
    ['?state=exhausted', ['Triage']],
    ['?state=near', ['Code Review']],
    ['?state=ok', ['All', 'Research', 'Nightly', null]],
    ['?state=ok&kind=budget', ['All', 'Research', 'Nightly']],
    ['?state=near&scope_kind=team', []],
  ])('filters by %s', async (query, expected) => {
    expect(await names(query)).toEqual(expected);
  });

  test('shows the state and settings of each', async () => {
    const [triage] = (await call('limits?search=triage')).data;
    expect(triage).toMatchObject({
      state: 'exhausted',
      period: 'month',
      window_seconds: null,
      timezone: null,
      alert_thresholds: [50, 80, 100],
      owner: null,
    });
    expect((await call('limits?search=each')).data).toMatchObject([{ state: null, standing: null }]);
  });

  test('pages through limits of one state, each once', async () => {
    const seen: (string | null)[] = [];
    let cursor: string | null = '';
    while (cursor !== null) {
      const page: { data: { name: string | null }[]; next_cursor: string | null } = await call(
        `limits?state=ok&limit=3${cursor && `&cursor=${cursor}`}`,
      );
      expect(page.data.length).toBeLessThanOrEqual(3);
      seen.push(...page.data.map(({ name }) => name));
      cursor = page.next_cursor;
    }
    expect(seen).toEqual(['All', 'Research', 'Nightly', null]);
  });

  test.each([
    ['?state=full', 'state invalid_value'],
    ['?scope_kind=colour', 'scope_kind invalid_value'],
    ['?search=', 'search empty'],
  ])('rejects %s', async (query, fault) => {
    const { error } = await call(`limits${query}`);
    expect(
      error.details.fields.map((one: { field: string; code: string }) => `${one.field} ${one.code}`),
    ).toEqual([fault]);
  });
});
