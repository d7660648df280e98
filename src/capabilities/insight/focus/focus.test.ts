/** Exports in FOCUS columns, over HTTP and from both engines. */
import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { type FileMetaData, parquetMetadata, parquetReadObjects } from 'hyparquet';
import { describe, expect, test } from 'vitest';
import { createWorld, useOrgPerTest, useWorld } from '../../../../test/harness.ts';
import { type FocusCells, focusRows, sumOfColumn } from '../../../../test/support/focus-rows.ts';
import { errorSummary } from '../../../../test/support/limits.ts';
import { formatDecimal, roundedQuotient } from '../../../kernel/decimals.ts';
import { formatUsd } from '../../../kernel/money.ts';
import { createPrices } from '../../spend/models/index.ts';
import { createSpooledExports } from '../usage/index.ts';
import { decimalsOf, type FocusColumnType } from './columns.ts';
import { createFocusExport } from './export.ts';
import { kindCharges } from './kind-charges.ts';
import type { FocusQuery } from './schema.ts';
import { wholeCharges } from './whole-charges.ts';

const focusColumns = wholeCharges.columns;
const columnsOf = [
  ['1.2', wholeCharges.columns],
  ['1.4', kindCharges.columns],
] as const;

const world = useWorld();
const org = useOrgPerTest(world);

async function send(method: string, path: string, body?: object) {
  const answer = await world.request(method, path, {
    key: org.ownerKey,
    ...(body !== undefined && { body }),
  });
  expect(answer.status, answer.text.slice(0, 500)).toBeLessThan(300);
  return answer.json;
}

const focus = (query: string, key = org.ownerKey) =>
  world.request('GET', `/v1/orgs/${org.id}/usage/focus${query}`, { key });

async function record(runs: object[]): Promise<{ id: string }[]> {
  const body = { runs: runs.map((run) => ({ model: 'gpt-4o', provider: 'openai', ...run })) };
  return (await send('POST', '/v1/runs/bulk?enforcement=record', body)).runs;
}

async function exported(query: string): Promise<FocusCells[]> {
  const { status, text } = await focus(query);
  expect(status, text).toBe(200);
  return focusRows(text);
}

async function bytesOf(query: FocusQuery, orgId = org.id, rowsMax = 100_000): Promise<Buffer> {
  const exports = createSpooledExports({ db: world.db, spoolDir: undefined, rowsMax });
  const exportFocus = createFocusExport({ db: world.db, exports, prices: createPrices(world.db) });
  const { chunks } = await exportFocus(orgId, query, world.clock.now());
  const parts: Buffer[] = [];
  for await (const chunk of chunks) {
    parts.push(Buffer.from(chunk));
  }
  return Buffer.concat(parts);
}

const runs = [
  { started_at: '2026-11-02T00:00:00Z', cost_usd: '0.000000001', input_tokens: 3, output_tokens: 4 },
  { started_at: '2026-11-02T23:59:59Z', cost_usd: '1.234567891', input_tokens: 1_000, team: 'blue' },
  {
    started_at: '2026-11-03T05:10:00Z',
    cost_usd: '0.333333333',
    input_tokens: 700,
    cached_input_tokens: 100,
    cache_write_tokens: 50,
    output_tokens: 30,
    team: 'blue',
    tags: { environment: 'test' },
  },
  { started_at: '2026-10-31T22:10:00Z', cost_usd: '7', team: 'red', provider: 'anthropic', model: 'claude' },
  { started_at: '2026-11-03T07:00:00Z', cost_usd: '0', team: 'red', workflow: 'w', customer_id: 'c' },
];

