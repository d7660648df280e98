import { describe, expect, test } from 'vitest';
import { useOrgPerTest, useWorld } from '../../../../test/harness.ts';
import { errorSummary, invalid } from '../../../../test/support/limits.ts';
import { daysOf, recordDays } from '../../../../test/support/usage-history.ts';

const world = useWorld();
const org = useOrgPerTest(world);

const get = (path: string, key = org.ownerKey) => world.request('GET', path, { key });
const record = (costs: readonly (string | undefined)[], body: object = {}) =>
  recordDays(world, org, costs, body);
const numbers = (days: { expected: string }[]) => days.map(({ expected }) => Number(expected));

describe('GET /v1/orgs/{id}/forecasts', () => {
  const ask = (query = '', of = org) => get(`/v1/orgs/${of.id}/forecasts${query}`, of.ownerKey);

  test('returns history, forecast, band and total', async () => {
    await record(daysOf(60, (day) => (day % 7 < 5 ? '100' : '20')));
    const { status, json } = await ask('?horizon_days=14');
    expect([status, json.measure, json.unit, json.horizon_days, json.coverage]).toEqual([
      200,
      'spend',
      'usd',
      14,
      0.8,
    ]);
    const [one] = json.data;
    expect(json.data).toHaveLength(1);
    expect([one.scope, one.quality, one.history.length, one.forecast.length]).toEqual([{}, 'good', 60, 14]);
    expect(one.history[0]).toEqual({ date: '2026-09-16', value: '100' });
    expect(one.today).toEqual({ date: '2026-11-15', value: '0' });
    expect(one.forecast[0].date).toBe('2026-11-15');
    const expected = daysOf(14, (day) => ((day + 60) % 7 < 5 ? '100' : '20')).map(Number);
    expect(numbers(one.forecast).map(Math.round)).toEqual(expected);
    expect(Number(one.total.expected)).toBeCloseTo(
      expected.reduce((a, b) => a + b, 0),
      1,
    );
    expect(Number(one.total.low)).toBeLessThanOrEqual(Number(one.total.expected));
    expect(one.backtest.days_ahead).toBe(14);
    expect(Number(one.backtest.mean_absolute_error)).toBeLessThan(1);
  });

  test('forecasts runs and tokens, one scope, and the largest groups', async () => {
    await record(
      daysOf(30, () => '1'),
      { workflow: 'a' },
    );
    await record(
      daysOf(30, () => '5'),
      { workflow: 'b', input_tokens: 900 },
    );
    await record(
      daysOf(30, () => '50'),
      {},
    );
    const first = async (query: string) => (await ask(query)).json.data[0];
    const runs = await first('?measure=runs&horizon_days=1');
    expect([runs.history[0].value, runs.forecast[0].expected]).toEqual(['3', '3']);
    const tokens = await first('?measure=tokens&workflow=b&horizon_days=1');
    expect([tokens.scope, tokens.forecast[0].expected]).toEqual([{ workflow: 'b' }, '910']);
    const groups = (await ask('?group_by=workflow&horizon_days=1')).json.data;
    expect(
      groups.map(({ scope, forecast }: { scope: object; forecast: { expected: string }[] }) => [
        scope,
        forecast[0]?.expected,
      ]),
    ).toEqual([
      [{ workflow: 'b' }, '5'],
      [{ workflow: 'a' }, '1'],
    ]);
    expect((await ask('?group_by=workflow&limit=1')).json.data).toHaveLength(1);
    expect((await ask('?group_by=team')).json.data).toEqual([]);
    expect((await first('?workflow=unknown')).method).toBe('none');
  });

  test('forecasts the spend on one kind of usage, and on the largest kinds', async () => {
    const counts = { input_tokens: 2_000_000, cached_input_tokens: 1_000_000, output_tokens: 0 };
    await record(
      daysOf(30, () => ''),
      { model: 'gpt-4o', ...counts, cost_usd: undefined },
    );
    await record(
      daysOf(30, () => '9'),
      {},
    );
    const kinds = (await ask('?group_by=kind&horizon_days=1')).json.data;
    expect(
      kinds.map(({ scope, forecast }: { scope: object; forecast: { expected: string }[] }) => [
        scope,
        forecast[0]?.expected,
      ]),
    ).toEqual([
      [{ kind: 'unsplit' }, '9'],
      [{ kind: 'input' }, '2.5'],
      [{ kind: 'cached_input' }, '1.25'],
    ]);
    const [cached] = (await ask('?kind=cached_input&horizon_days=1')).json.data;
    expect(cached).toEqual(kinds[2]);
    expect(cached.limits).toEqual([]);
  });

  test('handles an organization without history, and with one day of it', async () => {
    const empty = (await ask('?horizon_days=2')).json.data[0];
    expect(empty).toMatchObject({
      method: 'none',
      quality: 'none',
      backtest: null,
      history: [],
      total: { expected: '0', low: null, high: null },
      limits: [],
    });
    await record(['2.5']);
    const oneDay = (await ask('?horizon_days=2')).json.data[0];
    expect([oneDay.method, oneDay.quality]).toEqual(['mean', 'low']);
    expect(oneDay.total).toEqual({ expected: '5', low: null, high: null });
  });

  test('history is exact however large, and estimates have the same magnitude', async () => {
    await record(daysOf(10, () => '899999999.999999999'));
    const one = (await ask('?horizon_days=365')).json.data[0];
    expect(one.history[0].value).toBe('899999999.999999999');
    expect(Number(one.total.expected) / (365 * 9e8)).toBeCloseTo(1, 6);
    expect(one.total.expected).toMatch(/^\d+(\.\d{1,6})?$/);
  });

  test('uses the days of the organization’s time zone, also across a daylight saving change', async () => {
    await world.request('PATCH', `/v1/orgs/${org.id}`, {
      key: org.ownerKey,
      body: { timezone: 'America/New_York' },
    });
    // Noon UTC is 07:00 in New York, and was 08:00 until summer time ended on 1 November.
    await record(daysOf(30, () => '1'));
    const one = (await ask('?horizon_days=3')).json.data[0];
    expect(one.history.map(({ value }: { value: string }) => value)).toEqual(Array(30).fill('1'));
    expect(one.history[0].date).toBe('2026-10-16');
  });

  describe('limits', () => {
    const limit = async (path: string, body: object, method = 'POST') => {
      const answer = await world.request(method, `/v1/orgs/${org.id}/${path}`, { key: org.ownerKey, body });
      expect(answer.status).toBeLessThan(300);
      return answer.json.id as string;
    };
    const outlookOf = async (query: string, id: string) =>
      (await ask(query)).json.data[0].limits.find((one: { limit_id: string }) => one.limit_id === id);

    test('returns the day on which a budget runs out', async () => {
      await record(daysOf(28, () => '10'));
      // The first fourteen days of this month cost $10 each; today and fifteen more days follow.
      const small = await limit('budgets', {
        name: 's',
        scope_kind: 'org',
        period: 'month',
        limit_usd: '200',
      });
      const large = await limit('budgets', {
        name: 'l',
        scope_kind: 'org',
        period: 'month',
        limit_usd: '400',
      });
      const tight = await limit('budgets', {
        name: 't',
        scope_kind: 'org',
        period: 'month',
        limit_usd: '140',
      });
      // $60 are left. The second half of today costs $5, each later day $10: they are used up on the sixth day after
      // today.
      expect(await outlookOf('', small)).toMatchObject({
        limit: '200',
        used: '140',
        window_end: '2026-12-01T00:00:00.000Z',
        runs_out_on: '2026-11-21',
        runs_out_in_window: true,
        expected_at_window_end: '295',
      });
      expect(await outlookOf('', large)).toMatchObject({ runs_out_on: null, runs_out_in_window: false });
      expect(await outlookOf('', tight)).toMatchObject({
        runs_out_on: '2026-11-15',
        earliest_on: '2026-11-15',
      });
      // A budget of $299 lasts for this month, but not for the next: December costs $310.
      const later = await limit('budgets', {
        name: 'd',
        scope_kind: 'org',
        period: 'month',
        limit_usd: '299',
      });
      expect(await outlookOf('?horizon_days=60', later)).toMatchObject({
        runs_out_on: '2026-12-30',
        runs_out_in_window: false,
      });
    });

    test('lists only limits that count exactly this scope and unit', async () => {
      await record(
        daysOf(28, () => '10'),
        { workflow: 'w', customer_id: 'c' },
      );
      await limit('spend-cap', { cap_usd: '9' }, 'PUT');
      await limit('budgets', {
        name: 'w',
        scope_kind: 'workflow',
        scope_id: 'w',
        period: 'day',
        limit_usd: '100',
      });
      await limit('customer-limits', { customer_id: '*', period: 'month', limit_usd: '150' });
      const kindsOf = async (query: string) =>
        (await ask(query)).json.data[0].limits.map(({ kind }: { kind: string }) => kind);
      expect(await kindsOf('')).toEqual(['spend_cap']);
      expect(await kindsOf('?workflow=w')).toEqual(['budget']);
      expect(await kindsOf('?workflow=other')).toEqual([]);
      expect(await kindsOf('?measure=runs')).toEqual([]);
      const [forEach] = (await ask('?customer_id=c')).json.data[0].limits;
      expect(forEach).toMatchObject({ kind: 'customer', used: '140', runs_out_on: '2026-11-16' });
      // The total of today stays below the daily cap, that of tomorrow does not.
      const [cap] = (await ask('')).json.data[0].limits;
      expect(cap).toMatchObject({ runs_out_on: '2026-11-16', runs_out_in_window: false });
    });

    test('packs run out one after the other, and a prepaid balance without renewal', async () => {
      await record(
        daysOf(28, () => '10'),
        { customer_id: 'c' },
      );
      const second = await limit('credit-packs', { customer_id: 'c', amount_usd: '20' });
      const first = await limit('credit-packs', {
        customer_id: 'c',
        amount_usd: '20',
        expires_at: '2026-12-31T00:00:00Z',
      });
      expect(await outlookOf('?customer_id=c', first)).toMatchObject({
        runs_out_on: '2026-11-17',
        window_end: null,
        expires_at: '2026-12-31T00:00:00.000Z',
      });
      expect(await outlookOf('?customer_id=c', second)).toMatchObject({ runs_out_on: '2026-11-19' });
      for (const [method, path, body] of [
        ['PUT', 'prepaid', { enabled: true }],
        ['POST', 'prepaid/top-ups', { amount_usd: '31' }],
      ] as const) {
        await world.request(method, `/v1/admin/orgs/${org.id}/${path}`, { key: world.operatorKey, body });
      }
      const [balance] = (await ask('')).json.data[0].limits;
      expect(balance).toMatchObject({ kind: 'prepaid', runs_out_on: '2026-11-18', runs_out_in_window: true });
    });
  });

  test.each([
    ['?measure=money', 'measure invalid_value'],
    ['?horizon_days=0', 'horizon_days out_of_range'],
    ['?horizon_days=366', 'horizon_days out_of_range'],
    ['?history_days=731', 'history_days out_of_range'],
    ['?limit=21', 'limit out_of_range'],
    ['?group_by=tag', 'group_by invalid_value'],
    ['?team=a&model=m', 'team too_many'],
    ['?team=a&kind=output', 'kind too_many'],
    ['?kind=outputs', 'kind invalid_value'],
    ['?kind=output&measure=tokens', 'measure invalid_value'],
    ['?team=a&group_by=model', 'team too_many'],
    ['?scope=a', 'scope unknown_field'],
  ])('rejects %s', async (query, fault) => {
    expect(errorSummary(await ask(query))).toEqual(invalid(fault));
  });
});
