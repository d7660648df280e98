/** Exports with a row per kind of usage, over HTTP and from both engines. */
import { beforeEach, describe, expect, test } from 'vitest';
import { createWorld, type TestOrg, useOrgPerTest, useWorld, type World } from '../../../../test/harness.ts';
import { type FocusCells, focusRows, sumOfColumn } from '../../../../test/support/focus-rows.ts';
import { Random } from '../../../../test/support/ledger-values.ts';
import { seedsOf } from '../../../../test/support/seeds.ts';
import { kindOfCode, readParts } from '../../../kernel/cost-parts.ts';
import { roundedQuotient } from '../../../kernel/decimals.ts';
import { formatUsd } from '../../../kernel/money.ts';
import { decimalsOf } from './columns.ts';
import { kindCharges } from './kind-charges.ts';

const world = useWorld();
const org = useOrgPerTest(world);

async function call(at: World, { ownerKey }: TestOrg, [method, path]: [string, string], body?: object) {
  const answer = await at.request(method, path, { key: ownerKey, ...(body && { body }) });
  expect(answer.status, answer.text.slice(0, 500)).toBeLessThan(300);
  return answer;
}
const post = async (path: string, body: object) => (await call(world, org, ['POST', path], body)).json;
const exportOf = async (at: World, of: TestOrg, query: string) =>
  focusRows((await call(at, of, ['GET', `/v1/orgs/${of.id}/usage/focus?version=1.4${query}`])).text);
const exported = (query = '') => exportOf(world, org, query);

/** In dollars per million tokens, so the cost of a million tokens is the rate. */
const everyRate = {
  input_usd_per_million: '2',
  cached_input_usd_per_million: '0.5',
  cache_write_usd_per_million: '2.5',
  output_usd_per_million: '10',
  audio_input_usd_per_million: '40',
  audio_output_usd_per_million: '80',
  image_usd: '0.25',
  request_usd: '0.01',
  units: { web_search: '0.02', 'tool:look-up': '3' },
  modifiers: [{ cache_write_ttl: '1h', cache_write_usd_per_million: '5' }],
};
const everything = {
  model: 'every-kind',
  provider: 'openai',
  input_tokens: 5_000_000,
  cached_input_tokens: 1_000_000,
  cache_write_tokens: 1_000_000,
  cache_write_1h_tokens: 1_000_000,
  audio_input_tokens: 1_000_000,
  output_tokens: 3_000_000,
  reasoning_tokens: 1_000_000,
  audio_output_tokens: 1_000_000,
  images: 4,
  units: { web_search: 3, 'tool:look-up': 1 },
};
const putPrice = (at: World, model: string, body: object) =>
  at.request('PUT', `/v1/admin/models/${model}`, { key: at.operatorKey, body });

beforeEach(() => putPrice(world, 'every-kind', everyRate));

/** Returns what a row is priced by: its meter, quantities, cost and SKU. */
const pricing = (row: FocusCells) => [
  row.SkuMeter,
  row.BilledCost,
  `${row.ConsumedQuantity} ${row.ConsumedUnit}`,
  `${row.PricingQuantity} ${row.PricingUnit} at ${row.ListUnitPrice}`,
  row.SkuPriceDetails,
];
const details = (properties: object) => JSON.stringify({ ModelId: 'every-kind', ...properties });
const input = (cache?: string) =>
  details({ ...(cache && { TokenCacheAction: cache }), TokenDirection: 'Input' });
const output = details({ TokenDirection: 'Output' });
const million = ['1000000.0 Tokens', '1.0 1000000 Tokens at '] as const;
const ofMillion = (meter: string, usd: string, properties: string) => [
  meter,
  usd,
  million[0],
  `${million[1]}${usd}`,
  properties,
];

