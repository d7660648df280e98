/** Runs over HTTP: creating, settling, holding while in progress, bulk and lists. Rejected runs leave no trace. */
import { beforeAll, describe, expect, test, vi } from 'vitest';
import { type TestOrg, useOrg, useWorld } from '../../../../test/harness.ts';

const world = useWorld({ SVC_BULK_MAX_RUNS: '5' });
const org = useOrg(world);

const send = (method: string, path: string, body?: unknown, by = org, headers: Record<string, string> = {}) =>
  world.request(method, path, { key: by.ownerKey, headers, ...(body !== undefined && { body }) });
const faultsOf = ({
  json,
}: {
  json: { error: { details: { fields: { field: string; code: string }[] } } };
}) => json.error.details.fields.map(({ field, code }) => `${field} ${code}`);
const spentBy = async (of: TestOrg) => {
  const { json } = await send('GET', `/v1/orgs/${of.id}/usage`, undefined, of);
  return json.total.cost_usd;
};
const priced = { model: 'gpt-4o', input_tokens: 1_000_000, output_tokens: 0 };

describe('a finished run', () => {
  test('a finished run is charged the given cost or the price of its model, and stores the price version', async () => {
    const given = await send('POST', '/v1/runs', { model: 'home-grown', cost_usd: '0.000000001' });
    expect(given.json).toMatchObject({ status: 'succeeded', cost_usd: '0.000000001', price_version: null });
    const computed = await send('POST', '/v1/runs', priced);
    const { json: model } = await world.request('GET', '/v1/admin/models/gpt-4o', { key: world.operatorKey });
    expect(computed.json).toMatchObject({ cost_usd: model.input_usd_per_million, price_version: model.id });
    expect((await send('GET', `/v1/runs/${computed.json.id}`)).json).toEqual(computed.json);
  });

  test.each([
    // 200 × 2.5 + 800 × 32 + 100 × 10 + 400 × 64, divided by a million
    [
      'audio',
      {
        model: 'gpt-audio',
        input_tokens: 1_000,
        audio_input_tokens: 800,
        output_tokens: 500,
        audio_output_tokens: 400,
      },
      '0.0527',
    ],
    ['images', { model: 'dall-e-3', images: 2 }, '0.08'],
  ])(
    'a finished run is charged for its %s, when it is posted and when it is completed',
    async (_, said, cost_usd) => {
      expect((await send('POST', '/v1/runs', said)).json).toMatchObject({ cost_usd, marks: [] });
      const { model, ...measured } = said;
      const asked = { model, status: 'running', input_tokens: 1_000, max_output_tokens: 500, ...measured };
      const { json: run } = await send('POST', '/v1/runs', asked);
      const completed = await send('POST', `/v1/runs/${run.id}/complete`, measured);
      // No marks, because the hold was large enough.
      expect(completed.json).toMatchObject({ cost_usd, marks: [] });
    },
  );

  test.each([
    ['an unknown model without a cost', { model: 'unknown-model' }, ['model invalid_value']],
    ['a cost below zero', { model: 'm', cost_usd: '-1' }, ['cost_usd out_of_range']],
    ['a cost with an exponent', { model: 'm', cost_usd: '1e3' }, ['cost_usd invalid_format']],
    ['a cost that is a number', { model: 'm', cost_usd: 1 }, ['cost_usd invalid_type']],
    [
      'more cached than input tokens',
      { ...priced, cached_input_tokens: 1_000_001 },
      ['cached_input_tokens out_of_range'],
    ],
    [
      'more audio than tokens',
      { ...priced, cached_input_tokens: 1, audio_input_tokens: 1_000_000, audio_output_tokens: 1 },
      ['audio_input_tokens out_of_range', 'audio_output_tokens out_of_range'],
    ],
    ['a tag without a name', { ...priced, tags: { '': 'x' } }, ['tags empty']],
    ['a tag with a long name', { ...priced, tags: { ['n'.repeat(65)]: 'x' } }, ['tags out_of_range']],
    ['a tag whose value is not a string', { ...priced, tags: { 'a\nb': 1 } }, ['tags.a\nb invalid_type']],
    ['too much metadata', { ...priced, metadata: { x: 'x'.repeat(65_536) } }, ['metadata out_of_range']],
    ['a start in the future', { ...priced, started_at: '2026-11-15T12:30:00Z' }, ['started_at out_of_range']],
    [
      'an end before its start',
      { ...priced, started_at: '2026-11-15T11:00:00Z', finished_at: '2026-11-15T10:00:00Z' },
      ['finished_at out_of_range'],
    ],
    ['an unknown parent run', { ...priced, parent_run_id: 'run_none' }, ['parent_run_id invalid_value']],
    ['an unknown decision', { ...priced, decision_id: 'dec_none' }, ['decision_id invalid_value']],
    ['an unknown status', { ...priced, status: 'done' }, ['status invalid_value']],
    ['an unknown field', { ...priced, colour: 'red' }, ['colour unknown_field']],
    ['a running run without an estimate', { model: 'm', status: 'running' }, ['estimated_cost_usd required']],
  ])('a finished run is rejected with %s, and nothing is posted', async (_, body, faults) => {
    const own = await world.createOrg();
    const answer = await send('POST', '/v1/runs', body, own);
    expect(answer.status).toBe(422);
    expect(faultsOf(answer)).toEqual(faults);
    expect((await send('GET', '/v1/runs', undefined, own)).json.data).toEqual([]);
    expect(await spentBy(own)).toBe('0');
  });

  test('a finished run with a used external id returns the existing run, charged once, also for concurrent requests', async () => {
    const own = await world.createOrg();
    const body = { external_id: 'mine', model: 'm', cost_usd: '2' };
    const answers = await Promise.all([0, 1, 2, 3].map(() => send('POST', '/v1/runs', body, own)));
    expect(answers.map(({ status }) => status)).toEqual([201, 201, 201, 201]);
    expect(new Set(answers.map(({ json }) => json.id)).size).toBe(1);
    expect(await spentBy(own)).toBe('2');
    const other = await world.createOrg();
    expect((await send('POST', '/v1/runs', body, other)).json.id).not.toBe(answers[0]?.json.id);
  });

  test.each<[string, object]>([
    ['model', { model: 'n' }],
    ['cost', { cost_usd: '3' }],
    ['customer', { customer_id: 'c' }],
    ['tag', { tags: { a: 'c' } }],
    ['time', { started_at: '2026-01-02T00:00:00Z' }],
    ['outcome', { status: 'failed' }],
    ['content', { content: 'hello' }],
  ])(
    'a finished run with a used external id and a different %s is a conflict, and changes nothing',
    async (_, other) => {
      const own = await world.createOrg();
      const body = {
        external_id: 'mine',
        model: 'm',
        cost_usd: '2',
        tags: { a: 'b' },
        started_at: '2026-01-01T00:00:00Z',
      };
      const first = await send('POST', '/v1/runs', body, own);
      expect(first.status).toBe(201);
      const { status, json } = await send('POST', '/v1/runs', { ...body, ...other }, own);
      expect([status, json.error]).toMatchObject([409, { code: 'conflict', details: {} }]);
      const same = {
        ...body,
        cost_usd: '2.00',
        started_at: '2026-01-01T01:00:00+01:00',
        status: 'succeeded',
      };
      expect((await send('POST', '/v1/runs', same, own)).json).toEqual(first.json);
      expect(await spentBy(own)).toBe('2');
    },
  );

  test('a finished run with a used external id is compared even after its details were deleted, unless it has no digest', async () => {
    const own = await world.createOrg();
    const body = { external_id: 'mine', model: 'm', cost_usd: '2' };
    const { json: first } = await send('POST', '/v1/runs', body, own);
    await world.db.query('DELETE FROM runs WHERE org_id = $1', [own.id]);
    const code = async (sent: object) => (await send('POST', '/v1/runs', sent, own)).json.error?.code;
    expect(await code(body)).toBe('gone');
    expect(await code({ ...body, cost_usd: '3' })).toBe('conflict');
    await world.db.query(
      'UPDATE run_identities SET content_digest = NULL WHERE org_id = $1 AND run_id = $2',
      [own.id, first.id],
    );
    expect(await code({ ...body, cost_usd: '3' })).toBe('gone');
  });

  test('stores a digest only if it has an external id', async () => {
    const own = await world.createOrg();
    await send('POST', '/v1/runs', { external_id: 'mine', model: 'm', cost_usd: '2' }, own);
    await send('POST', '/v1/runs', { model: 'm', cost_usd: '2' }, own);
    const rows = await world.db.query<{ external_id: string | null; content_digest: string | null }>(
      'SELECT external_id, content_digest FROM run_identities WHERE org_id = $1 ORDER BY external_id',
      [own.id],
    );
    expect(rows).toEqual([
      { external_id: 'mine', content_digest: expect.stringMatching(/^[\w-]{22}$/) },
      { external_id: null, content_digest: null },
    ]);
  });

  test('a finished run with an Idempotency-Key is posted once, and the replay returns the same bytes', async () => {
    const own = await world.createOrg();
    const post = () =>
      send('POST', '/v1/runs', { model: 'm', cost_usd: '2' }, own, { 'idempotency-key': 'k' });
    const first = await post();
    expect((await post()).text).toBe(first.text);
    expect(await spentBy(own)).toBe('2');
  });
});

