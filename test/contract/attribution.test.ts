/** The attribution of a key applies wherever a request takes its fields: defaults, locks, replays and settlements. */
import { beforeAll, describe, expect, test } from 'vitest';
import { attributionFields } from '../../src/contract/attribution.ts';
import { DatabaseUnavailable } from '../../src/platform/db/database.ts';
import { createWorld, type TestAnswer, useOrg, useWorld } from '../harness.ts';
import { declaredRoutes } from '../support/declared-routes.ts';

const world = useWorld();
const org = useOrg(world);
beforeAll(async () => {
  await world.request('PUT', `/v1/admin/models/routed`, {
    key: world.operatorKey,
    body: { input_usd_per_million: '1', output_usd_per_million: '1' },
  });
  const policy = { candidates: ['routed'], suite: 's', min_score: 0.1, max_age_days: 30, objective: 'cost' };
  expect((await asOwner('PUT', 'routing-policy', policy)).status).toBe(200);
  await asOwner('POST', 'evals', { suite: 's', model: 'routed', score: 1, samples: 100 });
});

const asOwner = (method: string, path: string, body?: object) =>
  world.request(method, `/v1/orgs/${org.id}/${path}`, {
    key: org.ownerKey,
    ...(body !== undefined && { body }),
  });

interface Key {
  readonly id: string;
  readonly secret: string;
}
async function keyWith(attribution: object, attribution_locked: readonly string[] = []): Promise<Key> {
  const scopes = [
    'edge:decide',
    'runs:write',
    'runs:backfill',
    'runs:read',
    'routing:write',
    'policies:read',
  ];
  const body = { name: 'a', role: 'admin', scopes, attribution, attribution_locked };
  const { json } = await asOwner('POST', 'keys', body);
  return json;
}

const post = (key: Key, path: string, body: object, headers: Record<string, string> = {}) =>
  world.request('POST', path, { key: key.secret, body, headers });
const decide = (key: Key, body: object = {}, headers: Record<string, string> = {}) =>
  post(key, '/v1/edge/decision', { model: 'm', estimated_cost_usd: '0.01', ...body }, headers);
const run = (key: Key, body: object = {}, headers: Record<string, string> = {}) =>
  post(key, '/v1/runs', { model: 'm', cost_usd: '0.01', ...body }, headers);
const errorIn = ({ status, json }: TestAnswer) => [status, json?.error?.code, json?.error?.details];
const forbidden = (details: object) => [403, 'forbidden', details];

const labels = {
  member_id: 'mem_1',
  team: 'search',
  project: 'web',
  department: 'd',
  workflow: 'w',
  deployment: 'p',
  customer_id: 'acme',
};
const all = { ...labels, tags: { env: 'live' } };
const everyField = [...Object.keys(labels), 'tags'];

/** The attributed fields of the newest run, or of the hold of a decision. */
async function runOf(id: string) {
  return attributed((await world.request('GET', `/v1/runs/${id}`, { key: org.ownerKey })).json);
}
async function holdOf(decisionId: string) {
  const hold = await world.services.ledger.reads.findHold(org.id, decisionId);
  return hold && attributed(hold.scope as object as Record<string, unknown>);
}
function attributed(values: Record<string, unknown>) {
  return Object.fromEntries(everyField.map((name) => [name, values[name]]));
}

/** Sends a request with these fields and returns the values that it was recorded with, or the error. */
const surfaces: Readonly<Record<string, (key: Key, fields: object) => Promise<unknown>>> = {
  'edge.decide': async (key, fields) => {
    const answer = await decide(key, fields);
    return answer.status === 200 ? holdOf(answer.json.decision_id) : errorIn(answer);
  },
  'runs.create': async (key, fields) => {
    const answer = await run(key, fields);
    return answer.status === 201 ? attributed(answer.json) : errorIn(answer);
  },
  'runs.create_bulk': async (key, fields) => {
    const runs = [{ model: 'm', cost_usd: '0.01', ...fields }];
    const answer = await post(key, '/v1/runs/bulk', { runs });
    return answer.status === 201 ? runOf(answer.json.runs[0].id) : errorIn(answer);
  },
  'routing.decide': async (key, fields) => {
    const body = { input_tokens: 1, max_output_tokens: 1, hold: true, ...fields };
    const answer = await post(key, '/v1/routing/decisions', body);
    return answer.status === 200 ? holdOf(answer.json.decision_id) : errorIn(answer);
  },
};