describe('an export by kind', () => {
  test('an export by kind has a row with its own SKU for each kind of usage', async () => {
    await post('/v1/runs', everything);
    const rows = await exported();
    expect(rows.map((row) => [row.x_Kind, ...pricing(row)])).toEqual([
      ['audio_input', ...ofMillion('Audio Input Tokens', '40', input())],
      ['cached_input', ...ofMillion('Cache Read Input Tokens', '0.5', input('Read'))],
      ['image', 'Images', '1', '4.0 Images', '4.0 Images at 0.25', details({})],
      ['input', ...ofMillion('Input Tokens', '2', input('Uncached'))],
      ['cache_write_1h', ...ofMillion('One Hour Cache Write Input Tokens', '5', input('Write'))],
      ['output', ...ofMillion('Output Tokens', '10', output)],
      ['request', 'Requests', '0.01', '1.0 Requests', '1.0 Requests at 0.01', details({})],
      ['reasoning', ...ofMillion('Reasoning Output Tokens', '10', output)],
      ['audio_output', ...ofMillion('Audio Output Tokens', '80', output)],
      ['unit:tool:look-up', 'Tool Look Up', '3', '1.0 Tool Look Up', '1.0 Tool Look Up at 3', details({})],
      ['unit:web_search', 'Web Search', '0.06', '3.0 Web Search', '3.0 Web Search at 0.02', details({})],
      ['cache_write', ...ofMillion('Cache Write Input Tokens', '2.5', input('Write'))],
    ]);
    expect(sumOfColumn(rows, 'BilledCost')).toBe('154.07');
    expect(Object.keys(rows[0] ?? {})).toEqual(kindCharges.columns.map(({ name }) => name));
    expect(rows[1]).toEqual({
      BilledCost: '0.5',
      BillingAccountId: org.id,
      BillingAccountName: expect.any(String),
      BillingCurrency: 'USD',
      BillingPeriodEnd: '2026-12-01T00:00:00Z',
      BillingPeriodStart: '2026-11-01T00:00:00Z',
      ChargeCategory: 'Usage',
      ChargeClass: '',
      ChargeDescription: 'Cache Read Input Tokens of every-kind',
      ChargeFrequency: 'Usage-Based',
      ChargePeriodEnd: expect.stringMatching(/^2026-11-/),
      ChargePeriodStart: '2026-11-15T00:00:00Z',
      ConsumedQuantity: '1000000.0',
      ConsumedUnit: 'Tokens',
      ContractedCost: '0.5',
      ContractedUnitPrice: '0.5',
      EffectiveCost: '0.5',
      HostProviderName: 'openai',
      InvoiceDetailId: '',
      InvoiceId: '',
      InvoiceIssuerName: 'openai',
      ListCost: '0.5',
      ListUnitPrice: '0.5',
      PricingCategory: 'Standard',
      PricingQuantity: '1.0',
      PricingUnit: '1000000 Tokens',
      ServiceCategory: 'AI and Machine Learning',
      ServiceName: 'Model inference',
      ServiceProviderName: 'openai',
      ServiceSubcategory: 'Generative AI',
      SkuId: 'every-kind:cached_input',
      SkuMeter: 'Cache Read Input Tokens',
      SkuPriceDetails: input('Read'),
      SkuPriceId: 'every-kind:cached_input',
      SubAccountId: '',
      SubAccountName: '',
      SubAccountType: '',
      Tags: '',
      x_Kind: 'cached_input',
      x_Model: 'every-kind',
    });
  });

  test('an export by kind counts the tokens of unsplit costs, or else their requests', async () => {
    await post('/v1/runs', {
      model: 'given',
      cost_usd: '3',
      input_tokens: 1_000_000,
      output_tokens: 500_000,
    });
    await post('/v1/runs', { ...everything, model: 'every-kind', images: 0, units: {} });
    await post('/v1/runs', {
      model: 'every-kind',
      provider: 'openai',
      cost_usd: '1',
      output_tokens: 250_000,
    });
    await post('/v1/runs', { model: 'pictures', cost_usd: '0.5' });
    await post('/v1/runs', { model: 'free', cost_usd: '0' });
    const rows = await exported();
    expect(
      rows
        .filter((row) => row.x_Kind === 'unsplit')
        .map((row) => [row.x_Model, ...pricing(row).slice(1), row.ChargeDescription]),
    ).toEqual([
      ['free', '0', '1.0 Requests', '1.0 Requests at 0', '{"ModelId":"free"}', 'Usage of free'],
      ['given', '3', '1500000.0 Tokens', '1.5 1000000 Tokens at 2', '{"ModelId":"given"}', 'Usage of given'],
      [
        'pictures',
        '0.5',
        '1.0 Requests',
        '1.0 Requests at 0.5',
        '{"ModelId":"pictures"}',
        'Usage of pictures',
      ],
      ['every-kind', '1', '250000.0 Tokens', '0.25 1000000 Tokens at 4', details({}), 'Usage of every-kind'],
    ]);
    const tokens = rows.filter((row) => row.ConsumedUnit === 'Tokens');
    expect(sumOfColumn(tokens, 'ConsumedQuantity')).toBe(String(1_500_000 + 8_000_000 + 250_000));
  });

  test('an export by kind has adjustments apart, and corrections of an earlier month by kind', async () => {
    const runs = [
      { ...everything, started_at: '2026-10-30T12:00:00Z', model: 'later', cost_usd: '5', team: 'blue' },
      { ...everything, started_at: '2026-11-02T12:00:00Z', model: 'later', cost_usd: '5', team: 'blue' },
    ];
    const recorded = await post('/v1/runs/bulk?enforcement=record', { runs });
    const before = await exported('&group_by=team');
    for (const { id } of recorded.runs) {
      await post(`/v1/runs/${id}/adjustments`, { amount_usd: '-1.5', reason: 'refund' });
    }
    const rows = await exported('&group_by=team');
    expect(rows.filter((row) => row.ChargeClass === '' && row.x_Kind === 'unsplit')).toEqual(before);
    const [correction, adjustment, ...none] = rows.filter((row) => row.x_Kind === 'adjustment');
    expect(none).toEqual([]);
    const unpriced = {
      BilledCost: '-1.5',
      ChargeFrequency: 'One-Time',
      ConsumedQuantity: '',
      ConsumedUnit: '',
      ListUnitPrice: '',
      PricingCategory: '',
      PricingQuantity: '',
      PricingUnit: '',
      SkuId: 'later:adjustment',
      SkuMeter: 'Adjustments',
      SkuPriceDetails: '',
      SkuPriceId: '',
      SubAccountId: 'blue',
    };
    expect(correction).toMatchObject({
      ...unpriced,
      BillingPeriodStart: '2026-11-01T00:00:00Z',
      ChargePeriodStart: '2026-10-30T00:00:00Z',
      ChargeCategory: 'Usage',
      ChargeClass: 'Correction',
      ChargeDescription: 'Correction: Usage of later',
    });
    expect(adjustment).toMatchObject({
      ...unpriced,
      ChargePeriodStart: '2026-11-02T00:00:00Z',
      ChargeCategory: 'Adjustment',
      ChargeClass: '',
      ChargeDescription: 'Adjustment: Usage of later',
    });
  });
});