describe('a run with an external id', () => {
  test('a run with an external id that was created as running is replayed after its completion; a finished run with that id is a conflict', async () => {
    const own = await world.createOrg();
    const body = { external_id: 'mine', model: 'm', status: 'running', estimated_cost_usd: '2' };
    const opened = await send('POST', '/v1/runs', body, own);
    const finished = { external_id: 'mine', model: 'm', cost_usd: '1' };
    expect((await send('POST', '/v1/runs', finished, own)).json.error.code).toBe('conflict');
    const completed = await send('POST', `/v1/runs/${opened.json.id}/complete`, { cost_usd: '1' }, own);
    expect(completed.status).toBe(200);
    const again = await send('POST', '/v1/runs', body, own);
    expect([again.status, again.json.id, again.json.status]).toEqual([201, opened.json.id, 'succeeded']);
    expect((await send('POST', '/v1/runs', finished, own)).json.error.code).toBe('conflict');
    expect(await spentBy(own)).toBe('1');
  });

  test('a run with an external id that settles a decision is replayed; with another cost it is a conflict and settles nothing', async () => {
    const own = await world.createOrg();
    const decide = async () =>
      (await send('POST', '/v1/edge/decision', { model: 'm', estimated_cost_usd: '1' }, own)).json
        .decision_id;
    const [first, second] = [await decide(), await decide()];
    const body = { external_id: 'mine', model: 'm', cost_usd: '0.5', decision_id: first };
    const settled = await send('POST', '/v1/runs', body, own);
    expect((await send('POST', '/v1/runs', body, own)).json).toEqual(settled.json);
    for (const other of [{ cost_usd: '0.6' }, { decision_id: second }]) {
      expect((await send('POST', '/v1/runs', { ...body, ...other }, own)).json.error.code).toBe('conflict');
    }
    const { json } = await send('GET', `/v1/orgs/${own.id}/holds`, undefined, own);
    expect(json.data).toMatchObject([{ decision_id: second }]);
    expect(await spentBy(own)).toBe('0.5');
  });

  test('a run with an external id that is sent twice concurrently with different bodies is one run and one conflict', async () => {
    const own = await world.createOrg();
    const answers = await Promise.all(
      ['1', '2'].map((cost_usd) => send('POST', '/v1/runs', { external_id: 'x', model: 'm', cost_usd }, own)),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 409]);
  });
});

