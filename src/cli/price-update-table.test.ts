import { expect, test } from 'vitest';
import { readPriceList } from '../capabilities/spend/price-lists/index.ts';
import { showUpdate, type UpdateResult } from './price-update-table.ts';

const list = readPriceList(
  JSON.stringify({
    'gpt-4o': { litellm_provider: 'openai', input_cost_per_token: 2.5e-6 },
    'elsewhere/gpt-4o': { litellm_provider: 'elsewhere', input_cost_per_token: 2.5e-6 },
  }),
  { asOf: '2026-11-16' },
);
const model = (name: string, more: Partial<UpdateResult['models'][number]>) => ({
  model: name,
  provider: 'openai',
  status: 'changed' as const,
  reason: null,
  priced_as: null,
  rates: [{ rate: 'input_usd_per_million', before: '2', after: '2.5', change_percent: 25 }],
  price_version: null,
  change_id: null,
  source: 'LiteLLM',
  ...more,
});
const result: UpdateResult = {
  dry_run: true,
  effective_from: '2026-11-16T06:00:00.000Z',
  counts: { added: 1, changed: 1, pending: 1, kept: 1, skipped: 1, unchanged: 7 },
  models: [
    model('changed', {}),
    model('added', {
      status: 'added',
      rates: [{ rate: 'input_usd_per_million', before: null, after: '12.5', change_percent: null }],
    }),
    model('kept', { status: 'kept', reason: 'operator_price' }),
    model('skipped', { status: 'skipped', reason: 'no_price', rates: [] }),
    model('dated-1', {
      status: 'pending',
      priced_as: 'dated',
      rates: [
        { rate: 'input_usd_per_million', before: '2', after: '0', change_percent: -100 },
        { rate: 'request_usd', before: null, after: '1', change_percent: null },
      ],
    }),
  ],
};

test('shows a row per rate, what waits first, and totals', () => {
  expect(showUpdate(result, list)).toBe(
    `
         MODEL                          RATE                   BEFORE  AFTER    CHANGE
waits    dated-1 (was priced as dated)  input_usd_per_million       2      0    -100 %
                                        request_usd                 –      1  new rate
changed  changed                        input_usd_per_million       2    2.5     +25 %
new      added                          input_usd_per_million       –   12.5
kept     kept                           input_usd_per_million       2    2.5     +25 %
                                        an operator set the price

list        litellm, 1 models imported; not imported: 1 of other providers
new         1
changed     1
waits       1, for an operator: see Prices in the console, or GET /v1/admin/price-changes
kept        1
unchanged   7
skipped     1, with billing that prices cannot express: see --json
dry run: nothing was changed
`.slice(1, -1),
  );
});

test('shows only totals if nothing differs', () => {
  const counts = { added: 0, changed: 0, pending: 0, kept: 0, skipped: 0, unchanged: 1 };
  const text = showUpdate({ ...result, dry_run: false, counts, models: [] }, list);
  expect(text).toMatch(/^list .*\nnew +0\n/);
  expect(text).toMatch(/\nwaits +0\n/);
  expect(text).toMatch(/\nin force +from 2026-11-16T06:00:00.000Z$/);
});