const { seeds } = seedsOf('focus');

/** Posts runs of all kinds over three months, and corrects some of them, in the month of their charge or later. */
async function postRandomly(at: World, of: TestOrg, random: Random): Promise<void> {
  await putPrice(at, 'every-kind', everyRate);
  const policy = { on_unpriced: 'hold_default', input_usd_per_million: '1', output_usd_per_million: '3' };
  await call(at, of, ['PUT', `/v1/orgs/${of.id}/unpriced-policy`], policy);
  const ids: string[] = [];
  const unpriced: string[] = [];
  const count = (below: number) => random.int(below);
  for (let step = 0; step < 70; step += 1) {
    const parts = [count(900), count(900), count(900), count(900)] as const;
    const run = {
      provider: random.of(['openai', 'anthropic']),
      ...(random.chance(60) && { team: random.of(['blue', 'red']) }),
      ...(random.chance(40) && { tags: { environment: random.of(['test', 'production']) } }),
      input_tokens: parts.reduce((sum, one) => sum + one) + count(5_000),
      cached_input_tokens: parts[0],
      cache_write_tokens: parts[1],
      output_tokens: 400 + count(2_000),
      reasoning_tokens: count(200),
      ...(random.chance(20) && {
        started_at: new Date(at.clock.now().getTime() - count(40) * 86_400_000).toISOString(),
      }),
    };
    const body = random.weighted<{ readonly model: string; readonly [field: string]: unknown }>([
      [
        4,
        {
          ...run,
          model: 'every-kind',
          cache_write_1h_tokens: parts[2],
          audio_input_tokens: parts[3],
          images: count(3),
          units: { web_search: count(4) },
        },
      ],
      [2, { ...run, model: 'every-kind', cost_usd: formatUsd(BigInt(count(2_000_000_000))) }],
      [2, { ...run, model: `unpriced-${count(2)}` }],
      [1, { model: 'pictures', provider: 'openai', cost_usd: '0.123456789' }],
    ]);
    const posted = await call(at, of, ['POST', '/v1/runs/bulk?enforcement=record'], { runs: [body] });
    const [{ id }] = posted.json.runs;
    ids.push(id);
    if (body.model.startsWith('unpriced')) {
      unpriced.push(id);
    }
    if (random.chance(30)) {
      const amount_usd = `${random.of(['-', ''])}0.000${count(999_999)}`;
      await call(at, of, ['POST', `/v1/runs/${random.of(ids)}/adjustments`], { amount_usd, reason: 'r' });
    }
    if (random.chance(20) && unpriced.length > 0) {
      const [run = ''] = unpriced.splice(count(unpriced.length), 1);
      for (const name of ['unpriced-0', 'unpriced-1']) {
        await putPrice(at, name, { input_usd_per_million: `${1 + count(9)}`, output_usd_per_million: '4' });
      }
      await at.request('POST', `/v1/runs/${run}/reprice`, { key: of.ownerKey, body: {} });
    }
    at.clock.advanceSeconds(count(2 * 86_400));
  }
}

