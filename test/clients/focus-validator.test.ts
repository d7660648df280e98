/**
 * The official validator of FOCUS, on exports of a service with every kind of usage, unsplit costs, adjustments and corrections. It ships
 * the rules of 1.2 and downloads those of 1.4 from the releases of the specification; `PURSER_FOCUS_RULES` names a directory that has them.
 */
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createWorld, type World } from '../harness.ts';
import { focusRows } from '../support/focus-rows.ts';
import { focusValidator } from './installed-clients.ts';

const run = promisify(execFile);
const python = await focusValidator();
const packages =
  python &&
  (await run(python, ['-c', 'import sysconfig; print(sysconfig.get_paths()["purelib"])'])).stdout.trim();

/** Arguments for the rules of 1.4: a directory, or none if the validator can load them. Undefined: they cannot be had here. */
const rulesOf14 = await loadRules();

async function loadRules(): Promise<readonly string[] | undefined> {
  const named = process.env.PURSER_FOCUS_RULES;
  if (named !== undefined || python === undefined) {
    return named === undefined ? undefined : [named];
  }
  const load =
    'from focus_validator.validator import Validator as V; V(None, None, "console", rules_version="1.4")';
  return run(python, ['-c', load], { cwd: packages as string }).then(
    () => [],
    () => {
      process.stderr.write(
        'Not tested: the rules of FOCUS 1.4 cannot be downloaded, and PURSER_FOCUS_RULES names none\n',
      );
      return undefined;
    },
  );
}

let world: World;
let url: string;
let orgId: string;
let key: string;
let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'purser-focus-'));
  world = await createWorld();
  ({ url } = await world.listen());
  const org = await world.createOrg('Validated');
  orgId = org.id;
  key = org.ownerKey;
  await postEverything();
});
afterAll(async () => {
  await world?.close();
  await rm(directory, { recursive: true, force: true });
});

async function send(method: string, path: string, body: object, by = key) {
  const answer = await world.request(method, path, { key: by, body });
  expect(answer.status, answer.text).toBeLessThan(300);
  return answer.json;
}

async function postEverything(): Promise<void> {
  const price = {
    input_usd_per_million: '2',
    cached_input_usd_per_million: '0.5',
    cache_write_usd_per_million: '2.5',
    output_usd_per_million: '10',
    audio_input_usd_per_million: '40',
    audio_output_usd_per_million: '80',
    image_usd: '0.25',
    request_usd: '0.01',
    units: { web_search: '0.02' },
    modifiers: [{ cache_write_ttl: '1h', cache_write_usd_per_million: '5' }],
  };
  await send('PUT', '/v1/admin/models/every-kind', price, world.operatorKey);
  const split = {
    model: 'every-kind',
    provider: 'openai',
    team: 'search',
    tags: { environment: 'production' },
    input_tokens: 50_007,
    cached_input_tokens: 1_003,
    cache_write_tokens: 1_001,
    cache_write_1h_tokens: 1_009,
    audio_input_tokens: 1_013,
    output_tokens: 3_001,
    reasoning_tokens: 107,
    audio_output_tokens: 211,
    images: 3,
    units: { web_search: 7 },
  };
  await send('POST', '/v1/runs', split);
  const { runs } = await send('POST', '/v1/runs/bulk?enforcement=record', {
    runs: [
      {
        model: 'gpt-4o',
        provider: 'openai',
        started_at: '2026-10-20T08:00:00Z',
        input_tokens: 1_234,
        output_tokens: 56,
      },
      {
        model: 'gpt-4o',
        provider: 'openai',
        started_at: '2026-11-03T08:00:00Z',
        input_tokens: 7,
        cost_usd: '0.123456789',
      },
      { model: 'pictures', team: 'support', started_at: '2026-11-03T09:00:00Z', cost_usd: '1' },
      {
        provider: 'anthropic',
        model: 'claude-sonnet-4-5',
        started_at: '2026-11-04T09:00:00Z',
        input_tokens: 4,
      },
    ],
  });
  for (const { id } of runs) {
    await send('POST', `/v1/runs/${id}/adjustments`, { amount_usd: '-0.000001', reason: 'refund' });
  }
}

/** Writes an export of all that was posted, and returns the path of the file. */
async function exportTo(version: string, format: 'csv' | 'parquet'): Promise<string> {
  const query = `version=${version}&format=${format}&group_by=team,tag:environment&from=2026-10-01T00:00:00Z`;
  const answer = await fetch(`${url}/v1/orgs/${orgId}/usage/focus?${query}`, {
    headers: { authorization: `Bearer ${key}` },
  });
  expect(answer.status).toBe(200);
  const file = join(directory, `focus-${version}.${format}`);
  await writeFile(file, Buffer.from(await answer.arrayBuffer()));
  return file;
}