test('every operation that takes the fields is covered here', () => {
  const takesFields = (schema: unknown) => /"team":/.test(JSON.stringify(schema ?? {}));
  const operations = declaredRoutes()
    .filter(({ body, id }) => takesFields(body) && !id.includes('keys.') && !id.includes('configuration.'))
    .map(({ id }) => id);
  // A dry run that states values on purpose; see below.
  const hypothetical = ['policies.evaluate'];
  expect(operations.sort()).toEqual([...Object.keys(surfaces), ...hypothetical].sort());
  expect(everyField.sort()).toEqual([...attributionFields].sort());
});

describe.each(Object.keys(surfaces))('%s', (surface) => {
  const send = (key: Key, fields: object) => surfaces[surface]?.(key, fields);

  test('has the values of the key', async () => {
    expect(await send(await keyWith(all), {})).toEqual(all);
    expect(await send(await keyWith(all, everyField), {})).toEqual(all);
  });

  test('has its own values instead of unlocked ones, and adds its tags', async () => {
    const own = { ...labels, team: 'ads', customer_id: 'other' };
    const key = await keyWith({ ...all, tags: { env: 'live', app: 'bot' } }, ['workflow']);
    const tags = { env: 'test', job: '7' };
    expect(await send(key, { team: 'ads', customer_id: 'other', tags })).toEqual({
      ...own,
      tags: { ...tags, app: 'bot' },
    });
  });

  test('can repeat locked values and add tags', async () => {
    const key = await keyWith(all, everyField);
    expect(await send(key, { ...all, tags: { env: 'live', job: '7' } })).toEqual({
      ...all,
      tags: { env: 'live', job: '7' },
    });
  });

  test('is forbidden with another value for a locked field', async () => {
    const key = await keyWith(all, everyField);
    const index = surface === 'runs.create_bulk' ? { run_index: 0 } : {};
    for (const field of Object.keys(labels)) {
      expect(await send(key, { [field]: 'other' })).toEqual(forbidden({ field, ...index }));
    }
    expect(await send(key, { tags: { env: 'test' } })).toEqual(forbidden({ field: 'tags.env', ...index }));
  });
});

test('policies see the values of the key, in runs and in a dry run', async () => {
  const key = await keyWith({ team: 'blocked-team', tags: { env: 'live' } }, ['team']);
  const rule = {
    effect: 'block',
    expression: 'team == "blocked-team" && tags["env"] == "live"',
    priority: 1,
    reason: 'r',
  };
  const { json: policy } = await asOwner('POST', 'policies', rule);
  try {
    expect(errorIn(await run(key)).slice(0, 2)).toEqual([403, 'policy_blocked']);
    const evaluate = (as: string, body: object) =>
      world
        .request('POST', `/v1/orgs/${org.id}/policies/evaluate`, { key: as, body: { model: 'm', ...body } })
        .then(({ json }) => json.verdict);
    expect(await evaluate(key.secret, {})).toBe('block');
    expect(await evaluate(org.ownerKey, {})).toBe('allow');
    expect(await evaluate(org.ownerKey, { key_id: key.id })).toBe('block');
    expect(await evaluate(org.ownerKey, { key_id: key.id, team: 'other' })).toBe('allow');
    expect(await evaluate(org.ownerKey, { key_id: 'key_of_nobody' })).toBe('allow');
  } finally {
    await asOwner('DELETE', `policies/${policy.id}`);
  }
});

test('a limit counts the values of the key, and a denial is listed with them', async () => {
  const key = await keyWith({ customer_id: 'limited', workflow: 'w' }, ['customer_id']);
  await asOwner('POST', 'customer-limits', { customer_id: 'limited', period: 'month', limit_usd: '0.015' });
  expect((await decide(key)).status).toBe(200);
  expect(errorIn(await decide(key)).slice(0, 2)).toEqual([402, 'budget_exceeded']);
  expect(errorIn(await run(key)).slice(0, 2)).toEqual([402, 'budget_exceeded']);
  await world.runJob('record-refusals');
  const { json } = await asOwner('GET', 'refusals?code=budget_exceeded');
  expect(json.data).toMatchObject([
    { customer_id: 'limited', workflow: 'w' },
    { customer_id: 'limited', workflow: 'w' },
  ]);
});

