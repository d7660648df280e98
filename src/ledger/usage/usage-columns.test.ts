import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { scopeOf } from '../../../test/support/ledger-values.ts';
import { LedgerWorld } from '../../../test/support/ledger-world.ts';
import {
  limitDimensions,
  runDimensionNames,
  scopeDimensions,
  usageDimensions,
} from '../../contract/run-dimensions.ts';
import { sharedScope } from '../scope.ts';
import { usageDigest, usageIdentity, usageMeasures } from './usage-columns.ts';

let world: LedgerWorld;
beforeAll(async () => {
  world = await LedgerWorld.open();
});
afterAll(() => world.close());

async function columnsOf(table: string): Promise<string[]> {
  const rows = await world.db.query<{ name: string }>(
    `SELECT column_name AS name FROM information_schema.columns
      WHERE table_schema = 'public' AND table_name = $1 ORDER BY 1`,
    [table],
  );
  return rows.map(({ name }) => name);
}

describe('the list of run dimensions covers every column of', () => {
  const usageColumns = [
    'digest',
    'latencies',
    'org_id',
    'parts',
    'tags',
    ...usageDimensions,
    ...usageMeasures,
  ];

  test('usage_rollups', async () => {
    expect(await columnsOf('usage_rollups')).toEqual(['bucket', ...usageColumns].sort());
  });

  test('usage_days', async () => {
    expect(await columnsOf('usage_days')).toEqual(['day', ...usageColumns].sort());
  });

  test('usage_totals, which has no dimensions', async () => {
    expect(await columnsOf('usage_totals')).toEqual(
      ['bucket', 'failed', 'latencies', 'org_id', 'parts', ...usageMeasures].sort(),
    );
  });

  // A new column of `runs` is either a dimension, or is added here after erasure, retention and filters were
  // considered.
  test('runs, apart from identifiers, amounts, times and content', async () => {
    const others = [
      'org_id',
      'id',
      'external_id',
      'parent_run_id',
      'decision_id',
      'depth',
      'price_version',
      'priced_as',
      'served_model',
      'service_tier',
      'region',
    ];
    const amounts = [
      'input_tokens',
      'cached_input_tokens',
      'cache_write_tokens',
      'cache_write_1h_tokens',
      'units',
      'output_tokens',
      'cost_nanos',
    ];
    const moreAmounts = ['adjusted_nanos', 'uncovered_nanos', 'value_nanos', 'latency_ms'];
    const times = ['charged_at', 'started_at', 'finished_at', 'created_at'];
    const content = ['tags', 'metadata', 'content', 'marks', 'flagged_by'];
    expect(await columnsOf('runs')).toEqual(
      [...runDimensionNames, ...others, ...amounts, ...moreAmounts, ...times, ...content].sort(),
    );
  });

  test('ledger_entries, apart from identifiers, amounts, times and notes', async () => {
    const others = [
      'org_id',
      'id',
      'run_id',
      'kind',
      'charged_at',
      'booked_at',
      'marks',
      'note',
      'packs',
      'parts',
      'actor',
    ];
    const amounts = ['usd_nanos', 'tokens', 'requests', 'prepaid_nanos', 'uncovered_nanos'];
    expect(await columnsOf('ledger_entries')).toEqual(
      [...limitDimensions, 'tags', ...others, ...amounts].sort(),
    );
  });
});

test.each(scopeDimensions)('scopes that differ in %s alone are not shared', (name) => {
  const scope = { ...scopeOf({}), chain_id: null };
  expect(sharedScope({ ...scope, [name]: 'other' })).toMatchObject({ [name]: 'other' });
  expect(sharedScope({ ...scope, [name]: 'another' })).toMatchObject({ [name]: 'another' });
});

test('the digest of a usage row is the same as in earlier releases', () => {
  const dimensions = {
    key_id: 'key_1',
    model: 'gpt-4o',
    provider: 'openai',
    workflow: 'support',
    deployment: '',
    department: 'sales',
    team: '',
    customer_id: 'customer-7',
    status: 'succeeded',
    member_id: '',
    project: '',
  };
  expect(usageDigest(usageIdentity(dimensions, null))).toBe('o5FKGBe3FuO3aT4J8Hmey99tOGY');
  expect(usageDigest(usageIdentity(dimensions, { environment: 'test' }))).toBe('H_Kz2sYmHw5Y4PEVdLqOcfYyuWQ');
  expect(usageIdentity({ ...dimensions, member_id: 'mem_1' }, null)).not.toBe(
    usageIdentity(dimensions, null),
  );
});
