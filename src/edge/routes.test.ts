/** The edge decision over HTTP: holds, denials and settlement. */
import { describe, expect, test } from 'vitest';
import { createWorld, type TestAnswer, type TestOrg, useWorld } from '../../test/harness.ts';

const world = useWorld();

async function ask(org: TestOrg, body: object, headers: Record<string, string> = {}) {
  return world.request('POST', '/v1/edge/decision', { key: org.ownerKey, body, headers });
}

async function capped(capUsd: string): Promise<TestOrg> {
  const org = await world.createOrg();
  await world.request('PUT', `/v1/orgs/${org.id}/spend-cap`, {
    key: org.ownerKey,
    body: { cap_usd: capUsd },
  });
  return org;
}

describe('an edge decision', () => {
  test('holds its maximum cost, up to the limit and not a nanodollar more', async () => {
    const org = await capped('1');
    const first = await ask(org, { model: 'm', estimated_cost_usd: '0.999999999' });
    expect(first.status).toBe(200);
    expect(first.json).toMatchObject({
      decision: 'allow',
      held_usd: '0.999999999',
      limits: [{ kind: 'spend_cap', remaining: '0.000000001' }],
      not_checked: [],
    });
    const second = await ask(org, { model: 'm', estimated_cost_usd: '0.000000002' });
    expect(second.status).toBe(402);
    expect(second.json.error).toMatchObject({
      code: 'spend_cap_exceeded',
      details: { cap_usd: '1', spent_usd: '0.999999999', held_usd: '0.999999999', reason: 'pre_flight' },
    });
    expect((await ask(org, { model: 'm', estimated_cost_usd: '0.000000001' })).status).toBe(200);
  });

  test('an edge decision is settled by the run that names it, for its actual cost', async () => {
    const org = await capped('1');
    const { json } = await ask(org, { model: 'm', estimated_cost_usd: '0.6' });
    const run = await world.request('POST', '/v1/runs', {
      key: org.ownerKey,
      body: { model: 'm', cost_usd: '0.25', decision_id: json.decision_id },
    });
    expect(run.status).toBe(201);
    expect(run.json).toMatchObject({ cost_usd: '0.25', marks: [] });
    const next = await ask(org, { model: 'm', estimated_cost_usd: '0.75' });
    expect(next.json.limits[0].remaining).toBe('0');
  });

  test('holds the cost of images, and limits the output tokens to the rest', async () => {
    const org = await capped('1');
    await world.request('PUT', '/v1/admin/models/draws', {
      key: world.operatorKey,
      body: { input_usd_per_million: '0', output_usd_per_million: '1', image_usd: '0.04' },
    });
    const asked = { model: 'draws', images: 2 };
    const tokens = await ask(org, { ...asked, input_tokens: 10, max_output_tokens: 1_000 });
    expect(tokens.json).toMatchObject({ held_usd: '0.081', max_output_tokens: 1_000 });
    const given = await ask(org, { ...asked, estimated_cost_usd: '0.0801' });
    expect(given.json).toMatchObject({ held_usd: '0.0801', max_output_tokens: 100 });
  });

  test('an edge decision whose cost exceeds the maximum amount is rejected, like such a run', async () => {
    const org = await capped('1');
    await world.request('PUT', '/v1/admin/models/dearest', {
      key: world.operatorKey,
      body: { input_usd_per_million: '8999999999', output_usd_per_million: '1' },
    });
    const tokens = { model: 'dearest', input_tokens: 1_000_001 };
    const opened = await world.request('POST', '/v1/runs', {
      key: org.ownerKey,
      body: { status: 'running', model: 'dearest', estimated_cost_usd: '0.1' },
    });
    const asked: [path: string, body: object, field: string][] = [
      ['/v1/edge/decision', { ...tokens, max_output_tokens: 1 }, 'max_output_tokens'],
      ['/v1/runs', { ...tokens, status: 'running', max_output_tokens: 1 }, 'max_output_tokens'],
      ['/v1/runs', tokens, 'output_tokens'],
      [`/v1/runs/${opened.json.id}/complete`, { input_tokens: 1_000_001 }, 'output_tokens'],
    ];
    for (const [path, body, field] of asked) {
      const { status, json } = await world.request('POST', path, { key: org.ownerKey, body });
      expect({ path, status, fields: json.error?.details.fields }).toMatchObject({
        path,
        status: 422,
        fields: [{ field, code: 'out_of_range' }],
      });
    }
  });

  test('rejects a deeply nested body with a validation error', async () => {
    const org = await capped('1');
    await ask(org, { model: 'm', estimated_cost_usd: '0.1' });
    for (const depth of [60, 4_000, 8_000]) {
      const payload = `{"model":${'['.repeat(depth)}${']'.repeat(depth)}}`;
      const nested = await world.request('POST', '/v1/edge/decision', { key: org.ownerKey, raw: payload });
      expect(nested.json.error.code).toBe('validation_failed');
    }
    expect((await ask(org, { model: 'm', estimated_cost_usd: '0.1' })).status).toBe(200);
  });
});