interface Results {
  readonly passed: readonly string[];
  readonly failed: readonly string[];
}

async function validate(file: string, version: string, rules: readonly string[] = []): Promise<Results> {
  const script = join(import.meta.dirname, 'validate_focus.py');
  const { stdout } = await run(python as string, [script, file, version, criteria.join(), ...rules], {
    // The validator reads its list of currencies relative to the working directory.
    cwd: packages as string,
    maxBuffer: 64 * 1024 * 1024,
  });
  return JSON.parse(stdout);
}

/** The features of our data: the validator applies the rules of these features. */
const criteria = [
  'ACCOUNT_NAMING_SUPPORTED',
  'MULTIPLE_PRICING_CATEGORIES_SUPPORTED',
  'MULTIPLE_SUB_ACCOUNT_TYPES_SUPPORTED',
  'NEGOTIATED_PRICING_SUPPORTED',
  'PUBLIC_PRICE_LIST_SUPPORTED',
  'SUB_ACCOUNT_SUPPORTED',
  'TAGGING_SUPPORTED',
  'UNIT_PRICING_SUPPORTED',
  'USAGE_MEASUREMENT_SUPPORTED',
];

const formats = ['csv', 'parquet'] as const;
const pricingCurrencyPresence = ['D-047-C', 'D-048-C', 'D-051-C', 'D-052-C', 'D-055-C', 'D-056-C'];
const consumedQuantity = ['C-000-C', 'C-003-C', 'C-004-C', 'C-005-C', 'C-006-C'];
const rulesOf = (column: string, rules: readonly string[]) => rules.map((rule) => `${column}-${rule}`);
/** Rules that fail on the exports of each version. The guide says why. */
const expectedFailures = {
  '1.2': [
    ...rulesOf('ConsumedQuantity', consumedQuantity),
    ...rulesOf('CostAndUsage', ['D-046-C', 'D-050-C', 'D-054-C', ...pricingCurrencyPresence]),
    'InvoiceId-C-005-C',
    ...rulesOf('PricingCurrencyContractedUnitPrice', ['C-001-M', 'C-002-M']),
    ...rulesOf('PricingCurrencyEffectiveCost', ['C-001-M', 'C-002-M', 'C-003-M', 'C-004-M']),
    ...rulesOf('PricingCurrencyListUnitPrice', [
      ...['C-001-M', 'C-002-M', 'C-003-M', 'C-004-C', 'C-005-C', 'C-007-C', 'C-008-M'],
    ]),
  ].sort(),
  '1.4': [
    ...rulesOf('CAU-ConsumedQuantity', consumedQuantity),
    ...rulesOf('CAU-CostAndUsage', ['D-021-M', 'D-038-M', ...pricingCurrencyPresence]),
  ].sort(),
};

async function expectExpectedFailures(
  version: keyof typeof expectedFailures,
  format: (typeof formats)[number],
  rules: readonly string[] = [],
): Promise<void> {
  const { passed, failed } = await validate(await exportTo(version, format), version, rules);
  expect(failed.toSorted()).toEqual(expectedFailures[version]);
  expect(passed.length).toBeGreaterThan(200);
}

describe.skipIf(python === undefined)('the validator of FOCUS', () => {
  test('the validator of FOCUS is given every kind of charge', async () => {
    const rows = focusRows(await readFile(await exportTo('1.4', 'csv'), 'utf8'));
    expect(new Set(rows.map(({ x_Kind }) => x_Kind)).size).toBe(13);
    expect(new Set(rows.map((row) => `${row.ChargeCategory}${row.ChargeClass}`))).toEqual(
      new Set(['Usage', 'Adjustment', 'UsageCorrection']),
    );
  });

  test.each(formats)('the validator of FOCUS has only the known complaints about 1.2 as %s', (format) =>
    expectExpectedFailures('1.2', format),
  );

  test('rejects a category that FOCUS does not know', async () => {
    const file = await exportTo('1.2', 'csv');
    await writeFile(file, (await readFile(file, 'utf8')).replaceAll(',Usage,', ',Consumption,'));
    expect((await validate(file, '1.2')).failed).toContain('ChargeCategory-C-003-M');
  });

  test.skipIf(rulesOf14 === undefined).each(formats)(
    'the validator of FOCUS has only the known complaints about 1.4 as %s',
    (format) => expectExpectedFailures('1.4', format, rulesOf14),
  );
});
