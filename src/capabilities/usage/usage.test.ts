import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createWorld, type TestOrg, type World } from '../../../test/harness.ts';
import { Random } from '../../../test/support/ledger-values.ts';
import { invalid, refusalOf } from '../../../test/support/limits.ts';
import { formatUsd, parseUsd } from '../../kernel/money.ts';

let world: World;
beforeAll(async () => {
  world = await createWorld();
});
afterAll(() => world.close());

async function orgIn(timezone: string): Promise<TestOrg> {
  const org = await world.createOrg();
  await world.request('PATCH', `/v1/orgs/${org.id}`, { key: org.ownerKey, body: { timezone } });
  return org;
}

const usage = (org: TestOrg, query: string) =>
  world.request('GET', `/v1/orgs/${org.id}/usage${query}`, { key: org.ownerKey });
const run = (org: TestOrg, body: object) =>
  world.request('POST', '/v1/runs', { key: org.ownerKey, body: { model: 'm', ...body } });
const record = async (org: TestOrg, runs: object[]) => {
  const { status } = await world.request('POST', '/v1/runs/bulk?enforcement=record', {
    key: org.ownerKey,
    body: { runs: runs.map((body) => ({ model: 'm', ...body })) },
  });
  expect(status).toBe(201);
};

interface Row {
  readonly [field: string]: string | number | null;
}

/** Every page, as one. */
async function allRows(org: TestOrg, query: string, limit: number): Promise<Row[]> {
  const rows: Row[] = [];
  let cursor = '';
  for (;;) {
    const { status, json } = await usage(org, `${query}&limit=${limit}${cursor}`);
    expect(status).toBe(200);
    rows.push(...json.data);
    if (json.next_cursor === null) {
      return rows;
    }
    cursor = `&cursor=${json.next_cursor}`;
  }
}

describe('sums', () => {
  test('of nothing are nothing', async () => {
    const org = await world.createOrg();
    const nothing = {
      runs: 0,
      input_tokens: 0,
      cached_input_tokens: 0,
      cache_write_tokens: 0,
      output_tokens: 0,
      cost_usd: '0',
      value_usd: '0',
    };
    const { json } = await usage(org, '');
    expect(json).toEqual({
      from: '2026-10-16T00:00:00.000Z',
      to: '2026-11-15T12:15:00.000Z',
      timezone: 'UTC',
      total: nothing,
      data: [nothing],
      next_cursor: null,
    });
    expect((await usage(org, '?group_by=model')).json).toMatchObject({ total: nothing, data: [] });
  });

  test('carry tokens, cost with corrections and value, by what the runs were about', async () => {
    const org = await world.createOrg();
    const more = { input_tokens: 100, cached_input_tokens: 20, cache_write_tokens: 10, output_tokens: 5 };
    const first = await run(org, {
      ...more,
      cost_usd: '0.1',
      value_usd: '3',
      workflow: 'w',
      customer_id: 'c',
    });
    await run(org, { ...more, cost_usd: '0.000000001', workflow: 'w', model: 'n' });
    await run(org, { cost_usd: '2', status: 'failed' });
    await run(org, { status: 'running', estimated_cost_usd: '9' });
    await world.request('POST', `/v1/runs/${first.json.id}/adjustments`, {
      key: org.ownerKey,
      body: { amount_usd: '-0.04', reason: 'r' },
    });
    const { json } = await usage(org, '?group_by=workflow');
    const w = {
      runs: 2,
      input_tokens: 200,
      cached_input_tokens: 40,
      cache_write_tokens: 20,
      output_tokens: 10,
      cost_usd: '0.060000001',
      value_usd: '3',
    };
    const none = {
      runs: 1,
      input_tokens: 0,
      cached_input_tokens: 0,
      cache_write_tokens: 0,
      output_tokens: 0,
      cost_usd: '2',
      value_usd: '0',
    };
    expect(json.data).toEqual([
      { workflow: null, ...none },
      { workflow: 'w', ...w },
    ]);
    expect(json.total).toEqual({ ...w, runs: 3, cost_usd: '2.060000001' });
    const brief = async (query: string) =>
      (await usage(org, query)).json.data.map(({ runs, cost_usd, ...rest }: Row) => {
        const { model, status, customer_id, key_id } = rest;
        return [model, status, customer_id, key_id, runs, cost_usd].filter((value) => value !== undefined);
      });
    expect(await brief('?group_by=status,model')).toEqual([
      ['m', 'failed', 1, '2'],
      ['m', 'succeeded', 1, '0.06'],
      ['n', 'succeeded', 1, '0.000000001'],
    ]);
    expect(await brief('?group_by=key_id')).toEqual([[expect.stringMatching(/^key_/), 3, '2.060000001']]);
    expect(await brief('?group_by=model&workflow=w&customer_id=c')).toEqual([['m', 1, '0.06']]);
    expect(await brief('?status=failed')).toEqual([[1, '2']]);
    expect(await brief('?model=nobody')).toEqual([[0, '0']]);
  });

  test('of another org are its own', async () => {
    const [mine, theirs] = [await world.createOrg(), await world.createOrg()];
    await run(theirs, { cost_usd: '1' });
    expect((await usage(mine, '')).json.total.runs).toBe(0);
    const foreign = await world.request('GET', `/v1/orgs/${theirs.id}/usage`, { key: mine.ownerKey });
    expect(refusalOf(foreign)).toEqual([404, 'not_found']);
  });
});