describe('an export', () => {
  test.each(['1.2', '1.4'])(
    'the days of a range, exported one by one, have its rows in %s',
    async (version) => {
      await record(runs);
      const rangeOf = (from: string, to: string) =>
        exported(`?version=${version}&from=${from}T00:00:00Z&to=${to}T00:00:00Z&group_by=team`);
      const whole = await rangeOf('2026-11-02', '2026-11-04');
      expect(whole.length).toBeGreaterThan(2);
      const days = [await rangeOf('2026-11-02', '2026-11-03'), await rangeOf('2026-11-03', '2026-11-04')];
      expect(days.every((rows) => rows.length > 0)).toBe(true);
      expect(days.flat()).toEqual(whole);
    },
  );

  test('an export has a row per day, provider and model in the columns of FOCUS', async () => {
    await record(runs.slice(0, 3));
    const { headers } = await focus('');
    expect(headers['content-type']).toBe('text/csv; charset=utf-8');
    const [first, second, ...others] = await exported('?group_by=team,tag:environment');
    expect(others).toHaveLength(1);
    expect(Object.keys(first ?? {})).toEqual(focusColumns.map(({ name }) => name));
    expect(first).toEqual({
      BilledCost: '0.000000001',
      BillingAccountId: org.id,
      BillingAccountName: expect.any(String),
      BillingCurrency: 'USD',
      BillingPeriodEnd: '2026-12-01T00:00:00Z',
      BillingPeriodStart: '2026-11-01T00:00:00Z',
      ChargeCategory: 'Usage',
      ChargeClass: '',
      ChargeDescription: 'Usage of gpt-4o',
      ChargeFrequency: 'Usage-Based',
      ChargePeriodEnd: '2026-11-03T00:00:00Z',
      ChargePeriodStart: '2026-11-02T00:00:00Z',
      ConsumedQuantity: '7.0',
      ConsumedUnit: 'Tokens',
      ContractedCost: '0.000000001',
      ContractedUnitPrice: '0.000000000142857142857143',
      EffectiveCost: '0.000000001',
      InvoiceId: '',
      InvoiceIssuerName: 'openai',
      ListCost: '0.000000001',
      ListUnitPrice: '0.000000000142857142857143',
      PricingCategory: 'Standard',
      PricingQuantity: '7.0',
      PricingUnit: 'Tokens',
      ProviderName: 'openai',
      PublisherName: 'openai',
      ServiceCategory: 'AI and Machine Learning',
      ServiceName: 'Model inference',
      ServiceSubcategory: 'Generative AI',
      SkuId: 'gpt-4o',
      SkuMeter: 'Tokens',
      SkuPriceDetails: '',
      SkuPriceId: 'gpt-4o',
      SubAccountId: '',
      SubAccountName: '',
      SubAccountType: '',
      Tags: '',
      x_Requests: '1',
      x_UncachedInputTokens: '3',
      x_CachedInputTokens: '0',
      x_CacheWriteTokens: '0',
      x_OutputTokens: '4',
    });
    expect(second).toMatchObject({
      BilledCost: '1.234567891',
      SubAccountId: 'blue',
      SubAccountName: 'blue',
      SubAccountType: 'Team',
      Tags: '{"purser/team":"blue"}',
    });
    expect(others[0]).toMatchObject({
      ConsumedQuantity: '730.0',
      Tags: '{"environment":"test","purser/team":"blue"}',
      x_UncachedInputTokens: '550',
      x_CachedInputTokens: '100',
      x_CacheWriteTokens: '50',
      x_OutputTokens: '30',
    });
  });

  test('adds up to the usage and to the ledger, in any grouping, period and filter', async () => {
    await record(runs);
    const queries = [
      '',
      'group_by=hour',
      'group_by=month,team',
      'group_by=team,workflow,deployment,department,customer_id,key_id,member_id,tag:environment',
      'from=2026-10-31T23:00:00%2B01:00&to=2026-11-03T06:00:00Z',
      'from=2026-11-01T00:00:00Z&group_by=team',
      'team=blue',
      'provider=anthropic&group_by=team',
      'tag=environment%3Dtest',
      'status=failed',
    ];
    for (const query of queries) {
      const rows = await exported(`?${query}`);
      const { total } = await send(
        'GET',
        `/v1/orgs/${org.id}/usage?${query.replace(/&?group_by=[^&]*/, '').replace(/^&/, '')}`,
      );
      for (const column of ['BilledCost', 'EffectiveCost', 'ListCost', 'ContractedCost']) {
        expect(sumOfColumn(rows, column), `${query} ${column}`).toBe(total.cost_usd);
      }
      expect(sumOfColumn(rows, 'x_Requests'), query).toBe(String(total.runs));
      expect(sumOfColumn(rows, 'x_CachedInputTokens'), query).toBe(String(total.cached_input_tokens));
      expect(sumOfColumn(rows, 'x_OutputTokens'), query).toBe(String(total.output_tokens));
    }
    const [entries] = await world.db.query<{ nanos: string }>(
      'SELECT sum(usd_nanos)::text AS nanos FROM ledger_entries WHERE org_id = $1',
      [org.id],
    );
    expect(sumOfColumn(await exported('?group_by=key_id'), 'BilledCost')).toBe(
      formatUsd(BigInt(entries?.nanos ?? '')),
    );
    expect((await exported('?status=failed')).length).toBe(0);
  });

  test('shortens the charge periods at the ends of the range', async () => {
    await record(runs);
    const rows = await exported('?from=2026-11-02T12:00:00Z&to=2026-11-03T06:00:00Z');
    expect(rows.map((row) => [row.ChargePeriodStart, row.ChargePeriodEnd])).toEqual([
      ['2026-11-02T12:00:00Z', '2026-11-03T00:00:00Z'],
      ['2026-11-03T00:00:00Z', '2026-11-03T06:00:00Z'],
    ]);
    expect(rows.map((row) => row.x_UncachedInputTokens)).toEqual(['1000', '550']);
  });

  test('an export has prices whose product with the quantity is the cost', async () => {
    await record([
      ...runs,
      ...[3, 7, 999_999_999, 123_456_789_012].map((input_tokens, index) => ({
        model: `m${index}`,
        input_tokens,
        cost_usd: '123.456789013',
        started_at: '2026-11-03T00:00:00Z',
      })),
    ]);
    for (const row of await exported('?group_by=team')) {
      const [whole = '', fraction = ''] = (row.ListUnitPrice ?? '').split('.');
      const price = BigInt(whole + fraction.padEnd(decimalsOf.price, '0'));
      const product = roundedQuotient(
        price * BigInt(row.PricingQuantity?.replace('.0', '') ?? ''),
        10n ** 15n,
      );
      expect(formatUsd(product), JSON.stringify(row)).toBe(row.ListCost);
    }
  });

  test('names the provider of the price list if the runs have none, and counts requests without tokens', async () => {
    await send('POST', '/v1/runs', { model: 'gpt-4o-mini', cost_usd: '2' });
    await send('POST', '/v1/runs', { model: 'never-heard-of', cost_usd: '2', provider: '=cmd' });
    await send('POST', '/v1/runs', { model: 'never-heard-of', cost_usd: '1', input_tokens: 1 });
    const rows = await exported('');
    expect(
      rows.map((row) => [row.ProviderName, row.SkuId, row.PricingQuantity, row.PricingUnit, row.BilledCost]),
    ).toEqual([
      ['openai', 'gpt-4o-mini', '1.0', 'Requests', '2'],
      ['unknown', 'never-heard-of', '1.0', 'Tokens', '1'],
      ["'=cmd", 'never-heard-of', '1.0', 'Requests', '2'],
    ]);
  });

  test('lists a correction of an earlier month apart, in the billing period in which it was posted', async () => {
    const [october, november] = await record([
      { started_at: '2026-10-30T12:00:00Z', cost_usd: '5', input_tokens: 10, team: 'blue', tags: { a: 'b' } },
      { started_at: '2026-11-02T12:00:00Z', cost_usd: '5', input_tokens: 10, team: 'blue', tags: { a: 'b' } },
    ]);
    const before = await exported('?group_by=team,tag:a');
    for (const run of [october, november]) {
      await send('POST', `/v1/runs/${run?.id}/adjustments`, { amount_usd: '-1.5', reason: 'refund' });
    }
    const [charge, correction, corrected, ...none] = await exported('?group_by=team,tag:a');
    expect(none).toEqual([]);
    expect(charge).toEqual(before[0]);
    expect(corrected).toMatchObject({ ChargeClass: '', BilledCost: '3.5', x_Requests: '1' });
    expect(correction).toMatchObject({
      BilledCost: '-1.5',
      EffectiveCost: '-1.5',
      ChargeCategory: 'Usage',
      ChargeClass: 'Correction',
      ChargeFrequency: 'One-Time',
      ChargePeriodStart: '2026-10-30T00:00:00Z',
      BillingPeriodStart: '2026-11-01T00:00:00Z',
      ConsumedQuantity: '',
      ConsumedUnit: '',
      ListUnitPrice: '',
      PricingCategory: '',
      SubAccountId: 'blue',
      Tags: '{"a":"b","purser/team":"blue"}',
      x_Requests: '0',
    });
    const classes = async (query: string) => (await exported(query)).map((row) => row.ChargeClass);
    expect(await classes('?team=blue&tag=a%3Db&model=gpt-4o')).toEqual(['', 'Correction', '']);
    expect(await classes('?team=red')).toEqual([]);
    expect(await classes('?from=2026-11-01T00:00:00Z')).toEqual(['']);
    // A correction has no status, so with that filter it stays in the row of its charge.
    expect((await exported('?status=succeeded')).map((row) => row.BilledCost)).toEqual(['3.5', '3.5']);
  });

  test('an export without rows has a header, and a Parquet file without row groups', async () => {
    expect((await focus('?model=none')).text).toBe(`${focusColumns.map(({ name }) => name).join()}\r\n`);
    const { num_rows, row_groups } = metadataOf(await bytesOf({ format: 'parquet' }));
    expect([num_rows, row_groups]).toEqual([0n, []]);
  });

  test('an export is rejected with the field that is wrong, and is not visible to others', async () => {
    const fieldOf = async (query: string) => {
      const { status, json } = await focus(query);
      const [{ field, code }] = json.error.details.fields;
      return [status, field, code];
    };
    for (const value of ['model', 'status', 'team,team', 'day,hour', 'tag:', 'nothing', ',']) {
      expect(await fieldOf(`?group_by=${value}`), value).toEqual([422, 'group_by', 'invalid_value']);
    }
    const tags = Array.from({ length: 9 }, (_, index) => `tag:t${index}`).join();
    expect(await fieldOf(`?group_by=${tags}`)).toEqual([422, 'group_by', 'too_many']);
    expect(await fieldOf('?format=xml')).toEqual([422, 'format', 'invalid_value']);
    expect(await fieldOf('?version=1.3')).toEqual([422, 'version', 'invalid_value']);
    expect(await fieldOf('?version=')).toEqual([422, 'version', 'invalid_value']);
    expect(await fieldOf('?version=1.2&version=1.4')).toEqual([422, 'version', expect.any(String)]);
    expect(await fieldOf('?kind=output')).toEqual([422, 'kind', 'unknown_field']);
    expect(await fieldOf('?compare=previous')).toEqual([422, 'compare', 'unknown_field']);
    expect(await fieldOf('?from=2026-11-14T00:00:00Z&to=2025-11-14T00:00:00Z')).toEqual([
      422,
      'to',
      'out_of_range',
    ]);
    await record(runs);
    await expect(bytesOf({ group_by: 'team' }, org.id, 3)).rejects.toMatchObject({
      status: 422,
      details: { fields: [{ field: 'format', code: 'too_many' }] },
    });
    const other = await world.createOrg();
    expect(errorSummary(await focus('', other.ownerKey))).toEqual([404, 'not_found']);
    const { secret } = await world.mintKey(org, 'admin', ['keys:read']);
    expect(errorSummary(await focus('', secret))).toEqual([403, 'missing_scope']);
  });
});

