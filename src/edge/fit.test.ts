/** Edge decisions with `fit`: the most output tokens that all limits allow. */
import { beforeAll, describe, expect, test } from 'vitest';
import { useOrgPerTest, useWorld } from '../../test/harness.ts';
import { errorSummary } from '../../test/support/limits.ts';

const world = useWorld();
const org = useOrgPerTest(world);
beforeAll(async () => {
  const put = (model: string, body: object) =>
    world.request('PUT', `/v1/admin/models/${model}`, { key: world.operatorKey, body });
  await put('priced', { input_usd_per_million: '3', output_usd_per_million: '25' });
  await put('bounded', {
    input_usd_per_million: '3',
    output_usd_per_million: '25',
    max_output_tokens: 64_000,
  });
});

const call = (method: string, path: string, body?: object, headers: Record<string, string> = {}) =>
  world.request(method, path, { key: org.ownerKey, ...(body && { body }), headers });
const ask = (body: object, headers?: Record<string, string>) =>
  call('POST', '/v1/edge/decision', { model: 'priced', input_tokens: 1_000, ...body }, headers);
const askFitting = (body: object, headers?: Record<string, string>) => ask({ fit: true, ...body }, headers);
const cap = (usd: string) => call('PUT', `/v1/orgs/${org.id}/spend-cap`, { cap_usd: usd });
const rate = (policy: object) =>
  world.request('PUT', `/v1/admin/orgs/${org.id}/rate-limits`, {
    key: world.operatorKey,
    body: { policies: [{ name: 'r', window_seconds: 3_600, kind: 'rate', ...policy }] },
  });

describe('a decision that fits', () => {
  test('holds what the cap pays, where the same call without `fit` is denied', async () => {
    await cap('1.5');
    expect(errorSummary(await ask({ max_output_tokens: 64_000 }))).toEqual([402, 'spend_cap_exceeded']);
    const { status, json } = await askFitting({ max_output_tokens: 64_000 });
    // 1,000 input tokens cost 0.003, each output token 0.000025.
    expect([status, json.max_output_tokens, json.held_usd]).toEqual([200, 59_880, '1.5']);
    expect(json.limits).toMatchObject([{ kind: 'spend_cap', remaining: '0' }]);
    const { json: run } = await call('POST', '/v1/runs', {
      model: 'priced',
      input_tokens: 1_000,
      output_tokens: 59_880,
      decision_id: json.decision_id,
    });
    expect([run.cost_usd, run.marks]).toEqual(['1.5', []]);
  });

  test('holds the whole request if there is room, and the maximum of the model if none is named', async () => {
    expect((await askFitting({ max_output_tokens: 700 })).json).toMatchObject({
      max_output_tokens: 700,
      held_usd: '0.0205',
    });
    expect((await askFitting({ model: 'bounded' })).json.max_output_tokens).toBe(64_000);
    await cap('2');
    expect((await askFitting({ model: 'bounded', min_output_tokens: 10_000 })).json.max_output_tokens).toBe(
      14_940,
    );
  });

  test('a decision that fits is denied like a decision for the minimum if that does not fit', async () => {
    await cap('1');
    const { status, json } = await askFitting({ max_output_tokens: 64_000, min_output_tokens: 40_000 });
    expect([status, json.error.code, json.error.details]).toEqual([
      402,
      'spend_cap_exceeded',
      expect.objectContaining({ attempted_usd: '1.003', spent_usd: '0' }),
    ]);
    expect((await askFitting({ max_output_tokens: 64_000, min_output_tokens: 39_880 })).status).toBe(200);
    expect(errorSummary(await askFitting({ max_output_tokens: 1 }))).toEqual([402, 'spend_cap_exceeded']);
  });

  test('returns the same number for the same idempotency key, whatever was spent since', async () => {
    await cap('1');
    const headers = { 'idempotency-key': 'one' };
    const first = await askFitting({ max_output_tokens: 10_000 }, headers);
    await askFitting({ max_output_tokens: 64_000 });
    const again = await askFitting({ max_output_tokens: 10_000 }, headers);
    expect([again.text, again.headers['idempotent-replayed']]).toEqual([first.text, 'true']);
    expect(errorSummary(await askFitting({ max_output_tokens: 10_001 }, headers))).toEqual([
      409,
      'idempotency_key_conflict',
    ]);
  });

  test.each([
    [{ fit: true, max_output_tokens: 9, estimated_cost_usd: '1' }, 'fit invalid_value'],
    [{ fit: true, max_output_tokens: 9, input_tokens: undefined }, 'input_tokens required'],
    [{ fit: true }, 'max_output_tokens required'],
    [{ fit: true, max_output_tokens: 9, model: 'unpriced' }, 'model invalid_value'],
    [{ fit: true, max_output_tokens: 9, min_output_tokens: 10 }, 'min_output_tokens out_of_range'],
    [{ max_output_tokens: 9, min_output_tokens: 1 }, 'min_output_tokens invalid_value'],
    [{ fit: 'yes', max_output_tokens: 9 }, 'fit invalid_type'],
    [{ fit: true, max_output_tokens: 9, min_output_tokens: -1 }, 'min_output_tokens out_of_range'],
  ])('rejects %j', async (body, error) => {
    expect(errorSummary(await ask(body))).toEqual([422, 'validation_failed', error]);
  });

  test('a decision that fits may have no output at all, if that was asked for', async () => {
    await cap('0.003');
    expect(errorSummary(await askFitting({ max_output_tokens: 9 }))).toEqual([402, 'spend_cap_exceeded']);
    expect((await askFitting({ max_output_tokens: 9, min_output_tokens: 0 })).json.max_output_tokens).toBe(0);
  });
});