describe('a settlement whose cost is unknown', () => {
  const held = { model: 'home-grown', estimated_cost_usd: '0.3' };
  const decide = async () => (await send('POST', '/v1/edge/decision', held)).json.decision_id;
  const start = async (said: object = {}) =>
    (await send('POST', '/v1/runs', { ...held, ...said, status: 'running' })).json.id;
  const usage = { input_tokens: 1_000, output_tokens: 100 };

  test.each([
    ['the model has no price', usage, 'unpriced'],
    ['it has no usage', {}, 'usage_missing'],
    ['its usage is zero', { input_tokens: 0, output_tokens: 0 }, 'usage_missing'],
  ])('a settlement whose cost is unknown is posted at the held amount if %s', async (_, said, mark) => {
    const before = await spentBy(org);
    const settled = await send('POST', '/v1/runs', {
      model: 'home-grown',
      ...said,
      decision_id: await decide(),
    });
    expect(settled.json).toMatchObject({ cost_usd: '0.3', price_version: null, marks: [mark] });
    const completed = await send('POST', `/v1/runs/${await start()}/complete`, said);
    expect(completed.json).toMatchObject({ status: 'succeeded', cost_usd: '0.3', marks: [mark] });
    const bulk = await send('POST', '/v1/runs/bulk', {
      runs: [{ model: 'home-grown', ...said, decision_id: await decide() }],
    });
    expect(bulk.status).toBe(201);
    expect((await send('GET', `/v1/runs/${bulk.json.runs[0].id}`)).json.marks).toEqual([mark]);
    expect(Number(await spentBy(org)) - Number(before)).toBeCloseTo(0.9, 9);
    const { json } = await send('GET', `/v1/orgs/${org.id}/ledger/reconciliation`);
    expect(json).toMatchObject({ balanced: true });
  });

  test('a settlement whose cost is unknown is posted at the held amount after its hold has ended', async () => {
    const decision_id = await decide();
    await send('DELETE', `/v1/orgs/${org.id}/holds/${decision_id}`);
    const late = await send('POST', '/v1/runs', { model: 'home-grown', ...usage, decision_id });
    expect(late.json).toMatchObject({ cost_usd: '0.3', marks: ['unpriced', 'late'] });
  });

  test.each([
    ['a cost of zero', { cost_usd: '0' }],
    ['no usage and a failure', { status: 'failed' }],
  ])('a settlement whose cost is unknown is free with %s', async (_, said) => {
    const settled = await send('POST', '/v1/runs', {
      model: 'home-grown',
      ...said,
      decision_id: await decide(),
    });
    expect(settled.json).toMatchObject({ cost_usd: '0', marks: [] });
    const completed = await send('POST', `/v1/runs/${await start()}/complete`, said);
    expect(completed.json).toMatchObject({ cost_usd: '0', marks: [] });
  });

  test('uses the output tokens that a run has stated when it started', async () => {
    const id = await start({ model: 'gpt-4o', ...usage });
    const { json } = await send('POST', `/v1/runs/${id}/complete`, {});
    expect(json).toMatchObject({ ...usage, cost_usd: '0.0035', marks: [] });
  });

  test('emits `price.missing`, and is corrected once the model has a price', async () => {
    const by = await world.createOrg();
    await send('POST', `/v1/orgs/${by.id}/webhooks`, { url: 'https://a.example', events: ['*'] }, by);
    const model = 'priced-later';
    const { json: decision } = await send(
      'POST',
      '/v1/edge/decision',
      { model, estimated_cost_usd: '0.3' },
      by,
    );
    const { decision_id } = decision;
    const { json: run } = await send('POST', '/v1/runs', { model, ...usage, decision_id }, by);
    const events = await world.db.query<{ data: object }>(
      `SELECT data FROM outbox WHERE tenant_id = $1 AND type = 'price.missing'`,
      [by.id],
    );
    expect(events).toMatchObject([{ data: { run_id: run.id, model, decision_id, posted_usd: '0.3' } }]);
    const listed = await send('GET', '/v1/runs?mark=unpriced', undefined, by);
    expect(listed.json.data).toMatchObject([{ id: run.id }]);

    const reprice = (id = run.id) => send('POST', `/v1/runs/${id}/reprice`, undefined, by);
    expect(faultsOf(await reprice())).toEqual(['model invalid_value']);
    await world.request('PUT', `/v1/admin/models/${model}`, {
      key: world.operatorKey,
      body: { input_usd_per_million: '10', output_usd_per_million: '100' },
    });
    const both = await Promise.all([reprice(), reprice()]);
    expect(both.map(({ status }) => status).sort()).toEqual([201, 409]);
    const { json: repriced } = await send('GET', `/v1/runs/${run.id}`, undefined, by);
    expect(repriced).toMatchObject({
      cost_usd: '0.3',
      adjustment_usd: '-0.28',
      price_version: expect.any(String),
    });
    expect((await reprice()).json.error.code).toBe('conflict');
    const other = await send('POST', '/v1/runs', { model, cost_usd: '1' }, by);
    expect((await reprice(other.json.id)).json.error.code).toBe('conflict');
    expect(await spentBy(by)).toBe('1.02');
    const { json } = await send('GET', `/v1/orgs/${by.id}/ledger/reconciliation`, undefined, by);
    expect(json).toMatchObject({ balanced: true });
  });
});