describe('a bulk request', () => {
  const runs = (...items: object[]) => items.map((item) => ({ model: 'm', cost_usd: '0.01', ...item }));

  test('creates nothing if one run contradicts a lock, and reports invalid runs first', async () => {
    const key = await keyWith({ team: 'search' }, ['team']);
    const refused = await post(key, '/v1/runs/bulk', { runs: runs({ external_id: 'b1' }, { team: 'ads' }) });
    expect(errorIn(refused)).toEqual(forbidden({ field: 'team', run_index: 1 }));
    const list = await world.request('GET', '/v1/runs?external_id=b1', { key: org.ownerKey });
    expect(list.json.data).toEqual([]);
    const invalid = await post(key, '/v1/runs/bulk', { runs: runs({ team: 'ads' }, { parent_run_id: 'x' }) });
    expect(errorIn(invalid)[0]).toBe(422);
  });

  test('skips the runs that contradict a lock with on_error=skip, as JSON and as lines', async () => {
    const key = await keyWith({ team: 'search' }, ['team']);
    const items = runs({ team: 'ads' }, {}, { team: 'search' }, { model: '' });
    const json = await post(key, '/v1/runs/bulk?on_error=skip', { runs: items });
    const lines = await world.request('POST', '/v1/runs/bulk?on_error=skip', {
      key: key.secret,
      raw: items.map((item) => JSON.stringify(item)).join('\n'),
      headers: { 'content-type': 'application/x-ndjson' },
    });
    for (const answer of [json, lines]) {
      expect(answer.status).toBe(201);
      expect(answer.json).toMatchObject({
        accepted: 2,
        errors: [
          { index: 0, code: 'forbidden', fields: [], details: { field: 'team' } },
          { index: 3, code: 'validation_failed' },
        ],
      });
      expect((await runOf(answer.json.runs[0].id)).team).toBe('search');
    }
  });

  test('attributes backfilled runs too', async () => {
    const key = await keyWith({ team: 'search', tags: { env: 'live' } }, ['team']);
    const path = '/v1/runs/bulk?enforcement=record';
    const started_at = new Date(world.clock.now().getTime() - 86_400_000).toISOString();
    const posted = await post(key, path, { runs: runs({ started_at }) });
    expect(await runOf(posted.json.runs[0].id)).toMatchObject({ team: 'search', tags: { env: 'live' } });
    expect(errorIn(await post(key, path, { runs: runs({ team: 'ads' }) }))).toEqual(
      forbidden({ field: 'team', run_index: 0 }),
    );
  });
});

describe('a retry after the attribution of the key was changed', () => {
  const change = (key: Key, team: string) =>
    asOwner('PATCH', `keys/${key.id}`, { attribution: { team }, attribution_locked: ['team'] });

  test.each<[string, (key: Key, body: object, headers: Record<string, string>) => Promise<TestAnswer>]>([
    ['an edge decision', decide],
    ['a run', run],
    [
      'a bulk request',
      (key, body, headers) =>
        post(key, '/v1/runs/bulk', { runs: [{ model: 'm', cost_usd: '0.01', ...body }] }, headers),
    ],
    [
      'a routing decision',
      (key, body, headers) =>
        post(
          key,
          '/v1/routing/decisions',
          { input_tokens: 1, max_output_tokens: 1, hold: true, ...body },
          headers,
        ),
    ],
  ])(
    'a retry of %s after the attribution of the key was changed gets the first response',
    async (name, send) => {
      for (const [n, body] of [{}, { team: 'before' }].entries()) {
        const key = await keyWith({ team: 'before' });
        const once = () => send(key, body, { 'idempotency-key': `${name} ${n}` });
        const first = await once();
        expect(first.status).toBeLessThan(300);
        await change(key, 'after');
        const second = await once();
        expect([second.status, second.text]).toEqual([first.status, first.text]);
        expect(second.headers['idempotent-replayed']).toBe('true');
      }
    },
  );

  test('a retry of a run by its external_id after the attribution of the key was changed is the same run', async () => {
    const key = await keyWith({ team: 'before' });
    const body = { external_id: 'same', team: 'before' };
    const first = await run(key, body);
    await change(key, 'after');
    const second = await run(key, body);
    expect([second.status, second.json.id, second.json.team]).toEqual([201, first.json.id, 'before']);
    expect(errorIn(await run(key, { ...body, external_id: 'another' }))).toEqual(
      forbidden({ field: 'team' }),
    );
  });
});