function metadataOf(file: Buffer): FileMetaData {
  return parquetMetadata(file.buffer.slice(file.byteOffset, file.byteOffset + file.length) as ArrayBuffer);
}

/** Reads the rows with another library than the one that wrote them, decimals as bytes, so that they stay exact. */
async function parquetRows(file: Buffer): Promise<Record<string, unknown>[]> {
  const buffer = file.buffer.slice(file.byteOffset, file.byteOffset + file.length) as ArrayBuffer;
  const metadata = metadataOf(file);
  for (const element of metadata.schema) {
    if (element.converted_type === 'DECIMAL') {
      delete element.converted_type;
      delete element.logical_type;
    }
  }
  return parquetReadObjects({ file: buffer, metadata, utf8: false });
}

function cellOf(type: FocusColumnType, value: unknown): string {
  if (value === null || value === undefined) {
    return '';
  }
  switch (type) {
    case 'text':
    case 'json':
      return String(value);
    case 'time':
      return `${(value as Date).toISOString().slice(0, 19)}Z`;
    case 'integer':
      return String(value);
    default: {
      const hex = Buffer.from(value as Uint8Array).toString('hex');
      const text = formatDecimal(BigInt.asIntN(128, BigInt(`0x${hex}`)), decimalsOf[type]);
      return type.endsWith('quantity') && !text.includes('.') ? `${text}.0` : text;
    }
  }
}