describe('bulk with `on_error=skip`', () => {
  const by = useOrg(world);
  beforeAll(async () => {
    const cap = { cap_usd: '1' };
    expect((await send('PUT', `/v1/orgs/${by.id}/spend-cap`, cap, by)).status).toBe(200);
  });
  const path = '/v1/runs/bulk?on_error=skip';
  const invalid = { code: 'validation_failed', details: {} };

  test('creates the good runs and reports the others one by one', async () => {
    const runs = [
      { model: 'm', cost_usd: '0.3', external_id: 'a' },
      { model: 'm', cost_usd: 1, workflow: 7 },
      { model: 'm', cost_usd: '0.8' },
      { model: 'unknown-model' },
      { model: 'm', cost_usd: '0.6', decision_id: 'dec_none' },
    ];
    const { status, json } = await send('POST', path, { runs }, by, { 'idempotency-key': 'skip-1' });
    expect(status).toBe(201);
    expect(json).toEqual({
      accepted: 1,
      runs: [{ index: 0, id: expect.any(String), external_id: 'a' }],
      known: [],
      errors: [
        {
          ...invalid,
          index: 1,
          message: expect.any(String),
          fields: [
            expect.objectContaining({ field: 'workflow', code: 'invalid_type' }),
            expect.objectContaining({ field: 'cost_usd', code: 'invalid_type' }),
          ],
        },
        expect.objectContaining({
          index: 2,
          code: 'spend_cap_exceeded',
          fields: [],
          details: expect.objectContaining({ attempted_usd: '0.8', spent_usd: '0.3' }),
        }),
        expect.objectContaining({
          index: 3,
          fields: [expect.objectContaining({ field: 'model', code: 'invalid_value' })],
        }),
        expect.objectContaining({ index: 4, fields: [expect.objectContaining({ field: 'decision_id' })] }),
      ],
    });
    expect(await spentBy(by)).toBe('0.3');
    const again = await send('POST', path, { runs }, by, { 'idempotency-key': 'skip-1' });
    expect([again.headers['idempotent-replayed'], again.json]).toEqual(['true', json]);
    const repeated = await send('POST', path, { runs: runs.slice(0, 1) }, by);
    expect(repeated.json).toMatchObject({ accepted: 0, known: [{ index: 0, external_id: 'a' }], errors: [] });
    expect(await spentBy(by)).toBe('0.3');
  });

  test('reports lines that are not JSON, and items that are not objects', async () => {
    const lines = ['{"model": "m", "cost_usd": "0"}', 'nonsense', '[]', '{"model": "m", "model": "n"}'];
    const headers = { 'content-type': 'application/x-ndjson' };
    const answer = await world.request('POST', path, { key: by.ownerKey, headers, raw: lines.join('\n') });
    expect(answer.json).toMatchObject({ accepted: 1, runs: [{ index: 0 }] });
    expect(
      answer.json.errors.map(({ index, fields }: never) => [
        index,
        (fields as { field: string }[])[0]?.field,
      ]),
    ).toEqual([
      [1, 'body'],
      [2, 'body'],
      [3, 'body'],
    ]);
  });

  test('stores a response that created nothing, and keeps the default of all or none', async () => {
    const runs = [{ model: 'unknown-model' }];
    const own = { 'idempotency-key': 'skip-2' };
    const { status, json } = await send('POST', path, { runs }, by, own);
    expect([status, json.accepted, json.errors.length]).toEqual([201, 0, 1]);
    expect((await send('POST', path, { runs }, by, own)).headers['idempotent-replayed']).toBe('true');
    for (const query of ['', '?on_error=reject']) {
      expect((await send('POST', `/v1/runs/bulk${query}`, { runs }, by)).status).toBe(422);
    }
    expect(faultsOf(await send('POST', path, { runs: [], more: 1 }, by))).toEqual([
      'more unknown_field',
      'runs empty',
    ]);
    expect(faultsOf(await send('POST', '/v1/runs/bulk?on_error=no', { runs }, by))).toContain(
      'on_error invalid_value',
    );
  });

  test('lists denied runs among the denials of the org', async () => {
    await send('POST', path, { runs: [{ model: 'm', cost_usd: '5', workflow: 'too expensive' }] }, by);
    await world.runJob('record-refusals');
    const { json } = await send('GET', `/v1/orgs/${by.id}/refusals?workflow=too%20expensive`, undefined, by);
    expect(json.data).toMatchObject([{ code: 'spend_cap_exceeded', workflow: 'too expensive' }]);
  });

  test('counts a denied run once, however often the transaction of its request is tried', async () => {
    const { ledger } = world.services;
    const post = ledger.post.bind(ledger);
    const deniedCount = async () =>
      (await world.request('GET', '/metrics')).text.match(
        /svc_decisions_total\{surface="run",outcome="deny",code="spend_cap_exceeded"\} (.*)/,
      )?.[1];
    const twice = vi.spyOn(ledger, 'post').mockImplementation(async (group) => {
      const rolledBack = post({
        ...group,
        async storeResponse(tx, outcomes) {
          await group.storeResponse?.(tx, outcomes);
          throw new Error('rolled back');
        },
      });
      await expect(rolledBack).rejects.toThrow('rolled back');
      return post(group);
    });
    const before = Number((await deniedCount()) ?? 0);
    const runs = [{ model: 'm', cost_usd: '5', workflow: 'tried twice' }];
    const { status } = await send('POST', path, { runs }, by, { 'idempotency-key': 'skip-twice' });
    twice.mockRestore();
    expect(status).toBe(201);
    expect(Number(await deniedCount())).toBe(before + 1);
    await world.runJob('record-refusals');
    const { json } = await send('GET', `/v1/orgs/${by.id}/refusals?workflow=tried%20twice`, undefined, by);
    expect(json.data).toMatchObject([{ count: 1 }]);
  });
});