describe('time', () => {
  test('days that daylight saving makes 25 and 23 hours long', async () => {
    const org = await orgIn('Europe/Berlin');
    // Summer time ends on 25 October 2026 and began on 29 March.
    const at = [
      '2026-10-24T21:59:59Z',
      '2026-10-24T22:00:00Z',
      '2026-10-25T00:30:00Z',
      '2026-10-25T01:30:00Z',
    ];
    const more = [
      '2026-10-25T22:59:59Z',
      '2026-10-25T23:00:00Z',
      '2026-03-28T23:00:00Z',
      '2026-03-29T21:59:59Z',
    ];
    await record(
      org,
      [...at, ...more].map((started_at, index) => ({ started_at, cost_usd: `${10 ** index}` })),
    );
    const range = 'from=2026-03-01T00:00:00Z&to=2026-11-01T00:00:00Z';
    const costs = async (groupBy: string, field: string) =>
      (await usage(org, `?group_by=${groupBy}&${range}&limit=200`)).json.data.map((row: Row) => [
        row[field],
        row.cost_usd,
      ]);
    expect(await costs('day', 'day')).toEqual([
      ['2026-03-29', '11000000'],
      ['2026-10-24', '1'],
      ['2026-10-25', '11110'],
      ['2026-10-26', '100000'],
    ]);
    expect(await costs('month', 'month')).toEqual([
      ['2026-03', '11000000'],
      ['2026-10', '111111'],
    ]);
    expect(await costs('hour', 'hour')).toEqual([
      ['2026-03-29T00:00:00.000+01:00', '1000000'],
      ['2026-03-29T23:00:00.000+02:00', '10000000'],
      ['2026-10-24T23:00:00.000+02:00', '1'],
      ['2026-10-25T00:00:00.000+02:00', '10'],
      // The same hour on the clock, twice.
      ['2026-10-25T02:00:00.000+02:00', '100'],
      ['2026-10-25T02:00:00.000+01:00', '1000'],
      ['2026-10-25T23:00:00.000+01:00', '10000'],
      ['2026-10-26T00:00:00.000+01:00', '100000'],
    ]);
  });

  test('hours of a time zone that is off by three quarters', async () => {
    const org = await orgIn('Asia/Kathmandu');
    await record(org, [
      { started_at: '2026-11-01T10:14:59Z', cost_usd: '1' },
      { started_at: '2026-11-01T10:15:00Z', cost_usd: '2' },
    ]);
    const { json } = await usage(org, '?group_by=hour');
    expect(json.data.map((row: Row) => [row.hour, row.cost_usd])).toEqual([
      ['2026-11-01T15:00:00.000+05:45', '1'],
      ['2026-11-01T16:00:00.000+05:45', '2'],
    ]);
  });

  test('a range begins and ends on quarters of an hour, and says so', async () => {
    const org = await world.createOrg();
    await record(org, [
      { started_at: '2026-11-01T10:00:00Z', cost_usd: '1' },
      { started_at: '2026-11-01T10:29:59Z', cost_usd: '2' },
      { started_at: '2026-11-01T10:30:00Z', cost_usd: '4' },
    ]);
    const between = async (from: string, to: string) => {
      const { json } = await usage(org, `?from=2026-11-01T${from}Z&to=2026-11-01T${to}Z`);
      return [json.from.slice(11, 19), json.to.slice(11, 19), json.total.cost_usd];
    };
    expect(await between('10:00:00', '10:30:00')).toEqual(['10:00:00', '10:30:00', '3']);
    expect(await between('10:14:59', '10:30:01')).toEqual(['10:00:00', '10:45:00', '7']);
    expect(await between('10:15:00', '10:20:00')).toEqual(['10:15:00', '10:30:00', '2']);
  });

  test('without `from`, 30 days back to the beginning of a day of the organization', async () => {
    const org = await orgIn('America/New_York');
    await record(org, [
      { started_at: '2026-10-16T03:59:59Z', cost_usd: '1' },
      { started_at: '2026-10-16T04:00:00Z', cost_usd: '2' },
      { started_at: '2026-11-15T12:04:00Z', cost_usd: '4' },
    ]);
    const { json } = await usage(org, '');
    expect([json.from, json.total.cost_usd]).toEqual(['2026-10-16T04:00:00.000Z', '6']);
  });

  test.each([
    ['UTC', 'from=2026-11-01T23:30:00Z&to=2026-11-12T00:15:00Z'],
    ['Europe/London', 'from=2026-10-20T11:45:00Z&to=2026-11-05T12:15:00Z'],
    ['Asia/Tokyo', 'from=2026-10-18T12:00:00Z&to=2026-11-15T12:15:00Z'],
    ['Pacific/Chatham', 'from=2026-10-31T00:15:00Z&to=2026-11-02T23:45:00Z'],
  ])('a range in %s holds what lies in it and nothing else', async (timezone, range) => {
    const org = await orgIn(timezone);
    const random = new Random(7);
    const [fromMs = 0, toMs = 0] = range.split('&').map((part) => Date.parse(part.split('=')[1] ?? ''));
    // Around both ends, on either side of them, and in between.
    const runs = Array.from({ length: 300 }, () => {
      const nearMs = random.of([fromMs, toMs, fromMs + random.int(toMs - fromMs)]);
      const atMs = Math.min(nearMs + (random.int(60) - 30) * 1_800_000, world.clock.now().getTime());
      return { atMs, cost: BigInt(random.int(1_000_000_000)), workflow: `w${random.int(4)}` };
    });
    await record(
      org,
      runs.map(({ atMs, cost, workflow }) => ({
        started_at: new Date(atMs).toISOString(),
        cost_usd: formatUsd(cost),
        workflow,
      })),
    );
    const inside = runs.filter(({ atMs }) => fromMs <= atMs && atMs < toMs);
    const local = new Intl.DateTimeFormat('sv', { timeZone: timezone, dateStyle: 'short' });
    const expected = (nameOf: (one: (typeof runs)[number]) => string) =>
      [...new Set(inside.map(nameOf))]
        .map((name) => {
          const of = inside.filter((one) => nameOf(one) === name);
          return `${name}: ${of.length} at ${formatUsd(of.reduce((sum, { cost }) => sum + cost, 0n))}`;
        })
        .sort();
    const seen = async (...names: string[]) =>
      (await allRows(org, `?${range}&group_by=${names.join()}`, 100))
        .map((row) => `${names.map((name) => row[name]).join(' ')}: ${row.runs} at ${row.cost_usd}`)
        .sort();
    expect(await seen('workflow')).toEqual(expected(({ workflow }) => workflow));
    expect(await seen('day')).toEqual(expected(({ atMs }) => local.format(atMs)));
    expect(await seen('workflow', 'month')).toEqual(
      expected(({ atMs, workflow }) => `${workflow} ${local.format(atMs).slice(0, 7)}`),
    );
    expect(await seen('day', 'month')).toEqual(
      expected(({ atMs }) => `${local.format(atMs)} ${local.format(atMs).slice(0, 7)}`),
    );
    const { total } = (await usage(org, `?${range}`)).json;
    expect(`all: ${total.runs} at ${total.cost_usd}`).toBe(expected(() => 'all')[0]);
  });

  test('every day, hour and customer of a random year adds up to the ledger, to the last digit', async () => {
    const seed = 20261115;
    const random = new Random(seed);
    const org = await orgIn('America/New_York');
    const beginMs = Date.parse('2025-11-20T00:00:00Z');
    const runs = Array.from({ length: 400 }, () => ({
      started_at: new Date(beginMs + random.int(31_000_000) * 1_000 + random.int(1_000)).toISOString(),
      cost_usd: formatUsd(BigInt(random.int(2_000_000_000))),
      customer_id: `c${random.int(30)}`,
      input_tokens: random.int(1_000),
    }));
    await record(org, runs);
    for (let i = 0; i < 10; i += 1) {
      const { json } = await run(org, { cost_usd: '1', customer_id: 'c0' });
      await world.request('POST', `/v1/runs/${json.id}/adjustments`, {
        key: org.ownerKey,
        body: { amount_usd: `-0.${random.int(999_999_999)}`, reason: 'r' },
      });
    }
    const entries = await world.db.query<{ charged_at: Date; usd_nanos: bigint; customer_id: string }>(
      'SELECT charged_at, usd_nanos, customer_id FROM ledger_entries WHERE org_id = $1',
      [org.id],
    );
    // Not the way it is computed in the service.
    const local = new Intl.DateTimeFormat('sv', { timeZone: 'America/New_York', dateStyle: 'short' });
    const expected = (nameOf: (entry: (typeof entries)[number]) => string) => {
      const sums = new Map<string, bigint>();
      for (const entry of entries) {
        sums.set(nameOf(entry), (sums.get(nameOf(entry)) ?? 0n) + entry.usd_nanos);
      }
      return [...sums].map(([name, nanos]) => `${name} ${formatUsd(nanos)}`).sort();
    };
    const range = '&from=2025-11-15T00:00:00Z&to=2026-11-16T00:00:00Z';
    const seen = async (groupBy: string, ...names: string[]) =>
      (await allRows(org, `?group_by=${groupBy}${range}`, 37))
        .map((row) => `${names.map((name) => row[name]).join(' ')} ${row.cost_usd}`)
        .sort();
    expect(entries, `seed ${seed}`).toHaveLength(420);
    expect(await seen('day', 'day')).toEqual(expected(({ charged_at }) => local.format(charged_at)));
    expect(await seen('month', 'month')).toEqual(
      expected(({ charged_at }) => local.format(charged_at).slice(0, 7)),
    );
    expect(await seen('customer_id', 'customer_id')).toEqual(expected(({ customer_id }) => customer_id));
    expect(await seen('customer_id,day', 'day', 'customer_id')).toEqual(
      expected(({ charged_at, customer_id }) => `${local.format(charged_at)} ${customer_id}`),
    );
    const hours = await allRows(org, `?group_by=hour${range}`, 200);
    const { total } = (await usage(org, `?limit=1${range}`)).json;
    const nanosOf = (rows: Row[]) =>
      rows.reduce((sum, { cost_usd }) => sum + (parseUsd(String(cost_usd)) ?? 0n), 0n);
    expect(formatUsd(nanosOf(hours))).toBe(total.cost_usd);
    expect(total.cost_usd).toBe(formatUsd(entries.reduce((sum, { usd_nanos }) => sum + usd_nanos, 0n)));
    expect(total.runs).toBe(410);
  });
});