describe('Parquet', () => {
  test.each(columnsOf)(
    'a Parquet export has the same values as CSV in FOCUS %s, in types that fit them',
    async (version, columns) => {
      await record([
        ...runs,
        // More than a row group.
        ...Array.from({ length: 1_500 }, (_, index) => ({
          started_at: '2026-11-05T00:00:00Z',
          customer_id: `customer ${index} “é” 🙂`,
          cost_usd: formatUsd(BigInt(index) * 1_000_000_007n),
          input_tokens: index,
        })),
      ]);
      const [old] = await record([{ started_at: '2026-10-30T00:00:00Z', cost_usd: '5' }]);
      await send('POST', `/v1/runs/${old?.id}/adjustments`, { amount_usd: '-1.5', reason: 'refund' });
      const query = { group_by: 'customer_id,team', version } as const;
      const file = await bytesOf({ ...query, format: 'parquet' });
      const rows = await parquetRows(file);
      expect(rows.length).toBeGreaterThan(1_500);
      const cells = rows.map((row) =>
        Object.fromEntries(columns.map(({ name, type }) => [name, cellOf(type, row[name])])),
      );
      expect(cells).toEqual(focusRows((await bytesOf({ ...query, format: 'csv' })).toString()));
      const { schema, row_groups } = metadataOf(file);
      expect(row_groups.map(({ num_rows }) => num_rows)).toEqual([1_000n, BigInt(rows.length - 1_000)]);
      const typeOf = (name: string) => schema.find((one) => one.name === name);
      expect(typeOf('BilledCost')).toMatchObject({
        logical_type: { type: 'DECIMAL', precision: 38, scale: 9 },
        repetition_type: 'REQUIRED',
      });
      expect(typeOf('ListUnitPrice')).toMatchObject({
        logical_type: { type: 'DECIMAL', precision: 38, scale: 24 },
        repetition_type: 'OPTIONAL',
      });
      expect(typeOf('ChargePeriodStart')).toMatchObject({
        type: 'INT64',
        logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MILLIS' },
      });
      expect(typeOf('Tags')).toMatchObject({ type: 'BYTE_ARRAY', logical_type: { type: 'STRING' } });
      expect(typeOf('PricingQuantity')).toMatchObject({
        logical_type: { type: 'DECIMAL', precision: 38, scale: version === '1.2' ? 0 : 6 },
      });
      expect(typeOf('x_OutputTokens')).toEqual(
        version === '1.2' ? expect.objectContaining({ type: 'INT64' }) : undefined,
      );
    },
  );

  test('a Parquet export is sent as bytes', async () => {
    await record(runs);
    const { url } = await world.listen();
    const answer = await fetch(`${url}/v1/orgs/${org.id}/usage/focus?format=parquet&group_by=team`, {
      headers: { authorization: `Bearer ${org.ownerKey}` },
    });
    expect(answer.headers.get('content-type')).toBe('application/vnd.apache.parquet');
    expect(Buffer.from(await answer.arrayBuffer())).toEqual(
      await bytesOf({ format: 'parquet', group_by: 'team' }),
    );
  });
});