test('a finished run with an estimate is priced, and a completion keeps the latency', async () => {
  const { json } = await send('POST', '/v1/runs', { ...priced, estimated_cost_usd: '9' });
  expect(json).toMatchObject({ cost_usd: '2.5', price_version: expect.any(String) });
  const { json: run } = await send('POST', '/v1/runs', {
    ...priced,
    status: 'running',
    max_output_tokens: 1,
    latency_ms: 12,
  });
  const completed = await send('POST', `/v1/runs/${run.id}/complete`, { output_tokens: 1 });
  expect(completed.json.latency_ms).toBe(12);
});

test('a backfilled run has the price of its own time', async () => {
  const model = 'price-raised-since';
  const put = (input_usd_per_million: string) =>
    world.request('PUT', `/v1/admin/models/${model}`, {
      key: world.operatorKey,
      body: { input_usd_per_million, output_usd_per_million: '0' },
    });
  await put('1');
  const started_at = world.clock.now().toISOString();
  world.clock.advanceSeconds(60);
  await put('2');
  const runs = [{ model, input_tokens: 1_000_000, started_at }];
  const { json } = await send('POST', '/v1/runs/bulk?enforcement=record', { runs });
  expect((await send('GET', `/v1/runs/${json.runs[0].id}`)).json.cost_usd).toBe('1');
});