/** Sums the ledger by charge, as rows name it, from the entries alone. */
async function ledgerSums(at: World, of: TestOrg): Promise<Record<string, string>> {
  const entries = await at.db.query<
    Record<'kind' | 'provider' | 'model' | 'parts' | 'team', string | null> & {
      charged_at: Date;
      booked_at: Date;
      usd_nanos: bigint;
      tokens: bigint;
      requests: bigint;
    }
  >('SELECT * FROM ledger_entries WHERE org_id = $1', [of.id]);
  const sums = new Map<string, bigint>();
  for (const entry of entries) {
    const parts = readParts(entry.parts ?? '');
    const rest = parts.reduce((left, { nanos }) => left - nanos, entry.usd_nanos);
    const [charged = '', booked = ''] = [entry.charged_at, entry.booked_at].map((one) => one.toISOString());
    const isMoney = entry.kind === 'adjustment' && entry.tokens === 0n && entry.requests === 0n;
    const correctedIn = isMoney && booked.slice(0, 7) > charged.slice(0, 7) ? booked.slice(0, 7) : '';
    for (const { code, nanos } of [...parts, { code: '-', nanos: rest }]) {
      const key = [
        charged.slice(0, 10),
        entry.provider,
        entry.model,
        entry.team ?? '',
        kindOfCode(code),
        correctedIn,
      ].join(' ');
      sums.set(key, (sums.get(key) ?? 0n) + nanos);
    }
  }
  return Object.fromEntries(
    [...sums].filter(([, nanos]) => nanos !== 0n).map(([key, nanos]) => [key, formatUsd(nanos)]),
  );
}

describe('random postings', () => {
  test.each(seeds)(
    'random postings are exported by kind as they are in the ledger (seed %d)',
    async (seed) => {
      const own = await createWorld();
      try {
        const of = await own.createOrg();
        await postRandomly(own, of, new Random(seed));
        const rows = await exportOf(own, of, '&group_by=team&from=2026-10-01T00:00:00Z');
        const sums = rows.map((row) => [
          [
            row.ChargePeriodStart?.slice(0, 10),
            row.ServiceProviderName,
            row.x_Model,
            row.SubAccountId,
            row.x_Kind,
            row.ChargeClass === 'Correction' ? row.BillingPeriodStart?.slice(0, 7) : '',
          ].join(' '),
          row.BilledCost ?? '',
        ]);
        expect(new Set(sums.map(([key]) => key)).size).toBe(rows.length);
        expect(Object.fromEntries(sums.filter(([, cost]) => cost !== '0'))).toEqual(
          await ledgerSums(own, of),
        );
        expect(rows.filter((row) => row.ChargeClass === 'Correction').length).toBeGreaterThan(3);
        expect(new Set(rows.map((row) => row.x_Kind)).size).toBeGreaterThan(9);
        for (const query of [
          '',
          '&group_by=month',
          '&group_by=hour,tag:environment',
          '&team=blue',
          '&provider=openai',
          '&tag=environment%3Dtest',
          '&without=team',
          '&from=2026-11-20T07:15:00Z&to=2026-12-24T05:00:00Z',
        ]) {
          await expectSums(own, of, query.includes('from=') ? query : `${query}&from=2026-10-01T00:00:00Z`);
        }
        for (const row of rows.filter(({ PricingQuantity }) => PricingQuantity !== '')) {
          expect(productOf(row), JSON.stringify(row)).toBe(row.ListCost);
        }
      } finally {
        await own.close();
      }
    },
  );
});

/** An export adds up to usage, of each kind and altogether, and to the export in FOCUS 1.2. */
async function expectSums(at: World, of: TestOrg, query: string): Promise<void> {
  const rows = await exportOf(at, of, query);
  const path = `/v1/orgs/${of.id}/usage`;
  const ofUsage = query.replace(/&group_by=[^&]*/, '');
  const { total, data } = (await call(at, of, ['GET', `${path}?group_by=kind&limit=200${ofUsage}`])).json;
  const whole = focusRows((await call(at, of, ['GET', `${path}/focus?version=1.2${query}`])).text);
  for (const column of ['BilledCost', 'EffectiveCost', 'ListCost', 'ContractedCost']) {
    expect([sumOfColumn(rows, column), sumOfColumn(whole, column)], query).toEqual([
      total.cost_usd,
      total.cost_usd,
    ]);
  }
  for (const { kind, cost_usd } of data) {
    const ofKind = rows.filter((row) => row.x_Kind === kind);
    expect(sumOfColumn(ofKind, 'BilledCost'), `${query} ${kind}`).toBe(cost_usd);
  }
}

function productOf({ ListUnitPrice = '', PricingQuantity = '' }: FocusCells): string {
  const integer = (text: string, decimals: number) => {
    const [whole = '', fraction = ''] = text.split('.');
    return BigInt(whole + fraction.padEnd(decimals, '0').slice(0, decimals));
  };
  const product =
    integer(ListUnitPrice, decimalsOf.price) * integer(PricingQuantity, decimalsOf.priced_quantity);
  return formatUsd(
    roundedQuotient(product, 10n ** BigInt(decimalsOf.price + decimalsOf.priced_quantity - 9)),
  );
}