test('the same data yields the same bytes, again and on every engine', async () => {
  const own = await createWorld();
  try {
    const exports = createSpooledExports({ db: own.db, spoolDir: undefined });
    const exportFocus = createFocusExport({ db: own.db, exports, prices: createPrices(own.db) });
    const { id, ownerKey } = await own.createOrg('Stable');
    // In another order than the rows, with names that collations sort differently.
    const teams = ['b', 'A', 'a', 'Ä', 'ä', 'B', '', '_', '🙂', 'z'];
    for (const [index, team] of teams.entries()) {
      const { status } = await own.request('POST', '/v1/runs/bulk?enforcement=record', {
        key: ownerKey,
        body: {
          runs: ['2026-11-02T01:00:00Z', '2026-10-31T23:00:00Z'].map((started_at) => ({
            model: `model-${index % 3}`,
            cost_usd: `0.00${index}1`,
            input_tokens: index,
            started_at,
            ...(team !== '' && { team, tags: { environment: team } }),
          })),
        },
      });
      expect(status).toBe(201);
    }
    const digestOf = async (version: '1.2' | '1.4', format: 'csv' | 'parquet', atMs: number) => {
      const query = { version, format, group_by: 'team,tag:environment', to: '2026-11-15T00:00:00Z' };
      const { chunks } = await exportFocus(id, query, new Date(atMs));
      const parts: Buffer[] = [];
      for await (const chunk of chunks) {
        parts.push(Buffer.from(chunk));
      }
      return hash('sha256', Buffer.concat(parts));
    };
    const nowMs = own.clock.now().getTime();
    for (const atMs of [nowMs, nowMs, nowMs + 86_400_000]) {
      expect([await digestOf('1.2', 'csv', atMs), await digestOf('1.2', 'parquet', atMs)]).toEqual([
        '8adfdef0fbbae2b0472c6387bc37c3f423181c1baea50ee09c1ff2c9d3bb8744',
        'e88343eaaf43889dbc9c277dee49141d7f1cf72e4e1019face7d4106b3ccebcd',
      ]);
      expect([await digestOf('1.4', 'csv', atMs), await digestOf('1.4', 'parquet', atMs)]).toEqual([
        'b49b23ab393d300bb154af2abc0139904c893ab616b3cf62af9c77836ae2f5f7',
        'e009a024f02b15e8f7dcc7c07e9a15bdd3c49b6c0390492172317d923b7d525d',
      ]);
    }
  } finally {
    await own.close();
  }
});