describe('a run that names a decision', () => {
  const decide = async (said: object) =>
    (await send('POST', '/v1/edge/decision', { model: 'm', estimated_cost_usd: '1', ...said })).json
      .decision_id;

  test.each([
    ['another customer', { model: 'm', customer_id: 'b' }, 'customer_id'],
    ['a workflow that the decision was not for', { model: 'm', workflow: 'w' }, 'workflow'],
  ])('a run that names a decision must not contradict the decision with %s', async (_, said, field) => {
    const decision_id = await decide({ customer_id: 'a' });
    const answer = await send('POST', '/v1/runs', { ...said, cost_usd: '1', decision_id });
    expect(faultsOf(answer)).toEqual([`${field} invalid_value`]);
  });

  test('a run that names a decision may name another model, and counts as the one that was decided on', async () => {
    const decision_id = await decide({ model: 'gpt-4o' });
    const exact = { model: 'gpt-4o-2024-08-06', input_tokens: 1_000_000, output_tokens: 0, decision_id };
    const { json } = await send('POST', '/v1/runs', exact);
    const { json: model } = await world.request('GET', '/v1/admin/models/gpt-4o', { key: world.operatorKey });
    expect(json).toMatchObject({
      model: 'gpt-4o',
      cost_usd: model.input_usd_per_million,
      price_version: model.id,
      marks: ['over_hold'],
    });
  });

  test('inherits the scope of the decision, and is marked if it exceeds the hold', async () => {
    const decision_id = await decide({ customer_id: 'a', workflow: 'w' });
    const { json } = await send('POST', '/v1/runs', { model: 'm', cost_usd: '1.5', decision_id });
    expect(json).toMatchObject({ customer_id: 'a', workflow: 'w', cost_usd: '1.5', marks: ['over_hold'] });
    const again = await send('POST', '/v1/runs', { model: 'm', cost_usd: '1', decision_id });
    expect([again.status, again.json.error.code]).toEqual([409, 'conflict']);
  });

  test('a run that names a decision that another run has settled is posted in full and marked late if it was running under it', async () => {
    const by = await world.createOrg();
    const { json: decision } = await send(
      'POST',
      '/v1/edge/decision',
      { model: 'm', estimated_cost_usd: '1' },
      by,
    );
    const { decision_id } = decision;
    const begin = async () =>
      (
        await send(
          'POST',
          '/v1/runs',
          { model: 'm', status: 'running', estimated_cost_usd: '1', decision_id },
          by,
        )
      ).json.id;
    const [first, second] = [await begin(), await begin()];
    const complete = (runId: string, cost_usd: string) =>
      send('POST', `/v1/runs/${runId}/complete`, { cost_usd }, by);
    expect((await complete(first, '0.75')).json).toMatchObject({ cost_usd: '0.75', marks: [] });
    expect((await complete(second, '0.5')).json).toMatchObject({ cost_usd: '0.5', marks: ['late'] });
    expect(await spentBy(by)).toBe('1.25');
    const reconciliation = await send('GET', `/v1/orgs/${by.id}/ledger/reconciliation`, undefined, by);
    expect(reconciliation.json.drift_usd).toBe('0');
    const [again, third] = [
      await complete(second, '0.5'),
      await send('POST', '/v1/runs', { model: 'm', cost_usd: '1', decision_id }, by),
    ];
    expect([again.status, third.status]).toEqual([409, 409]);
    expect(await spentBy(by)).toBe('1.25');
  });

  test('a run that names a decision cannot settle a decision of another org', async () => {
    const decision_id = await decide({});
    const answer = await send(
      'POST',
      '/v1/runs',
      { model: 'm', cost_usd: '1', decision_id },
      await world.createOrg(),
    );
    expect(faultsOf(answer)).toEqual(['decision_id invalid_value']);
  });
});

describe('a running run', () => {
  test('holds its estimate until it is completed, and can be completed only once', async () => {
    const { json: run } = await send('POST', '/v1/runs', {
      model: 'm',
      status: 'running',
      estimated_cost_usd: '3',
      value_usd: '9',
    });
    expect(run).toMatchObject({ status: 'running', cost_usd: null, held_usd: '3', finished_at: null });
    expect((await send('GET', `/v1/runs/${run.id}`)).json).toMatchObject({ held_usd: '3' });
    const done = await send('POST', `/v1/runs/${run.id}/complete`, { cost_usd: '2', output_tokens: 7 });
    expect(done.json).toMatchObject({
      status: 'succeeded',
      cost_usd: '2',
      value_usd: '9',
      output_tokens: 7,
      held_usd: null,
    });
    const twice = await send('POST', `/v1/runs/${run.id}/complete`, { cost_usd: '2' });
    expect(twice.json.error.code).toBe('conflict');
  });

  test('a running run can be completed after the clock was set back, and does not finish before it started', async () => {
    const { json: run } = await send('POST', '/v1/runs', {
      model: 'm',
      status: 'running',
      estimated_cost_usd: '3',
    });
    world.clock.advanceSeconds(-3_600);
    const done = await send('POST', `/v1/runs/${run.id}/complete`, { cost_usd: '2' });
    world.clock.advanceSeconds(3_600);
    expect(done.status, JSON.stringify(done.json)).toBe(200);
    expect(done.json).toMatchObject({ cost_usd: '2', finished_at: run.started_at });
  });

  test('a running run is posted in full and marked late if its hold has expired', async () => {
    const { json: run } = await send('POST', '/v1/runs', {
      model: 'm',
      status: 'running',
      estimated_cost_usd: '3',
      expires_in_seconds: 1,
    });
    world.clock.advanceSeconds(5);
    await world.services.ledger.expiry.expireDue();
    const { json } = await send('POST', `/v1/runs/${run.id}/complete`, { cost_usd: '4' });
    expect(json).toMatchObject({ cost_usd: '4', marks: ['late'] });
  });

  test.each(['GET /v1/runs/%s', 'POST /v1/runs/%s/complete', 'POST /v1/runs/%s/adjustments'])(
    'a running run is not found by other orgs: %s',
    async (route) => {
      const { json: run } = await send('POST', '/v1/runs', {
        model: 'm',
        status: 'running',
        estimated_cost_usd: '1',
      });
      const [method = '', path = ''] = route.replace('%s', run.id).split(' ');
      const body =
        method === 'GET'
          ? undefined
          : path.endsWith('complete')
            ? { cost_usd: '1' }
            : { amount_usd: '1', reason: 'r' };
      expect((await send(method, path, body, await world.createOrg())).status).toBe(404);
    },
  );
});

