import { expect, test } from 'vitest';
import { secretsKeyBytes } from '../../../platform/secrets/key-ring.ts';
import { createSecrets } from '../../../platform/secrets/secrets.ts';
import { createRunDigest } from './run-digest.ts';
import { CreateRun } from './schema.ts';

const digest = createRunDigest(createSecrets([Buffer.alloc(secretsKeyBytes)]));
const digestOf = (body: Partial<CreateRun>) => digest('org', { model: 'm', ...body });

test.each<[string, Partial<CreateRun>, Partial<CreateRun>]>([
  ['amounts by their value', { cost_usd: '1.50', value_usd: '02' }, { cost_usd: '1.5', value_usd: '2.000' }],
  [
    'times by their instant',
    { started_at: '2026-01-01T00:00:00Z' },
    { started_at: '2026-01-01T02:00:00.000+02:00' },
  ],
  ['tags without their order', { tags: { a: '1', b: '2' } }, { tags: { b: '2', a: '1' } }],
  [
    'metadata without its order',
    { metadata: { a: { c: 1, b: [2] } } },
    { metadata: { a: { b: [2], c: 1 } } },
  ],
  ['the default of a field like the field left out', { status: 'succeeded', input_tokens: 0 }, {}],
  ['no units and no one-hour writes like none given', { units: {}, cache_write_1h_tokens: 0 }, {}],
  ['no tags and no metadata like none given', { tags: {}, metadata: {} }, {}],
  ['the external id, which it belongs to, not at all', { external_id: 'a' }, { external_id: 'b' }],
])('compares %s', (_, one, other) => {
  expect(digestOf(one)).toBe(digestOf(other));
});

/** A non-default value for every field of a run. */
const values: Record<Exclude<keyof CreateRun, 'external_id'>, unknown> = {
  model: 'n',
  status: 'failed',
  provider: 'a',
  action: 'a',
  workflow: 'a',
  deployment: 'a',
  department: 'a',
  team: 'a',
  customer_id: 'a',
  chain_id: 'a',
  parent_run_id: 'a',
  tags: { a: 'a' },
  input_tokens: 1,
  cached_input_tokens: 1,
  cached_image_input_tokens: 1,
  cache_write_tokens: 1,
  output_tokens: 1,
  audio_input_tokens: 1,
  audio_output_tokens: 1,
  image_input_tokens: 1,
  images: 1,
  cost_usd: '0',
  stated_cost_usd: '0',
  value_usd: '0',
  latency_ms: 0,
  finished_at: '2026-01-01T00:00:00Z',
  metadata: { a: null },
  estimated_cost_usd: '0',
  max_output_tokens: 0,
  expires_in_seconds: 60,
  started_at: '2026-01-01T00:00:00Z',
  content: '',
  decision_id: 'a',
  member_id: 'a',
  project: 'a',
  service_tier: 'a',
  region: 'a',
  cache_write_1h_tokens: 1,
  units: { a: 1 },
  served_model: 'a',
  reasoning_tokens: 1,
  other_models: [{ model: 'adviser', input_tokens: 1 }],
};

test('every field of a run changes the digest, and each to a different one', () => {
  const fields = Object.keys(CreateRun.properties).filter((field) => field !== 'external_id');
  expect(Object.keys(values).sort()).toEqual(fields.sort());
  const digests = Object.entries(values).map(([field, value]) => digestOf({ [field]: value }));
  expect(new Set([digestOf({}), ...digests]).size).toBe(digests.length + 1);
});

test('the digest depends on the org and on the key', () => {
  const elsewhere = createRunDigest(createSecrets([Buffer.alloc(secretsKeyBytes, 1)]));
  const all = [digestOf({}), digest('other', { model: 'm' }), elsewhere('org', { model: 'm' })];
  expect(new Set(all).size).toBe(3);
});
