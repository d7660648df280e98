import { describe, expect, test } from 'vitest';
import { type TestOrg, useWorld } from '../../../../test/harness.ts';

const world = useWorld();

const operator = (method: string, path: string, body?: object) =>
  world.request(method, `/v1/admin${path}`, { key: world.operatorKey, ...(body && { body }) });
const own = (org: TestOrg, method: string, path: string, body?: object) =>
  world.request(method, path.startsWith('/v1') ? path : `/v1/orgs/${org.id}${path}`, {
    key: org.ownerKey,
    ...(body && { body }),
  });
const spend = (org: TestOrg, cost_usd: string) => own(org, 'POST', '/v1/runs', { model: 'm', cost_usd });
const summaryOf = async (org: TestOrg) => (await operator('GET', `/orgs/${org.id}/summary`)).json;
const listed = async (query = '') => (await operator('GET', `/org-summaries?${query}`)).json.data;
const storedOf = async (org: TestOrg) =>
  (await listed('limit=200')).find(({ id }: { id: string }) => id === org.id);

describe('the summary of an organization', () => {
  test('the summary of an organization has the spend and runs of the month, the balance, the nearest limit and the last activity', async () => {
    const org = await world.createOrg();
    expect(await summaryOf(org)).toMatchObject({
      id: org.id,
      status: 'active',
      month_start: '2026-11-01T00:00:00.000Z',
      spend_usd: '0',
      runs: 0,
      prepaid_balance_usd: null,
      nearest_limit: null,
      as_of: world.clock.now().toISOString(),
    });
    await own(org, 'POST', '/budgets', { name: 'All', scope_kind: 'org', period: 'month', limit_usd: '40' });
    await own(org, 'PUT', '/spend-cap', { cap_usd: '100' });
    await operator('PUT', `/orgs/${org.id}/prepaid`, { enabled: true });
    await operator('POST', `/orgs/${org.id}/prepaid/top-ups`, { amount_usd: '50' });
    await spend(org, '10.5');
    await spend(org, '0.25');
    expect(await summaryOf(org)).toMatchObject({
      spend_usd: '10.75',
      runs: 2,
      prepaid_balance_usd: '39.25',
      // 10.75 of 40, rounded down; of the balance 21 %, of the cap 10 %.
      nearest_limit: { kind: 'budget', used_percent: 26 },
      last_active_at: expect.stringMatching(/^2026-11-/),
    });
  });

  test('the summary of an organization counts open holds in the limits, and a limit of a part of the organization not at all', async () => {
    const org = await world.createOrg();
    await own(org, 'POST', '/budgets', {
      name: 'Secret project',
      scope_kind: 'team',
      scope_id: 'web',
      period: 'month',
      limit_usd: '1',
    });
    await own(org, 'POST', '/budgets', { name: 'All', scope_kind: 'org', period: 'day', limit_usd: '10' });
    await own(org, 'POST', '/v1/edge/decision', { model: 'm', estimated_cost_usd: '9', team: 'web' });
    const summary = await summaryOf(org);
    expect(summary.nearest_limit).toEqual({ kind: 'budget', used_percent: expect.any(Number) });
    expect(JSON.stringify(summary)).not.toContain('Secret project');
  });

  test('the summary of an organization has the month of the time zone of the organization', async () => {
    const org = await world.createOrg();
    await own(org, 'PATCH', '', { timezone: 'Asia/Tokyo' });
    expect((await summaryOf(org)).month_start).toBe('2026-10-31T15:00:00.000Z');
  });

  test('the summary of an organization is for operators, of an organization that exists', async () => {
    const org = await world.createOrg();
    for (const path of ['/v1/admin/org-summaries', `/v1/admin/orgs/${org.id}/summary`]) {
      expect((await own(org, 'GET', path)).json.error.code).toBe('forbidden');
      expect((await world.request('GET', path)).json.error.code).toBe('unauthorized');
    }
    expect((await operator('GET', '/orgs/org_none/summary')).json.error.code).toBe('not_found');
  });
});