describe('bulk', () => {
  const bulk = (runs: object[], by = org, query = '') => send('POST', `/v1/runs/bulk${query}`, { runs }, by);

  test('accepts JSON and NDJSON, and lists the runs that already existed', async () => {
    const own = await world.createOrg();
    const first = await bulk(
      [
        { external_id: 'a', model: 'm', cost_usd: '1' },
        { model: 'm', cost_usd: '2' },
      ],
      own,
    );
    expect(first.status).toBe(201);
    expect(first.json).toMatchObject({ accepted: 2, known: [] });
    const lines = '{"external_id":"a","model":"m","cost_usd":"1"}\r\n\n{"model":"m","cost_usd":"4"}\n';
    const second = await world.request('POST', '/v1/runs/bulk', {
      key: own.ownerKey,
      raw: lines,
      headers: { 'content-type': 'application/x-ndjson' },
    });
    expect(second.json).toMatchObject({
      accepted: 1,
      known: [{ index: 0, id: first.json.runs[0].id, external_id: 'a' }],
    });
    expect(await spentBy(own)).toBe('7');
  });

  test('a bulk request with a used external id and a different body is rejected as a whole with the index of the run', async () => {
    const own = await world.createOrg();
    const errorSummary = async (runs: object[], query = '') => {
      const { status, json } = await bulk(runs, own, query);
      return [status, json.error?.code, json.error?.details];
    };
    const mine = { external_id: 'mine', model: 'm', cost_usd: '1' };
    expect((await bulk([mine], own)).status).toBe(201);
    const conflict = [409, 'conflict', { run_index: 1 }];
    const fresh = { external_id: 'fresh', model: 'm', cost_usd: '1' };
    expect(await errorSummary([fresh, { ...mine, cost_usd: '2' }, { model: 'm', cost_usd: '1' }])).toEqual(
      conflict,
    );
    expect(await errorSummary([fresh, { ...fresh, model: 'n' }])).toEqual(conflict);
    expect(await errorSummary([fresh, { ...mine, model: 'n' }], '?enforcement=record')).toEqual(conflict);
    expect(await spentBy(own)).toBe('1');
    // Nothing of a rejected batch is stored, so the id is unused.
    const { json } = await bulk(
      [{ ...fresh, model: 'n' }, { ...fresh, model: 'n', cost_usd: '1.0' }, mine],
      own,
    );
    expect(json).toMatchObject({ accepted: 1, known: [{ index: 1 }, { index: 2 }] });
    expect(await spentBy(own)).toBe('2');
  });

  test.each([
    ['no runs', [], ['runs empty']],
    ['too many', Array.from({ length: 6 }, () => ({ model: 'm', cost_usd: '1' })), ['runs too_many']],
    [
      'two faulty ones',
      [{ model: 'm', cost_usd: '1' }, { model: 'm', cost_usd: 'x' }, { cost_usd: '1' }],
      ['runs[1].cost_usd invalid_format', 'runs[2].model required'],
    ],
    [
      'one that cannot be priced',
      [{ model: 'm', cost_usd: '1' }, { model: 'unknown-model' }],
      ['runs[1].model invalid_value'],
    ],
  ])('rejects %s, and stores nothing', async (_, runs, faults) => {
    const own = await world.createOrg();
    const answer = await bulk(runs, own);
    expect(answer.status).toBe(422);
    expect(faultsOf(answer)).toEqual(faults);
    expect(await spentBy(own)).toBe('0');
  });

  test('reports a line that is not JSON, a line that is not an object, and too many lines', async () => {
    for (const [raw, fault] of [
      ['{"model":"m","cost_usd":"1"}\n{oops', 'runs[1] invalid_json'],
      ['[]', 'runs[0] invalid_type'],
      // Lines beyond the maximum are not parsed.
      [`${'{"model":"m","cost_usd":"1"}\n'.repeat(6)}{oops`, 'runs too_many'],
    ]) {
      const answer = await world.request('POST', '/v1/runs/bulk', {
        key: org.ownerKey,
        raw: raw as string,
        headers: { 'content-type': 'application/x-ndjson' },
      });
      expect(faultsOf(answer)).toEqual([fault]);
    }
  });

  test('posts all runs or none, and returns the index of the denied run', async () => {
    const own = await world.createOrg();
    await send('PUT', `/v1/orgs/${own.id}/spend-cap`, { cap_usd: '2' }, own);
    const answer = await bulk(
      [1, 1, 1].map(() => ({ model: 'm', cost_usd: '1' })),
      own,
    );
    expect(answer.status).toBe(402);
    expect(answer.json.error).toMatchObject({ code: 'spend_cap_exceeded', details: { run_index: 2 } });
    expect(await spentBy(own)).toBe('0');
    expect(
      (
        await bulk(
          [1, 1].map(() => ({ model: 'm', cost_usd: '1' })),
          own,
        )
      ).json.accepted,
    ).toBe(2);
  });

  test('backfills runs at their own time without admission checks, with the scope for it', async () => {
    const own = await world.createOrg();
    await send('PUT', `/v1/orgs/${own.id}/spend-cap`, { cap_usd: '0' }, own);
    const history = [{ model: 'm', cost_usd: '5', started_at: '2026-11-01T00:00:00Z' }];
    const recorded = await bulk(history, own, '?enforcement=record');
    const { json: run } = await send('GET', `/v1/runs/${recorded.json.runs[0].id}`, undefined, own);
    expect(run).toMatchObject({ marks: ['backfill'], charged_at: '2026-11-01T00:00:00.000Z' });
    const { secret } = await world.mintKey(own, 'member', ['runs:write']);
    const denied = await world.request('POST', '/v1/runs/bulk?enforcement=record', {
      key: secret,
      body: { runs: history },
    });
    expect(denied.json.error).toMatchObject({
      code: 'missing_scope',
      details: { required: 'runs:backfill' },
    });
  });

  test('rejects a backfill without the scope before the body is read', async () => {
    const own = await world.createOrg();
    const { secret } = await world.mintKey(own, 'member', ['runs:write']);
    const codeFor = async (query: string, raw: string) => {
      const { json } = await world.request('POST', `/v1/runs/bulk${query}`, {
        key: secret,
        raw,
        headers: { 'content-type': 'application/json' },
      });
      return json.error.code;
    };
    for (const query of ['?enforcement=record', '?enforcement=%72ecord', '?x=1&enforcement=record']) {
      for (const raw of ['{', '{"runs": []}', '[]', '']) {
        expect(await codeFor(query, raw), `${query} ${raw}`).toBe('missing_scope');
      }
    }
    expect(await codeFor('', '{')).toBe('validation_failed');
    expect(await codeFor('?enforcement=enforce', '{')).toBe('validation_failed');
  });

  test('does not settle a decision with a backfilled run', async () => {
    const own = await world.createOrg();
    const { json } = await send('POST', '/v1/edge/decision', { model: 'm', estimated_cost_usd: '2' }, own);
    const run = { model: 'm', cost_usd: '1', decision_id: json.decision_id };
    expect(faultsOf(await bulk([run], own, '?enforcement=record'))).toEqual([
      'runs[0].decision_id invalid_value',
    ]);
    expect((await bulk([run], own)).json.accepted).toBe(1);
    expect(await spentBy(own)).toBe('1');
  });
});