describe('an edge decision with an Idempotency-Key', () => {
  const body = { model: 'm', estimated_cost_usd: '0.6' };
  const replayOf = ({ status, text, headers }: TestAnswer) => [status, text, headers['idempotent-replayed']];
  const holdsOf = async (org: TestOrg) =>
    (await world.request('GET', `/v1/orgs/${org.id}/holds`, { key: org.ownerKey })).json.data;

  test('an edge decision with an Idempotency-Key is replayed after its run for 72 hours, and takes no second hold', async () => {
    const org = await capped('1');
    const headers = { 'idempotency-key': 'late' };
    const first = await ask(org, body, headers);
    expect(first.headers['idempotent-replayed']).toBeUndefined();
    expect(replayOf(await ask(org, body, headers))).toEqual([200, first.text, 'true']);
    const run = await world.request('POST', '/v1/runs', {
      key: org.ownerKey,
      body: { model: 'm', cost_usd: '0.5', decision_id: first.json.decision_id },
    });
    expect(run.status).toBe(201);
    const conflict = await ask(org, { ...body, workflow: 'w' }, headers);
    expect([conflict.status, conflict.json.error.code]).toEqual([409, 'idempotency_key_conflict']);
    expect(replayOf(await ask(org, body, headers))).toEqual([200, first.text, 'true']);
    expect(await holdsOf(org)).toEqual([]);
    world.clock.advanceSeconds(3 * 86_400);
    const fresh = await ask(org, body, headers);
    expect(replayOf(fresh)).toEqual([200, fresh.text, undefined]);
    expect(fresh.json.decision_id).not.toBe(first.json.decision_id);
  });

  test('an edge decision with an Idempotency-Key is decided once for concurrent requests: the others wait for it and get the same response', async () => {
    const org = await capped('1');
    const headers = { 'idempotency-key': 'at once' };
    const answers = await Promise.all(Array.from({ length: 8 }, () => ask(org, body, headers)));
    expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
    expect(answers[0]?.status).toBe(200);
    expect(answers.filter((answer) => answer.headers['idempotent-replayed'] === undefined)).toHaveLength(1);
    expect(await holdsOf(org)).toHaveLength(1);
  });

  test('an edge decision with an Idempotency-Key is a conflict for a concurrent request with another body', async () => {
    const org = await capped('2');
    const headers = { 'idempotency-key': 'either' };
    const answers = await Promise.all(
      ['0.6', '0.7'].map((estimated_cost_usd) => ask(org, { ...body, estimated_cost_usd }, headers)),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409]);
    expect(answers.find(({ status }) => status === 409)?.json.error.code).toBe('idempotency_key_conflict');
    expect(await holdsOf(org)).toHaveLength(1);
  });

  test('an edge decision with an Idempotency-Key is decided again after a denial', async () => {
    const org = await capped('0.5');
    const headers = { 'idempotency-key': 'denied' };
    expect((await ask(org, body, headers)).status).toBe(402);
    await world.request('PUT', `/v1/orgs/${org.id}/spend-cap`, {
      key: org.ownerKey,
      body: { cap_usd: '1' },
    });
    const allowed = await ask(org, body, headers);
    expect(replayOf(allowed)).toEqual([200, allowed.text, undefined]);
  });

  test('an edge decision with an Idempotency-Key is replayed even if a rate limit or a removed price would deny it now', async () => {
    const org = await capped('10');
    const headers = { 'idempotency-key': 'rated' };
    await world.request('PUT', '/v1/admin/orgs/{org}/rate-limits'.replace('{org}', org.id), {
      key: world.operatorKey,
      body: {
        policies: [
          {
            name: 'one',
            match: { model: 'm' },
            unit: 'requests',
            limit: 1,
            window_seconds: 60,
            kind: 'rate',
          },
        ],
      },
    });
    const first = await ask(org, body, headers);
    expect(first.status).toBe(200);
    expect(replayOf(await ask(org, body, headers))).toEqual([200, first.text, 'true']);
    expect((await ask(org, body)).json.error.code).toBe('rate_limited');

    const path = `/v1/admin/orgs/${org.id}/prices/short-lived`;
    await world.request('PUT', path, {
      key: world.operatorKey,
      body: { input_usd_per_million: '1', output_usd_per_million: '1' },
    });
    const priced = { model: 'short-lived', input_tokens: 10, max_output_tokens: 10 };
    const second = await ask(org, priced, { 'idempotency-key': 'priced' });
    expect(second.status).toBe(200);
    await world.request('DELETE', path, { key: world.operatorKey });
    expect((await ask(org, priced)).json.error.code).toBe('validation_failed');
    expect(replayOf(await ask(org, priced, { 'idempotency-key': 'priced' }))).toEqual([
      200,
      second.text,
      'true',
    ]);
  });

  test('an edge decision with an Idempotency-Key is not stored in plain text', async () => {
    const org = await capped('1');
    const headers = { 'idempotency-key': 'chosen-by-the-client-91b0' };
    const { json } = await ask(org, body, headers);
    await world.request('DELETE', `/v1/orgs/${org.id}/holds/${json.decision_id}`, { key: org.ownerKey });
    const stored = await world.db.query<{ text: string; body: Uint8Array }>(
      'SELECT k::text AS text, body FROM idempotency_keys k WHERE tenant_id = $1',
      [org.id],
    );
    expect(stored).toHaveLength(1);
    const seen = stored.map((row) => row.text + Buffer.from(row.body).toString('latin1')).join();
    for (const secret of ['chosen-by', json.decision_id, 'allow']) {
      expect(seen).not.toContain(secret);
    }
  });
});

test('the fast path of decisions enforces the body size limit', async () => {
  const small = await createWorld({ SVC_BODY_LIMIT_BYTES: '1024' });
  try {
    const org = await small.createOrg();
    const send = (workflow: string) =>
      small.request('POST', '/v1/edge/decision', {
        key: org.ownerKey,
        body: { model: 'm', estimated_cost_usd: '0.1', workflow },
      });
    expect((await send('w')).status).toBe(200);
    expect((await send('w'.repeat(1_100))).json.error.code).toBe('payload_too_large');
  } finally {
    await small.close();
  }
});