test('an export in FOCUS 1.4 is a statement of its ServiceProviderName that agrees with the ledger', async () => {
  await record(runs);
  const { text: csv } = await focus('?version=1.4&provider=openai&group_by=team');
  expect(csv).toMatch(/^BilledCost,.*,ServiceProviderName,/);
  const path = `/v1/orgs/${org.id}/statements`;
  const statement = await send('POST', path, { csv, project_dimension: 'team' });
  expect(statement).toMatchObject({ provider: 'openai', sources: ['focus'], billed_usd: '1.567901225' });
  const { total } = await send('GET', `${path}/${statement.id}/comparison`);
  expect(total).toEqual({
    billed_usd: '1.567901225',
    recorded_usd: '1.567901225',
    difference_usd: '0',
    causes: [],
  });
});

test('a row of FOCUS 1.4 with split and unsplit costs has causes of its difference only', async () => {
  const startedAt = { started_at: '2026-11-02T05:00:00Z' };
  await record([
    { ...startedAt, input_tokens: 1_000_000, output_tokens: 1_000 },
    { ...startedAt, cost_usd: '0.5', input_tokens: 700, output_tokens: 30 },
  ]);
  const { text: csv } = await focus('?version=1.4&provider=openai');
  expect(focusRows(csv).map(({ x_Kind }) => x_Kind)).toEqual(['unsplit', 'input', 'output']);
  const path = `/v1/orgs/${org.id}/statements`;
  const causesOf = async (bill: string) => {
    const { id } = await send('POST', path, { csv: bill });
    return (await send('GET', `${path}/${id}/comparison`)).total.causes;
  };
  expect(await causesOf(csv)).toEqual([]);
  const higher = csv.replaceAll(/^0\.5,/gm, '0.75,');
  expect(await causesOf(higher)).toEqual([expect.objectContaining({ cause: 'unknown', usd: '0.25' })]);
});

test.each(['1.2', '1.4'])(
  'names in FOCUS %s are text in spreadsheets, and whole in any alphabet',
  async (version) => {
    const names = ['=HYPERLINK("x")', '+1', '@SUM(A1)', 'Größe, 東京 "🚀"', 'line\u2028break', "'quoted"];
    await record(names.map((team) => ({ ...runs[1], model: team, team, tags: { environment: team } })));
    const rows = await exported(`?version=${version}&group_by=team,tag:environment`);
    const shown = names.map((name) => (/^[=+@]/.test(name) ? `'${name}` : name));
    expect(rows.map((row) => row.SubAccountId ?? '').toSorted()).toEqual(shown.toSorted());
    for (const row of rows) {
      const cells = Object.values(row);
      expect(cells.filter((cell) => /^[=+@]/.test(cell))).toEqual([]);
      expect(names).toContain(JSON.parse(row.Tags ?? '').environment);
    }
    expect(sumOfColumn(rows, 'BilledCost')).toBe('7.407407346');
  },
);