describe('a run that settles a decision', () => {
  test('a run that settles a decision stays with the values of the decision, whatever the key of the run has', async () => {
    const gateway = await keyWith({ customer_id: 'A', team: 'search', tags: { env: 'live' } }, [
      'customer_id',
    ]);
    const other = { customer_id: 'B', workflow: 'wb', team: 'ads', tags: { env: 'test', app: 'bot' } };
    for (const worker of [await keyWith(other), await keyWith(other, ['customer_id', 'team', 'tags'])]) {
      const { json } = await decide(gateway);
      const settled = await run(worker, { decision_id: json.decision_id });
      expect(settled.status).toBe(201);
      expect(settled.json).toMatchObject({
        customer_id: 'A',
        team: 'search',
        workflow: null,
        marks: [],
        tags: { env: 'live', app: 'bot' },
      });
    }
  });

  test('a run that settles a decision is completed by the key of the run only where a decision may be completed', async () => {
    const worker = await keyWith({ customer_id: 'B', team: 'ads', member_id: 'mem_2', tags: { app: 'bot' } });
    for (const status of ['succeeded', 'running']) {
      const { json } = await decide(await keyWith({}));
      const settled = await run(worker, { decision_id: json.decision_id, status });
      expect(attributed(settled.json)).toEqual({
        member_id: 'mem_2',
        team: 'ads',
        department: null,
        workflow: null,
        deployment: null,
        customer_id: null,
        project: null,
        tags: { app: 'bot' },
      });
      if (status === 'running') {
        const completed = await post(worker, `/v1/runs/${settled.json.id}/complete`, { cost_usd: '0.01' });
        expect(attributed(completed.json)).toEqual(attributed(settled.json));
      }
    }
  });

  test('a run that settles a decision counts in the limits of the decision', async () => {
    await asOwner('POST', 'customer-limits', { customer_id: 'LA', period: 'month', limit_usd: '1' });
    await asOwner('POST', 'customer-limits', { customer_id: 'LB', period: 'month', limit_usd: '1' });
    const { json } = await decide(await keyWith({ customer_id: 'LA' }, ['customer_id']));
    await run(await keyWith({ customer_id: 'LB' }), { decision_id: json.decision_id, cost_usd: '0.25' });
    const remaining = async (customer_id: string) =>
      (await decide(await keyWith({ customer_id }), { estimated_cost_usd: '0' })).json.limits[0].remaining;
    expect([await remaining('LA'), await remaining('LB')]).toEqual(['0.75', '1']);
    expect((await asOwner('GET', 'ledger/reconciliation')).json.drift_usd).toBe('0');
  });

  test('a run that settles a decision is rejected with a stated value that the decision or the lock contradicts', async () => {
    const { json } = await decide(await keyWith({ customer_id: 'A' }));
    const settle = async (key: Key, customer_id: string) =>
      run(key, { decision_id: json.decision_id, customer_id });
    const worker = await keyWith({ customer_id: 'B' });
    const locked = await keyWith({ customer_id: 'B' }, ['customer_id']);
    expect(errorIn(await settle(worker, 'B'))[0]).toBe(422);
    expect(errorIn(await settle(locked, 'B'))[0]).toBe(422);
    expect(errorIn(await settle(locked, 'A'))).toEqual(forbidden({ field: 'customer_id' }));
    expect((await settle(worker, 'A')).status).toBe(201);
  });
});

test('a decision that is allowed fail-open has the values of the key, and the locks hold', async () => {
  const open = await createWorld({ SVC_EDGE_FAIL_MODE: 'open' });
  const { id, ownerKey } = await open.createOrg();
  const key = await open.mintKey({ id, ownerKey }, 'member', ['edge:decide', 'runs:write'], {
    attribution: all,
    attribution_locked: ['customer_id'],
  });
  const send = (path: string, body: object) =>
    open.request('POST', path, { key: key.secret, body: { model: 'm', ...body } });
  const ask = (body: object) => send('/v1/edge/decision', { estimated_cost_usd: '0.01', ...body });
  const { ledger } = open.services;
  const [hold, decideNow] = [ledger.hold.bind(ledger), ledger.decide.bind(ledger)];
  ledger.hold = () => Promise.reject(new DatabaseUnavailable('cut'));
  ledger.decide = () => undefined;
  const allowed = await ask({});
  expect(allowed.json).toMatchObject({ decision: 'allow', degraded: true });
  expect(errorIn(await ask({ customer_id: 'other' }))).toEqual(forbidden({ field: 'customer_id' }));
  Object.assign(ledger, { hold, decide: decideNow });

  const settled = await send('/v1/runs', { cost_usd: '0.01', decision_id: allowed.json.decision_id });
  expect(settled.json).toMatchObject({ ...all, marks: ['degraded'] });
  await open.close();
});