describe('pages', () => {
  test('go by cost, the largest first, and by value where that is equal', async () => {
    const org = await world.createOrg();
    for (const [model, cost_usd] of [
      ['a', '1'],
      ['b', '3'],
      ['c', '1'],
      ['d', '2'],
      ['e', '1'],
    ]) {
      await run(org, { model, cost_usd });
    }
    const rows = await allRows(org, '?group_by=model', 2);
    expect(rows.map(({ model }) => model).join('')).toBe('bdace');
    const { json } = await usage(org, '?group_by=model&limit=2');
    expect(json.total.cost_usd).toBe('8');
  });

  test('a cursor is only good for the groups it was made for', async () => {
    const org = await world.createOrg();
    await run(org, { model: 'a', cost_usd: '1' });
    await run(org, { model: 'b', cost_usd: '1' });
    const { json } = await usage(org, '?group_by=model&limit=1');
    const faulty = invalid('cursor invalid_value');
    expect(refusalOf(await usage(org, `?group_by=workflow&cursor=${json.next_cursor}`))).toEqual(faulty);
    for (const forged of [
      '["model","[]",""]',
      '["model","[\\"1;\\",\\"a\\"]",""]',
      '["model","nonsense",""]',
      '7',
    ]) {
      const cursor = Buffer.from(forged).toString('base64url');
      expect(refusalOf(await usage(org, `?group_by=model&cursor=${cursor}`))).toEqual(faulty);
    }
  });
});