test('the list of runs filters, pages in both orders, and rejects unknown parameters', async () => {
  const own = await world.createOrg();
  for (const [index, workflow] of ['a', 'b', 'a'].entries()) {
    world.clock.advanceSeconds(1);
    await send(
      'POST',
      '/v1/runs',
      { model: `m${index}`, cost_usd: '1', workflow, tags: { index: `${index}` } },
      own,
    );
  }
  const models = async (query: string) => {
    const { json } = await send('GET', `/v1/runs?${query}`, undefined, own);
    return json.data.map(({ model }: { model: string }) => model);
  };
  expect(await models('')).toEqual(['m2', 'm1', 'm0']);
  expect(await models('sort=charged_at&workflow=a')).toEqual(['m0', 'm2']);
  expect(await models('tag=index%3D1')).toEqual(['m1']);
  expect(await models('status=failed')).toEqual([]);
  const first = await send('GET', '/v1/runs?limit=2', undefined, own);
  expect(await models(`limit=2&cursor=${first.json.next_cursor}`)).toEqual(['m0']);
  expect(faultsOf(await send('GET', '/v1/runs?sort=cost', undefined, own))).toEqual(['sort invalid_value']);
  expect(faultsOf(await send('GET', '/v1/runs?from=yesterday', undefined, own))).toEqual([
    'from invalid_format',
  ]);
});