describe('the list of summaries', () => {
  test('the list of summaries has the figures that the job has stored, and refreshes those of organizations in use', async () => {
    const org = await world.createOrg();
    expect(await storedOf(org)).toMatchObject({ spend_usd: '0', as_of: null, last_active_at: null });
    await spend(org, '3');
    await world.runJob('summarize-orgs');
    const first = await storedOf(org);
    expect(first).toMatchObject({ spend_usd: '3', runs: 1, as_of: world.clock.now().toISOString() });
    await spend(org, '1');
    await world.runJob('summarize-orgs');
    expect(await storedOf(org)).toEqual(first);
    world.clock.advanceSeconds(301);
    await world.runJob('summarize-orgs');
    expect(await storedOf(org)).toMatchObject({ spend_usd: '4', runs: 2 });
  });

  test('refreshes an idle organization every hour', async () => {
    const org = await world.createOrg();
    await world.runJob('summarize-orgs');
    const { as_of } = await storedOf(org);
    world.clock.advanceSeconds(1_800);
    await world.runJob('summarize-orgs');
    expect((await storedOf(org)).as_of).toBe(as_of);
    world.clock.advanceSeconds(1_801);
    await world.runJob('summarize-orgs');
    expect((await storedOf(org)).as_of).toBe(world.clock.now().toISOString());
  });

  test('an organization whose figures cannot be computed does not delay the others', async () => {
    const [broken, healthy] = [await world.createOrg(), await world.createOrg()];
    const setTimezone = (timezone: string) =>
      world.db.query('UPDATE orgs SET timezone = $2 WHERE id = $1', [broken.id, timezone]);
    await setTimezone('Nowhere/Unknown');
    const summarize = () => world.runJob('summarize-orgs');
    await expect(summarize()).rejects.toThrow('1 organizations could not be summarized');
    // Left out for five minutes.
    await summarize();
    world.clock.advanceSeconds(301);
    await expect(summarize()).rejects.toThrow('1 organizations could not be summarized');
    await setTimezone('UTC');
    expect(await storedOf(healthy)).toMatchObject({ as_of: expect.any(String) });
    expect(await storedOf(broken)).toMatchObject({ as_of: null });
    world.clock.advanceSeconds(301);
    await summarize();
    expect(await storedOf(broken)).toMatchObject({ as_of: world.clock.now().toISOString() });
  });

  test('the list of summaries has the largest amount of 64 bits for more than that, of which the summary is exact', async () => {
    const org = await world.createOrg();
    await own(org, 'POST', '/budgets', { name: 'All', scope_kind: 'org', period: 'month', limit_usd: '40' });
    const runs = [1, 2].map((day) => ({
      model: 'm',
      cost_usd: '8999999999',
      started_at: new Date(Date.UTC(2026, 10, day)).toISOString(),
    }));
    await own(org, 'POST', '/v1/runs/bulk?enforcement=record', { runs });
    const nearest_limit = { kind: 'budget', used_percent: 44_999_999_995 };
    expect(await summaryOf(org)).toMatchObject({ spend_usd: '17999999998', runs: 2, nearest_limit });
    await world.runJob('summarize-orgs');
    expect(await storedOf(org)).toMatchObject({ spend_usd: '9223372036.854775807', runs: 2, nearest_limit });
  });

  test('shows no spend of last month in a new month, before and after the refresh', async () => {
    const org = await world.createOrg();
    await spend(org, '7');
    await world.runJob('summarize-orgs');
    expect((await storedOf(org)).spend_usd).toBe('7');
    world.clock.advanceSeconds(31 * 86_400);
    const fresh = await storedOf(org);
    expect([fresh.spend_usd, fresh.runs, fresh.month_start]).toEqual(['0', 0, '2026-12-01T00:00:00.000Z']);
    await world.runJob('summarize-orgs');
    expect(await storedOf(org)).toMatchObject({ spend_usd: '0', as_of: world.clock.now().toISOString() });
  });

  test('the list of summaries is found by a part of the name, slug or id, in any case, and sorted by each figure without gaps', async () => {
    const names = ['Alder Works', 'alder mill', 'Birch 100%_'];
    const orgs = await Promise.all(names.map((name) => world.createOrg(name)));
    for (const [index, org] of orgs.entries()) {
      await spend(org, String(index + 1));
    }
    await world.runJob('summarize-orgs');
    const found = async (query: string) => (await listed(query)).map(({ name }: { name: string }) => name);
    expect(await found('search=ALDER&sort=name')).toHaveLength(2);
    expect(await found('search=0%25_')).toEqual(['Birch 100%_']);
    expect(await found(`search=${orgs[1]?.id}`)).toEqual(['alder mill']);
    expect(await found('search=none-of-them')).toEqual([]);
    for (const sort of ['spend_usd', 'runs', 'used_percent', 'last_active_at', 'name', 'created_at']) {
      const all = await found(`sort=-${sort}&limit=200`);
      const seen: string[] = [];
      let cursor: string | null = '';
      while (cursor !== null) {
        const page: { data: { name: string }[]; next_cursor: string | null } = (
          await operator('GET', `/org-summaries?sort=-${sort}&limit=2${cursor && `&cursor=${cursor}`}`)
        ).json;
        seen.push(...page.data.map(({ name }) => name));
        cursor = page.next_cursor;
      }
      expect([sort, seen]).toEqual([sort, all]);
    }
    const [highest] = await found('sort=-spend_usd&search=alder');
    expect(highest).toBe('alder mill');
    expect((await operator('GET', '/org-summaries?sort=balance')).status).toBe(422);
  });

  test('loses a removed organization, with its figures', async () => {
    const org = await world.createOrg();
    await world.runJob('summarize-orgs');
    await operator('POST', `/orgs/${org.id}/suspend`);
    expect(await storedOf(org)).toMatchObject({ status: 'suspended' });
    await operator('DELETE', `/orgs/${org.id}`);
    expect(await storedOf(org)).toBeUndefined();
    await world.runJob('purge-removed-orgs');
    world.clock.advanceSeconds(3_700);
    await world.runJob('summarize-orgs');
    const rows = await world.db.query('SELECT 1 AS one FROM org_summaries WHERE org_id = $1', [org.id]);
    expect(rows).toEqual([]);
  });
});