test.each([
  ['?group_by=colour', 'group_by invalid_value'],
  ['?group_by=model,', 'group_by invalid_value'],
  ['?group_by=model,model', 'group_by invalid_value'],
  ['?group_by=model,day,team', 'group_by too_many'],
  ['?from=2026-11-02T00:00:00Z&to=2026-11-01T00:00:00Z', 'to out_of_range'],
  ['?from=2026-11-01T00:00:00Z&to=2026-11-01T00:00:00Z', 'to out_of_range'],
  ['?from=2025-11-01T00:00:00Z&to=2026-11-02T00:00:01Z', 'to out_of_range'],
  ['?from=2025-01-01T00:00:00Z', 'to out_of_range'],
  ['?from=2199-12-31T00:00:00Z&to=2199-12-31T23:59:59Z', 'to out_of_range'],
  ['?to=1900-01-02T00:00:00Z', 'to out_of_range'],
  ['?from=yesterday', 'from invalid_format'],
  ['?limit=0', 'limit out_of_range'],
  ['?limit=201', 'limit out_of_range'],
  ['?colour=red', 'colour unknown_field'],
  ['?sort=model', 'sort unknown_field'],
])('%s is refused', async (query, fault) => {
  expect(refusalOf(await usage(await world.createOrg(), query))).toEqual(invalid(fault));
});

test('366 days are not too many', async () => {
  const org = await world.createOrg();
  expect((await usage(org, '?from=2025-11-01T00:00:00Z&to=2026-11-02T00:00:00Z')).status).toBe(200);
});