describe('rate limits by tokens or cost', () => {
  test('reduce the hold to their burst, and then to what they allow now', async () => {
    await rate({ unit: 'tokens', limit: 6_000, burst: 5_000 });
    expect((await askFitting({ max_output_tokens: 64_000 })).json.max_output_tokens).toBe(4_000);
    expect(errorSummary(await askFitting({ max_output_tokens: 64_000 }))).toEqual([429, 'rate_limited']);
    // Half an hour refills 3,000 tokens.
    world.clock.advanceSeconds(1_800);
    expect((await askFitting({ max_output_tokens: 64_000 })).json.max_output_tokens).toBe(2_000);
  });

  test('rate limits by tokens or cost are debited for the held tokens only', async () => {
    await rate({ unit: 'tokens', limit: 50_000 });
    await cap('0.503');
    const { json } = await askFitting({ max_output_tokens: 64_000 });
    expect(json.max_output_tokens).toBe(20_000);
    await cap('9');
    expect((await askFitting({ max_output_tokens: 64_000 })).json.max_output_tokens).toBe(28_000);
  });

  test('rate limits by tokens or cost in dollars reduce the hold too, and deny a minimum above the burst for good', async () => {
    await rate({ unit: 'usd', limit: '0.503' });
    expect((await askFitting({ max_output_tokens: 64_000 })).json.held_usd).toBe('0.503');
    const denied = await askFitting({ max_output_tokens: 64_000, min_output_tokens: 30_000 });
    expect([denied.status, denied.json.error.code]).toEqual([402, 'quota_exhausted']);
  });

  test('get everything back if the ledger denies', async () => {
    await rate({ unit: 'tokens', limit: 5_000 });
    await cap('0.001');
    expect(errorSummary(await askFitting({ max_output_tokens: 4_000 }))).toEqual([402, 'spend_cap_exceeded']);
    await cap('9');
    expect((await askFitting({ max_output_tokens: 4_000 })).json.max_output_tokens).toBe(4_000);
  });
});

test('200 parallel decisions that fit never exceed the cap, and leave less than one minimum', async () => {
  await cap('1');
  const answers = await Promise.all(
    Array.from({ length: 200 }, () =>
      askFitting({ input_tokens: 0, max_output_tokens: 900, min_output_tokens: 70 }),
    ),
  );
  const held = answers.flatMap(({ status, json }) => (status === 200 ? Number(json.max_output_tokens) : []));
  const total = held.reduce((sum, tokens) => sum + tokens, 0);
  expect(total).toBeLessThanOrEqual(40_000);
  expect(total).toBeGreaterThan(40_000 - 70);
  expect(answers.filter(({ status }) => status !== 200).map(({ status }) => status)).toEqual(
    Array(200 - held.length).fill(402),
  );
  const { json } = await call('GET', `/v1/orgs/${org.id}/ledger/reconciliation`);
  expect(json).toMatchObject({ balanced: true, drift_usd: '0' });
});