test('an export is a statement that agrees with the ledger it came from', async () => {
  const openAi = runs.filter(({ provider = 'openai' }) => provider === 'openai');
  await record(openAi);
  const path = `/v1/orgs/${org.id}/statements`;
  const { text: csv } = await focus('?provider=openai&group_by=team');
  const statement = await send('POST', path, { csv, project_dimension: 'team' });
  expect(statement).toMatchObject({ provider: 'openai', sources: ['focus'], billed_usd: '1.567901225' });
  const { total, data } = await send('GET', `${path}/${statement.id}/comparison?limit=200`);
  expect(total).toEqual({
    billed_usd: '1.567901225',
    recorded_usd: '1.567901225',
    difference_usd: '0',
    causes: [],
  });
  for (const { billed, recorded } of data) {
    expect(recorded).toMatchObject(billed);
  }

  // An amount that is billed below the recorded one leaves a negative row, which an export keeps with its model.
  const row = [...csv.split('\r\n')];
  const lower = row.map((line) => line.replaceAll('1.234567891', '0.5'));
  const bill = await send('POST', path, { csv: lower.join('\r\n'), project_dimension: 'team' });
  await send('POST', `${path}/${bill.id}/reconcile`);
  const { text: after } = await focus('?provider=openai&group_by=team,key_id');
  expect(sumOfColumn(focusRows(after), 'BilledCost')).toBe('0.833333334');
});

test.each(columnsOf)('the guide describes exactly the columns of FOCUS %s', (version, columns) => {
  const guide = readFileSync(new URL('../../../../docs/guides/focus.md', import.meta.url), 'utf8');
  const [, section = ''] = /^## Columns$(.*?)^## /ms.exec(guide) ?? [];
  const rows = [...section.matchAll(/^\| `(\w+)` \| ([\d.]*) ?\|.*\|(.*)\|$/gm)].filter(
    ([, , only = '']) => only === '' || only === version,
  );
  expect(rows.map(([, name]) => name)).toEqual(columns.map(({ name }) => name));
  expect(rows.map(([, , , whenNull = '']) => whenNull.trim() !== '')).toEqual(
    columns.map(({ nullable }) => nullable),
  );
});

test.each(columnsOf)(
  'every column that FOCUS %s requires is there, and custom columns are last',
  (version, columns) => {
    const names = columns.map(({ name }) => name);
    const mandatory =
      'BilledCost BillingAccountId BillingAccountName BillingCurrency BillingPeriodEnd BillingPeriodStart ChargeCategory ' +
      'ChargeClass ChargeDescription ChargePeriodEnd ChargePeriodStart ContractedCost EffectiveCost InvoiceIssuerName ListCost ' +
      'PricingQuantity PricingUnit ServiceCategory ServiceName';
    const ofVersion = {
      '1.2': 'ProviderName PublisherName',
      '1.4': 'HostProviderName InvoiceDetailId InvoiceId ServiceProviderName',
    }[version];
    // Required because Purser has usage, unit prices, sub accounts and tags.
    const conditional =
      'ConsumedQuantity ConsumedUnit ContractedUnitPrice ListUnitPrice PricingCategory SkuId SkuMeter SkuPriceDetails SkuPriceId ' +
      'SubAccountId SubAccountName SubAccountType Tags';
    expect(names).toEqual(expect.arrayContaining(`${mandatory} ${ofVersion} ${conditional}`.split(' ')));
    expect(names.includes('ProviderName') || names.includes('PublisherName')).toBe(version === '1.2');
    const custom = names.filter((name) => name.startsWith('x_'));
    expect(names.slice(-custom.length)).toEqual(custom);
    const own = names.slice(0, -custom.length);
    expect(own).toEqual(own.toSorted());
  },
);
