import { describe, expect, test } from 'vitest';
import { type TestOrg, useWorld } from '../../../../test/harness.ts';
import { eventually } from '../../../../test/support/eventually.ts';
import { Random } from '../../../../test/support/ledger-values.ts';
import { errorSummary, invalid } from '../../../../test/support/limits.ts';
import { isCitus } from '../../../../test/support/test-database.ts';
import { formatUsd, parseUsd } from '../../../kernel/money.ts';
import { DatabaseUnavailable } from '../../../platform/db/database.ts';
import { readMigrations } from '../../../platform/db/migrate.ts';
import { createUsageExport } from './export.ts';
import { createSpooledExports, exportRowsMax, exportsMax, exportsPerOrgMax } from './spooled-exports.ts';

const world = useWorld();

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

/** Reads all pages. Returns their rows. */
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
  test('sums of usage are zero without runs', async () => {
    const org = await world.createOrg();
    const nothing = {
      runs: 0,
      failed_runs: 0,
      failure_rate: null,
      input_tokens: 0,
      cached_input_tokens: 0,
      cache_write_tokens: 0,
      output_tokens: 0,
      cost_usd: '0',
      value_usd: '0',
      return_usd: '0',
      return_ratio: null,
      latency_p50_ms: null,
      latency_p90_ms: null,
      latency_p95_ms: null,
      latency_p99_ms: null,
      cache_savings_usd: '0',
      quantity: null,
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

  test('include tokens, cost with corrections and value, by dimension', async () => {
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
    const untimed = {
      latency_p50_ms: null,
      latency_p90_ms: null,
      latency_p95_ms: null,
      latency_p99_ms: null,
      cache_savings_usd: '0',
      quantity: null,
    };
    const w = {
      ...untimed,
      runs: 2,
      failed_runs: 0,
      failure_rate: 0,
      return_usd: '2.939999999',
      return_ratio: 48.999999,
      input_tokens: 200,
      cached_input_tokens: 40,
      cache_write_tokens: 20,
      output_tokens: 10,
      cost_usd: '0.060000001',
      value_usd: '3',
    };
    const none = {
      ...untimed,
      runs: 1,
      failed_runs: 1,
      failure_rate: 1,
      return_usd: '-2',
      return_ratio: -1,
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
    expect(json.total).toEqual({
      ...w,
      runs: 3,
      failed_runs: 1,
      failure_rate: 0.333333,
      cost_usd: '2.060000001',
      return_usd: '0.939999999',
      return_ratio: 0.456311,
    });
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

  test('sums of usage can be grouped by tag, alone or with another dimension, and filtered by tag', async () => {
    const org = await world.createOrg();
    const tagged = (cost_usd: string, tags: object | undefined, model = 'm') =>
      run(org, { cost_usd, model, ...(tags && { tags }) });
    await tagged('1', { env: 'prod', release: 'v1' });
    const corrected = await tagged('2', { release: 'v2', env: 'prod' });
    await tagged('4', { env: 'test' }, 'n');
    await tagged('8', undefined);
    const { json: open } = await run(org, {
      status: 'running',
      estimated_cost_usd: '16',
      tags: { env: 'prod' },
    });
    await world.request('POST', `/v1/runs/${open.id}/complete`, {
      key: org.ownerKey,
      body: { cost_usd: '16' },
    });
    await world.request('POST', `/v1/runs/${corrected.json.id}/adjustments`, {
      key: org.ownerKey,
      body: { amount_usd: '-0.5', reason: 'r' },
    });
    const brief = async (query: string) =>
      (await allRows(org, query, 2)).map(({ tags, model, cost_usd }: Row) => [tags, model, cost_usd]);
    expect(await brief('?group_by=tag:env')).toEqual([
      [{ env: 'prod' }, undefined, '18.5'],
      [{ env: null }, undefined, '8'],
      [{ env: 'test' }, undefined, '4'],
    ]);
    expect(await brief('?group_by=model,tag:env')).toEqual([
      [{ env: 'prod' }, 'm', '18.5'],
      [{ env: null }, 'm', '8'],
      [{ env: 'test' }, 'n', '4'],
    ]);
    expect(await brief('?group_by=tag:release,tag:env&tag=env%3Dprod')).toEqual([
      [{ env: 'prod', release: null }, undefined, '16'],
      [{ env: 'prod', release: 'v2' }, undefined, '1.5'],
      [{ env: 'prod', release: 'v1' }, undefined, '1'],
    ]);
    expect((await usage(org, '?tag=env%3Dprod')).json.total).toMatchObject({ runs: 3, cost_usd: '18.5' });
    expect((await usage(org, '?group_by=tag:nobody')).json.data).toMatchObject([
      { tags: { nobody: null }, runs: 5 },
    ]);
  });

  test('include latency percentiles of any group and range, within five percent', async () => {
    const org = await world.createOrg();
    const random = new Random(5);
    const runs = Array.from({ length: 600 }, (_, index) => ({
      started_at: new Date(Date.parse('2026-11-01T00:00:00Z') + random.int(10 * 86_400_000)).toISOString(),
      cost_usd: '0.1',
      model: `m${index % 3}`,
      latency_ms: Math.ceil(10 ** (random.int(5_000) / 1_000)),
    }));
    await record(org, runs);
    await run(org, { cost_usd: '1', model: 'untimed' });
    const off = (row: Row, of: typeof runs) => {
      const sorted = of.map(({ latency_ms }) => latency_ms).sort((a, b) => a - b);
      return [50, 90, 95, 99].map((part) => {
        const exact = sorted[Math.ceil((part / 100) * sorted.length) - 1] ?? 0;
        return Math.abs(Number(row[`latency_p${part}_ms`]) - exact) / exact;
      });
    };
    const ranges = ['from=2026-11-01T00:00:00Z', 'from=2026-11-02T13:45:00Z&to=2026-11-08T07:15:00Z'];
    for (const range of ranges) {
      const [fromMs = 0, toMs = Number.POSITIVE_INFINITY] = range
        .split('&')
        .map((part) => Date.parse(part.split('=')[1] ?? ''));
      const inside = runs.filter(({ started_at }) => {
        const atMs = Date.parse(started_at);
        return fromMs <= atMs && atMs < toMs;
      });
      const { json } = await usage(org, `?${range}&group_by=model&limit=1`);
      const errors = [
        ...off(json.total, inside),
        ...off((await usage(org, `?${range}`)).json.total, inside),
        ...(await allRows(org, `?${range}&group_by=model`, 2)).flatMap((row) =>
          row.model === 'untimed'
            ? []
            : off(
                row,
                inside.filter(({ model }) => model === row.model),
              ),
        ),
        ...(await allRows(org, `?${range}&group_by=day,model&model=m1`, 3)).flatMap((row) =>
          off(
            row,
            inside.filter(
              ({ model, started_at }) => model === 'm1' && started_at.startsWith(String(row.day)),
            ),
          ),
        ),
      ];
      expect(errors.length).toBeGreaterThan(40);
      expect(Math.max(...errors)).toBeLessThan(0.05);
    }
    const { json } = await usage(org, '?group_by=model&model=untimed');
    expect(json.data[0].latency_p50_ms).toBeNull();
  });

  test('keep percentiles and little space over many batches of one scope', async () => {
    const org = await world.createOrg();
    const latencies = Array.from({ length: 40 }, (_, batch) =>
      Array.from({ length: 12 }, (_, i) => Math.ceil(1.3 ** ((batch * 7 + i * 5) % 40))),
    );
    for (const batch of latencies) {
      await record(
        org,
        batch.map((latency_ms) => ({ latency_ms, cost_usd: '0' })),
      );
    }
    const sorted = latencies.flat().sort((a, b) => a - b);
    const { latency_p50_ms, latency_p99_ms } = (await usage(org, '?group_by=model')).json.data[0];
    for (const [told, part] of [
      [latency_p50_ms, 0.5],
      [latency_p99_ms, 0.99],
    ]) {
      const exact = sorted[Math.ceil(part * sorted.length) - 1] ?? 0;
      expect(Math.abs(told - exact)).toBeLessThanOrEqual(exact * 0.05 + 0.5);
    }
    for (const table of ['usage_rollups', 'usage_days', 'usage_totals']) {
      const [row] = await world.db.query<{ bytes: number }>(
        `SELECT max(octet_length(latencies)) AS bytes FROM ${table} WHERE org_id = $1`,
        [org.id],
      );
      expect(row?.bytes, table).toBeLessThanOrEqual(1_024);
    }
  });

  test('do not include other orgs', async () => {
    const [mine, theirs] = [await world.createOrg(), await world.createOrg()];
    await run(theirs, { cost_usd: '1' });
    expect((await usage(mine, '')).json.total.runs).toBe(0);
    const foreign = await world.request('GET', `/v1/orgs/${theirs.id}/usage`, { key: mine.ownerKey });
    expect(errorSummary(foreign)).toEqual([404, 'not_found']);
  });
});

describe('time', () => {
  test('handles days of 25 and 23 hours', async () => {
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
      // The clock shows this hour twice.
      ['2026-10-25T02:00:00.000+02:00', '100'],
      ['2026-10-25T02:00:00.000+01:00', '1000'],
      ['2026-10-25T23:00:00.000+01:00', '10000'],
      ['2026-10-26T00:00:00.000+01:00', '100000'],
    ]);
  });

  test('handles a time zone with an offset of 45 minutes', async () => {
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

  test('rounds the range to 15-minute buckets, and returns the rounded range', async () => {
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

  test('without `from`, starts 30 days back at the start of a day of the organization', async () => {
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
  ])('a range in %s contains exactly the runs in it', async (timezone, range) => {
    const org = await orgIn(timezone);
    const random = new Random(7);
    const [fromMs = 0, toMs = 0] = range.split('&').map((part) => Date.parse(part.split('=')[1] ?? ''));
    // Times just before and after both ends of the range, and in between.
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

  test('every day, hour and customer of a random year adds up to the ledger exactly', async () => {
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
    // Computed independently of the service.
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
    // Computed independently of the service too: New York is whole hours from UTC.
    const hourOf = ({ charged_at }: { charged_at: Date }) => Math.floor(charged_at.getTime() / 3_600_000);
    const byHour = (await allRows(org, `?group_by=customer_id,hour${range}`, 200)).map(
      (row) => `${Date.parse(String(row.hour)) / 3_600_000} ${row.customer_id} ${row.cost_usd}`,
    );
    expect(byHour.sort()).toEqual(expected((entry) => `${hourOf(entry)} ${entry.customer_id}`));
    const ofOne = (await allRows(org, `?group_by=day,hour&customer_id=c0${range}`, 10)).map(
      (row) => `${row.day} ${Date.parse(String(row.hour)) / 3_600_000} ${row.cost_usd}`,
    );
    const ofOneInAll = expected(
      (entry) => `${local.format(entry.charged_at)} ${hourOf(entry)} ${entry.customer_id}`,
    );
    expect(ofOne.sort()).toEqual(
      ofOneInAll.filter((line) => line.includes(' c0 ')).map((line) => line.replace(' c0 ', ' ')),
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

// Databases are distributed after these migrations.
test.skipIf(isCitus)('migrates postings from before latencies and totals existed, once', async () => {
  const org = await world.createOrg();
  const random = new Random(3);
  await record(
    org,
    Array.from({ length: 200 }, (_, index) => ({
      started_at: new Date(Date.parse('2026-11-01T00:00:00Z') + random.int(3 * 86_400_000)).toISOString(),
      cost_usd: formatUsd(BigInt(random.int(1_000_000_000))),
      workflow: `w${index % 3}`,
      status: index % 7 === 0 ? 'failed' : 'succeeded',
      latency_ms: 1 + random.int(60_000),
    })),
  );
  const answers = () =>
    Promise.all(
      ['?group_by=workflow', '?group_by=hour&limit=200', '?from=2026-11-01T10:00:00Z&group_by=workflow'].map(
        async (query) => (await usage(org, query)).json,
      ),
    );
  const before = await answers();
  for (const table of ['usage_rollups', 'usage_days']) {
    await world.db.query(`UPDATE ${table} SET latencies = '' WHERE org_id = $1`, [org.id]);
  }
  await world.db.query('DELETE FROM usage_totals WHERE org_id = $1', [org.id]);
  expect(await answers()).not.toEqual(before);
  const migration = (await readMigrations()).find(({ name }) => name === '0017_usage_insight.sql');
  for (let time = 0; time < 2; time += 1) {
    await world.db.query(migration?.sql ?? '');
    expect(await answers()).toEqual(before);
  }
});

describe('compared with the previous period', () => {
  test('uses as many months, days or hours, group by group', async () => {
    const org = await orgIn('Europe/Berlin');
    await record(org, [
      // September has 30 days, October has 31 days and one more hour. Both begin at 22:00 UTC on the evening before.
      { started_at: '2026-08-31T22:00:00Z', cost_usd: '1', workflow: 'a' },
      { started_at: '2026-09-02T10:00:00Z', cost_usd: '1', workflow: 'gone', latency_ms: 50 },
      { started_at: '2026-09-30T22:00:00Z', cost_usd: '3', workflow: 'a' },
      { started_at: '2026-10-02T10:00:00Z', cost_usd: '1', workflow: 'new' },
    ]);
    const october = 'from=2026-09-30T22:00:00Z&to=2026-10-31T23:00:00Z&compare=previous';
    const { json } = await usage(org, `?group_by=workflow&${october}`);
    expect(json.previous).toEqual({ from: '2026-08-31T22:00:00.000Z', to: '2026-09-30T22:00:00.000Z' });
    expect(json.total).toMatchObject({
      cost_usd: '4',
      previous: { cost_usd: '2', runs: 2, latency_p50_ms: expect.closeTo(50, -1) },
      change: { runs: 0, runs_ratio: 0, cost_usd: '2', cost_ratio: 1 },
    });
    expect(json.data).toMatchObject([
      { workflow: 'a', previous: { cost_usd: '1' }, change: { cost_usd: '2', cost_ratio: 2, runs: 0 } },
      {
        workflow: 'new',
        previous: { runs: 0 },
        change: { cost_usd: '1', cost_ratio: null, runs: 1, runs_ratio: null },
      },
    ]);
    const days = (await usage(org, `?group_by=day&${october}`)).json.data;
    expect(days.map((row: { day: string; previous: Row }) => [row.day, row.previous.cost_usd])).toEqual([
      ['2026-10-01', '1'],
      ['2026-10-02', '1'],
    ]);
    // A page reads only the hours that fill it. An export reads all hours and has the same rows. The total covers all
    // hours.
    const hours = `?group_by=workflow,hour&${october}`;
    const { text } = await usage(org, `${hours}&format=ndjson`);
    const lines = text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(lines).toHaveLength(2);
    expect(await allRows(org, hours, 1)).toEqual(lines);
    expect((await usage(org, `${hours}&limit=1`)).json.total).toEqual(json.total);
    const ranges: [string, string][] = [
      // Two days, one of which has 25 hours.
      ['from=2026-10-24T22:00:00Z&to=2026-10-26T23:00:00Z', '2026-10-22T22:00:00.000Z'],
      ['from=2026-10-24T22:00:00Z&to=2026-10-26T22:00:00Z', '2026-10-22T22:00:00.000Z'],
      ['from=2026-10-24T10:00:00Z&to=2026-10-24T16:00:00Z', '2026-10-24T04:00:00.000Z'],
    ];
    for (const [range, from] of ranges) {
      expect((await usage(org, `?${range}&compare=previous`)).json.previous.from, range).toBe(from);
    }
  });
});

describe('exported', () => {
  const types = { csv: 'text/csv; charset=utf-8', ndjson: 'application/x-ndjson; charset=utf-8' };

  test('NDJSON contains the rows of all pages', async () => {
    const org = await world.createOrg();
    const runs = Array.from({ length: 2_100 }, (_, index) => ({
      customer_id: `c${index}`,
      cost_usd: `${index % 7}`,
      started_at: '2026-11-10T00:00:00Z',
    }));
    await record(org, runs);
    const query = '?group_by=customer_id&compare=previous';
    const { status, headers, text } = await usage(org, `${query}&format=ndjson`);
    expect([status, headers['content-type']]).toEqual([200, types.ndjson]);
    const rows = text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(rows).toHaveLength(2_100);
    expect(rows).toEqual(await allRows(org, query, 200));
    expect((await usage(org, '?group_by=customer_id&model=nobody&format=ndjson')).text).toBe('');
    expect((await usage(org, '?format=json')).json.total.runs).toBe(2_100);

    // Postings during the transfer neither remove nor duplicate rows.
    const exports = createSpooledExports({ db: world.db, spoolDir: undefined });
    const exportUsage = createUsageExport({ db: world.db, exports });
    const { chunks } = await exportUsage(
      org.id,
      { group_by: 'customer_id', format: 'ndjson' },
      world.clock.now(),
    );
    let sent = '';
    for await (const chunk of chunks) {
      if (sent === '' && chunk !== '') {
        await record(org, [
          { customer_id: rows.at(-1).customer_id, cost_usd: '1000' },
          { customer_id: rows[0].customer_id, cost_usd: '1000' },
        ]);
      }
      sent += chunk;
    }
    const sums = sent.trimEnd().split('\n');
    expect(sums.map((line) => JSON.parse(line).customer_id)).toEqual(rows.map((row) => row.customer_id));
    expect(sums.filter((line) => line.includes('"1000"'))).toEqual([]);
  });

  test('runs one export at a time, and limits their number in total and per org', async () => {
    const orgs = await Promise.all(
      Array.from({ length: exportsMax / exportsPerOrgMax + 1 }, () => world.createOrg()),
    );
    const { transaction } = world.db;
    let [now, most] = [0, 0];
    let release = () => {};
    const gate = new Promise<void>((resolve) => {
      release = resolve;
    });
    world.db.transaction = (async (work, options) => {
      now += 1;
      most = Math.max(most, now);
      await gate;
      return transaction.call(world.db, work, options).finally(() => {
        now -= 1;
      });
    }) as typeof transaction;
    const statuses: number[][] = [];
    const exportOf = async (index: number) => {
      const { status } = await usage(orgs[index] as TestOrg, '?format=csv');
      statuses[index]?.push(status);
    };
    try {
      const answers: Promise<void>[] = [];
      // Exports within the limits wait, the others are rejected immediately. The last two places are for orgs without
      // an export.
      const rejected = [1, 1, 1, 3, exportsPerOrgMax];
      for (const index of orgs.keys()) {
        statuses.push([]);
        answers.push(...Array.from({ length: exportsPerOrgMax + 1 }, () => exportOf(index)));
        await eventually(() => expect(statuses[index]).toEqual(new Array(rejected[index]).fill(503)));
      }
      release();
      await Promise.all(answers);
      expect(statuses.flat().filter((status) => status === 200)).toHaveLength(exportsMax - 1);
      expect(most).toBe(1);
    } finally {
      release();
      world.db.transaction = transaction;
    }
    expect((await usage(orgs.at(-1) as TestOrg, '?format=csv')).status).toBe(200);
  });

  test('rejects more rows than the maximum, and a lost database, before anything is sent', async () => {
    expect(exportRowsMax).toBe(100_000);
    const org = await world.createOrg();
    await record(
      org,
      Array.from({ length: 1_501 }, (_, index) => ({ customer_id: `c${index}`, cost_usd: '1' })),
    );
    const exportOf = async (rowsMax: number) => {
      const exports = createSpooledExports({ db: world.db, spoolDir: undefined, rowsMax });
      const exportUsage = createUsageExport({ db: world.db, exports });
      const { chunks } = await exportUsage(
        org.id,
        { group_by: 'customer_id', format: 'csv' },
        world.clock.now(),
      );
      let text = '';
      for await (const chunk of chunks) {
        text += chunk;
      }
      return text;
    };
    expect((await exportOf(1_501)).trimEnd().split('\r\n')).toHaveLength(1 + 1_501);
    await expect(exportOf(1_500)).rejects.toMatchObject({
      status: 422,
      details: { fields: [{ field: 'format', code: 'too_many' }] },
    });
    const { transaction } = world.db;
    let fetched = 0;
    world.db.transaction = ((work, options) =>
      transaction.call(
        world.db,
        (tx) =>
          work({
            ...tx,
            query(sql: string, params?: readonly unknown[]) {
              fetched += sql.startsWith('FETCH') ? 1 : 0;
              return fetched === 3 ? Promise.reject(new DatabaseUnavailable('away')) : tx.query(sql, params);
            },
          } as typeof tx),
        options,
      )) as typeof transaction;
    try {
      const lost = await usage(org, '?group_by=customer_id&format=csv');
      expect(errorSummary(lost)).toEqual([503, 'service_unavailable']);
    } finally {
      world.db.transaction = transaction;
    }
  });

  test('CSV has a header line, and no cell that a spreadsheet would execute', async () => {
    const org = await world.createOrg();
    await run(org, { cost_usd: '2.5', value_usd: '1', workflow: '=1+1', tags: { env: 'a "b", c' } });
    await run(org, { cost_usd: '1', latency_ms: 1, input_tokens: 3, status: 'failed' });
    const { status, headers, text } = await usage(org, '?group_by=workflow,tag:env&format=csv');
    expect([status, headers['content-type']]).toEqual([200, types.csv]);
    const sums =
      'runs,failed_runs,failure_rate,input_tokens,cached_input_tokens,cache_write_tokens,output_tokens,cost_usd,' +
      'value_usd,return_usd,return_ratio,latency_p50_ms,latency_p90_ms,latency_p95_ms,latency_p99_ms,' +
      'cache_savings_usd,quantity';
    expect(text.split('\r\n')).toEqual([
      `workflow,tag:env,${sums}`,
      `'=1+1,"a ""b"", c",1,0,0,0,0,0,0,2.5,1,-1.5,-0.6,,,,,0,`,
      ',,1,1,1,3,0,0,0,1,0,-1,-1,1,1,1,1,0,',
      '',
    ]);
    const starts = ['=', '+', '-', '@', '\t', '\r', '\n', '\uff1d', '\uff0b', '\uff0d', '\uff20'];
    for (const start of starts) {
      await run(org, { cost_usd: '1', workflow: `${start}cmd` });
    }
    const { text: formulas } = await usage(org, '?group_by=workflow&format=csv');
    for (const start of starts) {
      expect(formulas, JSON.stringify(start)).toContain(`'${start}cmd`);
    }
    const compared = await usage(org, '?compare=previous&format=csv');
    const before = sums.split(',').map((name) => `previous_${name}`);
    const change = 'change_runs,change_runs_ratio,change_cost_usd,change_cost_ratio';
    const [names, values] = compared.text.split('\r\n');
    expect(names).toBe(`${sums},${before.join()},${change}`);
    expect(values?.split(',')).toHaveLength(38);
    // A response without rows consists of the header.
    expect((await usage(org, '?model=nobody&group_by=model&format=csv')).text).toBe(`model,${sums}\r\n`);
  });
});

describe('pages', () => {
  test('pages of usage are sorted by cost, highest first, and by value if equal', async () => {
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

  test('continue after sums beyond 64 bits', async () => {
    const org = await world.createOrg();
    const daysAgo = (days: number) => new Date(world.clock.now().getTime() - days * 86_400_000).toISOString();
    const cost_usd = '8999999999';
    const runs = ['a', 'a', 'b', 'c'].map((model, days) => ({ model, cost_usd, started_at: daysAgo(days) }));
    await record(org, runs);
    const rows = await allRows(org, '?group_by=model', 1);
    expect(rows.map((row) => [row.model, row.cost_usd])).toEqual([
      ['a', '17999999998'],
      ['b', cost_usd],
      ['c', cost_usd],
    ]);
    expect(await allRows(org, '?group_by=model,day', 1)).toHaveLength(4);
  });

  test('a cursor is valid only for its own grouping', async () => {
    const org = await world.createOrg();
    await run(org, { model: 'a', cost_usd: '1' });
    await run(org, { model: 'b', cost_usd: '1' });
    const { json } = await usage(org, '?group_by=model&limit=1');
    const faulty = invalid('cursor invalid_value');
    expect(errorSummary(await usage(org, `?group_by=workflow&cursor=${json.next_cursor}`))).toEqual(faulty);
    for (const forged of [
      '["model","[]",""]',
      '["model","[\\"1;\\",\\"a\\"]",""]',
      '["model","nonsense",""]',
      '7',
    ]) {
      const cursor = Buffer.from(forged).toString('base64url');
      expect(errorSummary(await usage(org, `?group_by=model&cursor=${cursor}`))).toEqual(faulty);
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
  ['?from=2026-11-20T00:00:00Z', 'from out_of_range'],
  ['?status=success', 'status invalid_value'],
  ['?from=yesterday', 'from invalid_format'],
  ['?group_by=tag:', 'group_by invalid_value'],
  ['?group_by=tag:a,tag:a', 'group_by invalid_value'],
  ['?tag=a', 'tag out_of_range'],
  ['?tag=a%3D', 'tag out_of_range'],
  ['?tag=abc', 'tag invalid_format'],
  ['?compare=last', 'compare invalid_value'],
  ['?format=xml', 'format invalid_value'],
  ['?format=ndjson&cursor=x', 'cursor invalid_value'],
  ['?compare=previous&from=1900-01-02T00:00:00Z&to=1900-01-06T00:00:00Z', 'compare out_of_range'],
  ['?limit=0', 'limit out_of_range'],
  ['?limit=201', 'limit out_of_range'],
  ['?colour=red', 'colour unknown_field'],
  ['?sort=model', 'sort unknown_field'],
])('rejects %s', async (query, fault) => {
  expect(errorSummary(await usage(await world.createOrg(), query))).toEqual(invalid(fault));
});

test('usage accepts 366 days', async () => {
  const org = await world.createOrg();
  expect((await usage(org, '?from=2025-11-01T00:00:00Z&to=2026-11-02T00:00:00Z')).status).toBe(200);
});
