import { beforeAll, describe, expect, test } from 'vitest';
import { engine, type TestOrg, useOrg, useWorld } from '../../../../test/harness.ts';
import { errorSummary } from '../../../../test/support/limits.ts';
import { createIds } from '../../../platform/ids.ts';
import { recordChange, renamedPath } from '../audit/index.ts';
import { rowsPerBatch } from './batched-rows.ts';
import { eraseLimits } from './batches.ts';
import { eraseAlerts } from './counter-keys.ts';

/** Contains everything that JSON and SQL must escape. */
const person = `zoë.o'neil+"7"\\x@example.com`;
const inPath = encodeURIComponent(person);
const world = useWorld();
const org = useOrg(world);

const call = (method: string, path: string, body?: object, headers: Record<string, string> = {}) =>
  world.request(method, path, { key: org.ownerKey, headers, ...(body !== undefined && { body }) });
const erase = (customer = inPath) => call('DELETE', `/v1/orgs/${org.id}/customers/${customer}`);
/** Runs the background work, once buffered data is written. */
async function settle(): Promise<void> {
  world.clock.advanceSeconds(11);
  await world.runJob('erase-customers');
}
const usageOf = async () =>
  (await call('GET', `/v1/orgs/${org.id}/usage?group_by=customer_id`)).json.data as {
    customer_id: string | null;
    cost_usd: string;
  }[];

/** Returns all rows of all tables that contain the id in any spelling, as text. */
async function traces(): Promise<string[]> {
  const tables = await world.db.query<{ name: string }>(
    `SELECT table_name AS name FROM information_schema.tables WHERE table_schema = 'public' AND table_type = 'BASE TABLE'`,
  );
  const found: string[] = [];
  for (const { name } of tables) {
    for (const { text } of await world.db.query<{ text: string }>(`SELECT t::text AS text FROM ${name} t`)) {
      if (text.includes('neil') || text.includes(inPath)) {
        found.push(`${name}: ${text.slice(0, 300)}`);
      }
    }
  }
  return found;
}

async function expectBalanced(): Promise<void> {
  const { json } = await call('GET', `/v1/orgs/${org.id}/ledger/reconciliation`);
  expect(json).toMatchObject({ balanced: true, drift_usd: '0' });
}

const scope = { model: 'm', customer_id: person };
const chain = `chain of ${person}`;
const run = { ...scope, cost_usd: '0.5', input_tokens: 3, output_tokens: 4 };

/** Creates every kind of record for a customer. */
async function leaveTraces(): Promise<{ decision: string; runId: string }> {
  await call('PUT', `/v1/orgs/${org.id}/retention-policy`, { content_days: 5 });
  await call('POST', `/v1/orgs/${org.id}/webhooks`, { url: 'https://receiver.example/hook', events: ['*'] });
  const limit = { customer_id: person, period: 'month', limit_usd: '3', alert_thresholds: [10, 50] };
  const { json: own } = await call('POST', `/v1/orgs/${org.id}/customer-limits`, limit);
  await call('PATCH', `/v1/orgs/${org.id}/customer-limits/${own.id}`, { limit_usd: '4' });
  await call('POST', `/v1/orgs/${org.id}/customer-limits`, {
    customer_id: '*',
    period: 'day',
    limit_usd: '50',
  });
  await call('POST', `/v1/orgs/${org.id}/credit-packs`, {
    customer_id: person,
    amount_usd: '3',
    name: person,
  });
  const first = await call(
    'POST',
    '/v1/runs',
    {
      ...run,
      external_id: `${person} 1`,
      chain_id: `chain of ${person}`,
      tags: { user: person },
      metadata: { who: person },
      content: `I am ${person}`,
    },
    { 'idempotency-key': 'first' },
  );
  expect(first.status).toBe(201);
  await call('POST', `/v1/runs/${first.json.id}/adjustments`, { amount_usd: '0.1', reason: `for ${person}` });
  await call('POST', '/v1/runs', { ...run, customer_id: 'somebody else' });
  const refused = await call('POST', '/v1/runs', { ...run, chain_id: chain, cost_usd: '9' });
  expect(refused.status).toBe(402);
  await call('PUT', `/v1/orgs/${org.id}/chain-budget`, { max_cost_usd: '5' });
  const inChain = await call('POST', '/v1/runs', { model: 'm', chain_id: chain, cost_usd: '9' });
  expect(errorSummary(inChain)).toEqual([402, 'chain_budget_exceeded']);
  const voided = await call(
    'POST',
    '/v1/edge/decision',
    { ...scope, estimated_cost_usd: '0.1' },
    { 'idempotency-key': 'voided' },
  );
  await call('DELETE', `/v1/orgs/${org.id}/holds/${voided.json.decision_id}`);
  const decided = await call(
    'POST',
    '/v1/edge/decision',
    { ...scope, chain_id: chain, estimated_cost_usd: '0.2' },
    { 'idempotency-key': 'open' },
  );
  const weak = await world.mintKey(org, 'viewer', ['customers:write']);
  await world.request('DELETE', `/v1/orgs/${org.id}/customers/${inPath}`, { key: weak.secret });
  await world.app.finish();
  for (const id of [
    'emit-limit-events',
    'record-refusals',
    'audit-refused-attempts',
    'emit-exhaustion-forecasts',
    'fan-out-events',
  ]) {
    await world.job(id).runOnce();
  }
  return { decision: decided.json.decision_id, runId: first.json.id };
}

describe('a customer with records in every table', () => {
  let decision: string;
  let runId: string;
  let before: Awaited<ReturnType<typeof usageOf>>;
  beforeAll(async () => {
    ({ decision, runId } = await leaveTraces());
    before = await usageOf();
    // Checks the search itself: before the erasure most tables contain the id.
    const tables = new Set((await traces()).map((trace) => trace.split(':')[0]?.replace(/_\d{4}_\d\d$/, '')));
    for (const table of [
      'runs',
      'ledger_entries',
      'usage_days',
      'usage_rollups',
      'limits',
      'hold_ends',
      'outbox',
    ]) {
      expect([...tables]).toContain(table);
    }
    for (const table of ['audit_log', 'refusals', 'run_identities']) {
      expect([...tables]).toContain(table);
    }
    expect((await erase()).status).toBe(204);
    // Rows that another process had buffered and writes after the erasure has processed the tables.
    await world.db.query(
      `INSERT INTO refusals (org_id, id, code, message, operation, key_id, customer_id, details, count, first_at, last_at)
       VALUES ($1, 'ref_late', 'budget_exceeded', 'late', 'runs.create', 'k', $2, '{}', 1, now(), now())`,
      [org.id, person],
    );
    await world.db.query(
      `INSERT INTO support_access_log (org_id, id, at, kind, grant_id, actor_id, method, path, operation, outcome)
       VALUES ($1, 'sac_late', now(), 'request', 'g', 'k', 'GET', $2, 'customers.list', 'allowed')`,
      [org.id, `/v1/orgs/${org.id}/customers?customer_id=${inPath}`],
    );
    await settle();
  });

  test('a customer with records in every table is in no table and no export after the erasure', async () => {
    expect(await traces()).toEqual([]);
    const from = new Date(world.clock.now().getTime() - 86_400_000).toISOString();
    const to = new Date(world.clock.now().getTime() + 86_400_000).toISOString();
    for (const format of ['ndjson', 'cef', 'ocsf']) {
      const { text } = await call(
        'GET',
        `/v1/orgs/${org.id}/audit-log/export?from=${from}&to=${to}&format=${format}`,
      );
      expect(text).not.toContain('neil');
    }
    const names = (await call('GET', `/v1/orgs/${org.id}/customers`)).json.data.map(
      ({ customer_id }: { customer_id: string }) => customer_id,
    );
    expect(names).toEqual([expect.stringMatching(/^erased-[0-9a-f]{24}$/), 'somebody else']);
  });

  test('keeps every sum unchanged, under a pseudonym', async () => {
    const sums = (rows: typeof before) => rows.map(({ cost_usd }) => cost_usd).sort();
    expect(sums(await usageOf())).toEqual(sums(before));
    await expectBalanced();
    const { json } = await call('GET', `/v1/runs/${runId}`);
    expect(json).toMatchObject({
      customer_id: expect.stringMatching(/^erased-/),
      cost_usd: '0.5',
      external_id: expect.stringMatching(/^erased-/),
      tags: {},
      metadata: {},
      content: null,
    });
  });

  test('keeps an audit log that verifies, and marks redacted entries', async () => {
    const { json } = await call('GET', `/v1/orgs/${org.id}/audit-log/verify`);
    expect(json.findings).toEqual([]);
    const { json: log } = await call('GET', `/v1/orgs/${org.id}/audit-log?limit=200`);
    const redacted = log.data.filter((entry: { redacted: boolean }) => entry.redacted);
    expect(redacted.length).toBeGreaterThanOrEqual(4);
    // Changes to a redacted entry are still detected.
    await world.db.query(`UPDATE audit_log SET after = '{"a": 1}' WHERE tenant_id = $1 AND seq = $2`, [
      org.id,
      redacted[0].seq,
    ]);
    const again = await call('GET', `/v1/orgs/${org.id}/audit-log/verify`);
    expect(again.json.findings).toMatchObject([{ kind: 'entry_changed', seq: redacted[0].seq }]);
    await world.db.query(`UPDATE audit_log SET after = $3 WHERE tenant_id = $1 AND seq = $2`, [
      org.id,
      redacted[0].seq,
      redacted[0].after === null ? null : JSON.stringify(redacted[0].after),
    ]);
  });

  test('settles an open decision under the pseudonym, even if the run names the old id', async () => {
    const settled = await call('POST', '/v1/runs', {
      ...run,
      chain_id: chain,
      cost_usd: '0.2',
      decision_id: decision,
    });
    expect(settled.status).toBe(201);
    expect(settled.json.customer_id).toMatch(/^erased-/);
    await expectBalanced();
    expect((await traces()).filter((trace) => !trace.startsWith('idempotency'))).toEqual([]);
  });

  test('does not match a stored response again, and does not create the run twice', async () => {
    const body = {
      ...run,
      external_id: `${person} 1`,
      chain_id: `chain of ${person}`,
      tags: { user: person },
      metadata: { who: person },
      content: `I am ${person}`,
    };
    const replay = await call('POST', '/v1/runs', body, { 'idempotency-key': 'first' });
    expect(errorSummary(replay)).toEqual([410, 'gone']);
  });

  test('does not match the stored response of a decision again, and its key stays used', async () => {
    const decide = (key: string, more: object) =>
      call('POST', '/v1/edge/decision', { ...scope, ...more }, { 'idempotency-key': key });
    expect(errorSummary(await decide('voided', { estimated_cost_usd: '0.1' }))).toEqual([410, 'gone']);
    expect(errorSummary(await decide('open', { chain_id: chain, estimated_cost_usd: '0.2' }))).toEqual([
      410,
      'gone',
    ]);
    expect(errorSummary(await decide('open', { estimated_cost_usd: '0.2' }))).toEqual([
      409,
      'idempotency_key_conflict',
    ]);
  });

  test('a customer with records in every table is listed as erased, and unknown from then on', async () => {
    const { json } = await call('GET', `/v1/orgs/${org.id}/customer-erasures`);
    expect(json.data).toMatchObject([{ state: 'erased', pseudonym: expect.stringMatching(/^erased-/) }]);
    expect(json.data[0].changed).toBeGreaterThan(10);
    expect(errorSummary(await erase())).toEqual([404, 'not_found']);
    const { json: log } = await call(
      'GET',
      `/v1/orgs/${org.id}/audit-log?action=customers.erase&outcome=success`,
    );
    expect(log.data).toMatchObject([{ target: { kind: 'customer', id: json.data[0].pseudonym } }]);
  });

  test('a customer with records in every table can return as a new customer without usage', async () => {
    const { json } = await call('POST', `/v1/orgs/${org.id}/customer-limits`, {
      customer_id: person,
      period: 'day',
      limit_usd: '0.5',
    });
    expect((await call('POST', '/v1/runs', run)).status).toBe(201);
    expect(errorSummary(await call('POST', '/v1/runs', run))).toEqual([402, 'budget_exceeded']);
    await expectBalanced();
    expect((await erase()).status).toBe(204);
    await settle();
    expect((await call('GET', `/v1/orgs/${org.id}/customer-limits/${json.id}`)).status).toBe(404);
    expect(await traces()).toEqual([]);
    await expectBalanced();
  });
});

test('rejects the erasure under a legal hold, and of an unknown customer', async () => {
  const other = await world.createOrg();
  const path = `/v1/orgs/${other.id}`;
  const ask = (method: string, sub: string, body?: object) =>
    world.request(method, `${path}${sub}`, { key: other.ownerKey, ...(body && { body }) });
  expect(errorSummary(await ask('DELETE', '/customers/nobody'))).toEqual([404, 'not_found']);
  await ask('POST', '/customer-limits', { customer_id: 'c', period: 'day', limit_usd: '1' });
  await ask('PUT', '/retention-policy', { legal_hold: true });
  expect(errorSummary(await ask('DELETE', '/customers/c'))).toEqual([409, 'conflict']);
  await ask('PUT', '/retention-policy', {});
  expect((await ask('DELETE', '/customers/c')).status).toBe(204);
});

test('rejects the erasure of the wildcard, and keeps the limits for every customer', async () => {
  const other = await world.createOrg();
  const path = `/v1/orgs/${other.id}`;
  const ask = (method: string, url: string, body?: object) =>
    world.request(method, url, { key: other.ownerKey, ...(body && { body }) });
  const spending = { period: 'day', limit_usd: '1' };
  const { json: each } = await ask('POST', `${path}/customer-limits`, { customer_id: '*', ...spending });
  const { json: tagged } = await ask('POST', `${path}/budgets`, {
    name: 'each team',
    scope_kind: 'tag:team',
    scope_id: '*',
    ...spending,
  });
  expect((await ask('POST', '/v1/runs', { ...run, customer_id: '*' })).status).toBe(201);
  expect(errorSummary(await ask('DELETE', `${path}/customers/*`))).toEqual([404, 'not_found']);
  await world.db.transaction((tx) =>
    eraseLimits(tx, { orgId: other.id, from: '*', to: 'erased-1', now: world.clock.now(), cursor: null }),
  );
  expect((await ask('GET', `${path}/customer-limits/${each.id}`)).json).toEqual(each);
  expect((await ask('GET', `${path}/budgets/${tagged.id}`)).json).toEqual(tagged);
});

test('an id that equals other values rewrites only the audit entries about the customer', async () => {
  const other = await world.createOrg();
  const path = `/v1/orgs/${other.id}`;
  const ask = (method: string, url: string, body?: object) =>
    world.request(method, url, { key: other.ownerKey, ...(body && { body }) });
  const spending = { period: 'day', limit_usd: '1' };
  const { json: budget } = await ask('POST', `${path}/budgets`, {
    name: 'owner',
    scope_kind: 'org',
    ...spending,
  });
  const { json: tagged } = await ask('POST', `${path}/budgets`, {
    name: 'owner',
    scope_kind: 'tag:user',
    scope_id: 'owner',
    ...spending,
  });
  const minted = await ask('POST', `${path}/keys`, {
    name: 'bound',
    role: 'owner',
    scopes: ['runs:read'],
    attribution: { customer_id: 'owner', tags: { user: 'owner', env: 'prod' } },
  });
  expect(minted.status).toBe(201);
  const entries = async (kinds: readonly string[]) =>
    (
      await world.db.query<{ kind: string; id: string; after: Record<string, unknown> | null }>(
        'SELECT target_kind AS kind, target_id AS id, after FROM audit_log WHERE tenant_id = $1 ORDER BY seq',
        [other.id],
      )
    ).filter(({ kind }) => kinds.includes(kind));
  const unrelated = async () => (await entries(['budget', 'org'])).filter(({ id }) => id !== tagged.id);
  const before = await unrelated();
  expect(before.map(({ id }) => id)).toContain(budget.id);
  for (const customer_id of ['owner', budget.id, other.id, 'usd', 'prod', 'orgs']) {
    await ask('POST', `${path}/customer-limits`, { customer_id, ...spending });
    expect((await ask('DELETE', `${path}/customers/${customer_id}`)).status).toBe(204);
  }
  await settle();
  expect(await unrelated()).toEqual(before);
  const erased = expect.stringMatching(/^erased-/);
  const [key] = (await entries(['key'])).slice(-1);
  expect(key?.after).toMatchObject({
    role: 'owner',
    attribution: { customer_id: erased, tags: { user: erased, env: erased } },
  });
  const [ofTag] = (await entries(['budget'])).filter(({ id }) => id === tagged.id);
  expect(ofTag?.after).toMatchObject({ name: erased, scope_kind: 'tag:user', scope_id: erased });
  for (const { after } of await entries(['customer_limit'])) {
    expect(after).toMatchObject({ customer_id: erased, period: 'day' });
  }
  expect((await ask('GET', `${path}/audit-log/verify`)).json.findings).toEqual([]);
});

test.each([
  ['/v1/orgs/org_1/customers/orgs', '/v1/orgs/org_1/customers/erased-1'],
  ['/console/customers/of/orgs?from=orgs', '/console/customers/of/erased-1?from=orgs'],
  ['/v1/usage?group_by=orgs&customer_id=orgs', '/v1/usage?group_by=orgs&customer_id=erased-1'],
  ['/v1/runs?tag=user=orgs&model=orgs', '/v1/runs?tag=user=erased-1&model=orgs'],
  ['/v1/orgs/orgs', '/v1/orgs/orgs'],
])('replaces the id in %s where it names a customer', (path, renamed) => {
  expect(renamedPath(path, 'orgs', 'erased-1')).toBe(renamed);
});

test('a short id does not affect names that only contain it', async () => {
  const other = await world.createOrg();
  const ask = (method: string, path: string, body?: object) =>
    world.request(method, path, { key: other.ownerKey, ...(body && { body }) });
  await ask('POST', `/v1/orgs/${other.id}/customer-limits`, {
    customer_id: '*',
    period: 'day',
    limit_usd: '1',
    alert_thresholds: [10],
  });
  await ask('PUT', `/v1/orgs/${other.id}/chain-budget`, { max_cost_usd: '1' });
  for (const customer_id of ['1', '21']) {
    const body = {
      model: 'm1',
      cost_usd: '0.4',
      customer_id,
      external_id: `a1-${customer_id}`,
      chain_id: 'c1',
    };
    expect((await ask('POST', '/v1/runs', body)).status).toBe(201);
  }
  expect((await ask('DELETE', `/v1/orgs/${other.id}/customers/1`)).status).toBe(204);
  await settle();
  const { json } = await ask('GET', '/v1/runs?sort=charged_at');
  expect(
    json.data.map((one: Record<string, unknown>) => [
      one.customer_id,
      one.external_id,
      one.chain_id,
      one.model,
    ]),
  ).toEqual(
    expect.arrayContaining([
      [expect.stringMatching(/^erased-/), 'a1-1', 'c1', 'm1'],
      ['21', 'a1-21', 'c1', 'm1'],
    ]),
  );
  // The other customer's limit and chain keep their counts.
  const more = (cost_usd: string, said: object) =>
    ask('POST', '/v1/runs', { model: 'm1', cost_usd, ...said });
  expect(errorSummary(await more('0.7', { customer_id: '21' }))).toEqual([402, 'budget_exceeded']);
  expect(errorSummary(await more('0.3', { chain_id: 'c1' }))).toEqual([402, 'chain_budget_exceeded']);
  const alerts = await world.db.query<{ key: string }>(
    'SELECT counter_key AS key FROM limit_alerts WHERE org_id = $1 ORDER BY 1',
    [other.id],
  );
  const values = alerts.map(({ key }) => key.slice(key.indexOf(':') + 1).replace(/#\d+$/, ''));
  expect(values.filter((value) => value !== 'c1').sort()).toEqual(['21', expect.stringMatching(/^erased-/)]);
  const reconciled = await ask('GET', `/v1/orgs/${other.id}/ledger/reconciliation`);
  expect(reconciled.json).toMatchObject({ balanced: true });
});

test('replaces every occurrence of the id in a name, also next to each other', async () => {
  const other = await world.createOrg();
  const ask = (method: string, path: string, body?: object) =>
    world.request(method, path, { key: other.ownerKey, ...(body && { body }) });
  const chain_id = 'acme/acme acme-acmes-acme';
  const body = { model: 'm', cost_usd: '0.1', customer_id: 'acme', chain_id };
  const { json: posted } = await ask('POST', '/v1/runs', body);
  expect((await ask('DELETE', `/v1/orgs/${other.id}/customers/acme`)).status).toBe(204);
  await settle();
  const { json } = await ask('GET', `/v1/runs/${posted.id}`);
  expect(json.chain_id.replaceAll(json.customer_id, 'X')).toBe('X/X X-acmes-X');
  const entries = await world.db.query('SELECT chain_id FROM ledger_entries WHERE org_id = $1', [other.id]);
  expect(entries).toEqual([{ chain_id: json.chain_id }]);
});

test('replaces values in events and refusals, but not the keys of their fields', async () => {
  const other = await world.createOrg();
  const path = `/v1/orgs/${other.id}`;
  const ask = (method: string, url: string, body?: object) =>
    world.request(method, url, { key: other.ownerKey, ...(body && { body }) });
  await ask('POST', `${path}/customer-limits`, { customer_id: 'model', period: 'day', limit_usd: '0.1' });
  await ask('PUT', `${path}/spend-cap`, { cap_usd: '1' });
  for (const customer_id of ['model', 'stays']) {
    expect((await ask('POST', '/v1/runs', { model: 'm', cost_usd: '9', customer_id })).status).toBe(402);
    expect((await ask('POST', '/v1/runs', { model: 'm', cost_usd: '0.01', customer_id })).status).toBe(201);
  }
  await world.app.finish();
  for (const id of ['emit-limit-events', 'record-refusals']) {
    await world.runJob(id);
  }
  const written = async () => {
    const rows = await world.db.query<{ data: Record<string, unknown> }>(
      `SELECT data FROM outbox WHERE tenant_id = $1 UNION ALL SELECT details FROM refusals WHERE org_id = $1`,
      [other.id],
    );
    return rows.map(({ data }) => JSON.stringify(data)).sort();
  };
  const before = await written();
  expect(before.join()).toMatch(/"customer_id":"model"/);
  expect(before.join()).toMatch(/"model":"m"/);
  expect((await ask('DELETE', `${path}/customers/model`)).status).toBe(204);
  await settle();
  const [{ pseudonym }] = (await ask('GET', `${path}/customer-erasures`)).json.data;
  const expected = before.map((text) => text.replaceAll(/"model"(?!:)/g, JSON.stringify(pseudonym)));
  const after = await written();
  expect(after).toEqual(expect.arrayContaining(expected));
  expect(after.join()).not.toMatch(/"model"(?!:)/);
});

test('renames the counters of alerts, also with a capacity, several values or an existing record', async () => {
  const { id: orgId } = await world.createOrg();
  const now = world.clock.now();
  const keysOf = async () =>
    (
      await world.db.query<{ key: string }>('SELECT counter_key AS key FROM limit_alerts WHERE org_id = $1', [
        orgId,
      ])
    )
      .map(({ key }) => key)
      .sort();
  const record = (keys: readonly string[]) =>
    world.db.query(
      'INSERT INTO limit_alerts (org_id, counter_key, threshold, at) SELECT $1, unnest($2::text[]), 80, $3',
      [orgId, keys, now],
    );
  const kept = ['a@0#1000', 'a@0:c77', 'a@0:c77#1', 'a@1', 'a@1:d'];
  const renamed = (name: string) => [
    `a@0:${name}`,
    `a@0:${name}#1000`,
    `a@0:["${name}","m"]#5`,
    `a@1:${name}`,
  ];
  await record([...kept, ...renamed('c7'), 'a@1:erased-1']);
  const batch = { orgId, from: 'c7', to: 'erased-1', now, cursor: null };
  const { changed, next } = await world.db.transaction((tx) => eraseAlerts(tx, batch));
  expect([changed, next]).toEqual([4, null]);
  expect(await keysOf()).toEqual([...kept, ...renamed('erased-1')].sort());
});

test.each([
  ['a run that never ended', '/v1/runs', { status: 'running', metadata: { who: 'unsettled-7' } }],
  ['a decision that was never settled', '/v1/edge/decision', {}],
])('erases a customer known only from %s, after its hold was released', async (_, path, body) => {
  const other = await world.createOrg();
  const ask = (method: string, url: string, sent?: object) =>
    world.request(method, url, { key: other.ownerKey, ...(sent && { body: sent }) });
  const sent = {
    model: 'm',
    customer_id: 'unsettled-7',
    estimated_cost_usd: '0.1',
    expires_in_seconds: 60,
    ...body,
  };
  const { status } = await ask('POST', path, sent);
  expect(status).toBeLessThan(300);
  world.clock.advanceSeconds(61);
  await world.runJob('expire-holds');
  expect((await ask('GET', `/v1/orgs/${other.id}/holds`)).json.data).toEqual([]);
  if (path === '/v1/runs') {
    // Ends of holds are deleted after a week, runs in progress are not.
    await world.db.query('DELETE FROM hold_ends WHERE org_id = $1', [other.id]);
  }
  expect((await ask('DELETE', `/v1/orgs/${other.id}/customers/unsettled-7`)).status).toBe(204);
  await settle();
  for (const table of ['runs', 'hold_ends']) {
    const rows = await world.db.query<{ text: string }>(
      `SELECT t::text AS text FROM ${table} t WHERE org_id = $1`,
      [other.id],
    );
    expect(rows.map(({ text }) => text).join('\n')).not.toContain('unsettled-7');
  }
});

describe.each([
  ['a long id', 'customer-4711'],
  ['a short id', 'c7'],
])('an open hold of a customer with %s', (_, customer_id) => {
  test('leaves nothing reserved under the old names', async () => {
    const other = await world.createOrg();
    const path = `/v1/orgs/${other.id}`;
    const ask = (method: string, url: string, body?: object) =>
      world.request(method, url, { key: other.ownerKey, ...(body && { body }) });
    await ask('PUT', `${path}/chain-budget`, { max_cost_usd: '1' });
    const perCustomerAndModel = {
      name: 'pairs',
      match: { customer_id: '*', model: '*' },
      unit: 'usd',
      limit: '1',
      window_seconds: 86_400,
      kind: 'quota',
    };
    const { status, text } = await world.request('PUT', `/v1/admin/orgs/${other.id}/rate-limits`, {
      key: world.operatorKey,
      body: { policies: [perCustomerAndModel] },
    });
    expect(status, text).toBe(200);
    const run = { model: 'm', chain_id: `chain ${customer_id}`, customer_id };
    const started = await ask('POST', '/v1/runs', {
      ...run,
      status: 'running',
      estimated_cost_usd: '0.4',
    });
    expect(started.status).toBe(201);
    expect((await ask('DELETE', `${path}/customers/${customer_id}`)).status).toBe(204);
    await settle();
    const { json } = await ask('GET', `${path}/ledger/reconciliation`);
    expect(json).toMatchObject({ balanced: true });
    expect(JSON.stringify(json)).not.toContain(JSON.stringify(`["${customer_id}"`).slice(1, -1));
    const done = await ask('POST', `/v1/runs/${started.json.id}/complete`, {
      status: 'succeeded',
      cost_usd: '0.3',
    });
    expect(done.status, done.text).toBe(200);
    expect((await ask('GET', `${path}/ledger/reconciliation`)).json).toMatchObject({ balanced: true });
  });
});

describe.each([
  ['a long id', 'zebra "4711"'],
  ['a short id', 'ü7'],
])('a configuration that names a customer with %s', (_, customer_id) => {
  test('is in no stored response and no audit entry after the erasure', async () => {
    const other = await world.createOrg();
    const path = `/v1/orgs/${other.id}`;
    const ask = (method: string, url: string, body?: object, headers: Record<string, string> = {}) =>
      world.request(method, url, {
        key: url.startsWith('/v1/admin') ? world.operatorKey : other.ownerKey,
        headers,
        ...(body && { body }),
      });
    const limit = { customer_id, period: 'day', limit_usd: '1' };
    const stays = { customer_id: 'stays', period: 'day', limit_usd: '1' };
    const rate = { unit: 'requests', limit: 1_000, window_seconds: 60, kind: 'rate' };
    const rates = ['stays', customer_id].map((id, index) => ({
      name: `rate ${index}`,
      match: { customer_id: id },
      ...rate,
    }));
    const about = [
      ['POST', `${path}/configuration`, { customer_limits: [stays, limit] }],
      ['POST', `${path}/configuration`, { customer_limits: [{ ...limit, limit_usd: '2' }] }],
      ['POST', `${path}/configuration/plan`, { customer_limits: [] }],
      ['PUT', `/v1/admin/orgs/${other.id}/rate-limits`, { policies: rates }],
    ] as const;
    const send = (index: number, [method, url, body]: (typeof about)[number]) =>
      ask(method, url, body, { 'idempotency-key': `about ${index}` });
    const unrelated = () =>
      ask('PUT', `${path}/spend-cap`, { cap_usd: '5' }, { 'idempotency-key': 'unrelated' });
    for (const [index, request] of about.entries()) {
      const { status, text } = await send(index, request);
      expect([status, text]).toEqual([
        200,
        expect.stringContaining(JSON.stringify(customer_id).slice(1, -1)),
      ]);
    }
    expect((await unrelated()).status).toBe(200);
    // As earlier releases have recorded it.
    const summary = { created: 1, changes: [`create customer limit "${customer_id} day"`] };
    await world.db.transaction((tx) =>
      recordChange(
        tx,
        { ids: createIds(world.clock), heads: world.services.auditHeads },
        { kind: 'key', id: 'key_1', at: world.clock.now() },
        'configuration.apply',
        { tenantId: other.id, target: { kind: 'configuration', id: other.id }, after: summary },
      ),
    );
    expect((await ask('DELETE', `${path}/customers/${encodeURIComponent(customer_id)}`)).status).toBe(204);
    await settle();
    for (const [index, request] of about.entries()) {
      expect(errorSummary(await send(index, request))).toEqual([410, 'gone']);
    }
    expect((await unrelated()).status).toBe(200);
    const entries = await world.db.query<{ text: string }>(
      'SELECT concat(before, after, detail) AS text FROM audit_log WHERE tenant_id = $1',
      [other.id],
    );
    const written = entries.map(({ text }) => text).join('\n');
    expect(written).not.toContain(JSON.stringify(customer_id).slice(1, -1));
    expect(written).toMatch(/create customer limit \\"erased-\w+ day\\"/);
    expect((await ask('GET', `${path}/audit-log/verify`)).json.findings).toEqual([]);
  });
});

/** Fails all transactions after the first ones, as if the process had been killed. */
async function interruptedAfter(transactions: number, work: () => Promise<unknown>): Promise<void> {
  const { transaction } = world.db;
  let left = transactions;
  world.db.transaction = ((inside, options) => {
    left -= 1;
    return left < 0 ? Promise.reject(new Error('killed')) : transaction.call(world.db, inside, options);
  }) as typeof transaction;
  try {
    await work();
  } finally {
    world.db.transaction = transaction;
  }
}

/** Begins an erasure and interrupts it before the given step. */
async function erasedUntil(step: string, begin: () => Promise<unknown>, orgId: string): Promise<void> {
  const stepOf = async () =>
    (
      await world.db.query<{ step: string }>(
        'SELECT step FROM customer_erasures WHERE org_id = $1 AND finished_at IS NULL',
        [orgId],
      )
    )[0]?.step;
  await interruptedAfter(1, begin);
  for (let batches = 0; (await stepOf()) !== step; batches += 1) {
    expect(batches).toBeLessThan(50);
    await world.job('erase-customers').runOnce();
  }
}

test('a run posted during the erasure has its entry and its usage under the same name at the end', async () => {
  const other = await world.createOrg();
  const path = `/v1/orgs/${other.id}`;
  const ask = (method: string, url: string, body?: object) =>
    world.request(method, url, { key: other.ownerKey, ...(body && { body }) });
  const post = (cost_usd: string) =>
    ask('POST', '/v1/runs', { model: 'm', cost_usd, customer_id: 'busy', external_id: `busy ${cost_usd}` });
  expect((await post('0.1')).status).toBe(201);
  await erasedUntil('usage', () => ask('DELETE', `${path}/customers/busy`), other.id);
  expect((await post('0.2')).status).toBe(201);
  const many = Array.from({ length: rowsPerBatch + 1 }, () => ({
    model: 'm',
    cost_usd: '0.0001',
    customer_id: 'busy',
  }));
  const bulk = await ask('POST', '/v1/runs/bulk?enforcement=record', { runs: many });
  expect(bulk.json).toMatchObject({ accepted: rowsPerBatch + 1 });
  await settle();
  expect((await post('0.4')).status).toBe(201);
  const [{ pseudonym, state }] = (await ask('GET', `${path}/customer-erasures`)).json.data;
  expect(state).toBe('erased');
  for (const table of ['ledger_entries', 'usage_days', 'usage_rollups', 'runs']) {
    const amount = table === 'runs' ? 'cost_nanos' : 'usd_nanos';
    const sums = await world.db.query(
      `SELECT customer_id, sum(${amount})::int8 AS nanos FROM ${table} WHERE org_id = $1 GROUP BY 1 ORDER BY 2`,
      [other.id],
    );
    expect([table, sums]).toEqual([
      table,
      [
        { customer_id: 'busy', nanos: 400_000_000n },
        { customer_id: pseudonym, nanos: 500_100_000n },
      ],
    ]);
  }
  const identities = await world.db.query<{ external_id: string }>(
    'SELECT external_id FROM run_identities WHERE org_id = $1 AND external_id IS NOT NULL ORDER BY run_id',
    [other.id],
  );
  expect(identities.map(({ external_id }) => external_id)).toEqual([
    expect.stringMatching(/^erased-/),
    expect.stringMatching(/^erased-/),
    'busy 0.4',
  ]);
  expect((await ask('GET', `${path}/ledger/reconciliation`)).json).toMatchObject({ balanced: true });
});

test('a run started during the erasure and completed after it has the same name as its entry', async () => {
  const other = await world.createOrg();
  const ask = (method: string, url: string, body?: object) =>
    world.request(method, url, { key: other.ownerKey, ...(body && { body }) });
  await ask('POST', '/v1/runs', { model: 'm', cost_usd: '0.1', customer_id: 'busy' });
  world.clock.advanceSeconds(86_400);
  await erasedUntil('ledger_entries', () => ask('DELETE', `/v1/orgs/${other.id}/customers/busy`), other.id);
  const started = await ask('POST', '/v1/runs', {
    model: 'm',
    status: 'running',
    estimated_cost_usd: '0.2',
    customer_id: 'busy',
    chain_id: 'chain of busy',
    tags: { user: 'busy' },
  });
  expect(started.status).toBe(201);
  await settle();
  const completed = await ask('POST', `/v1/runs/${started.json.id}/complete`, { cost_usd: '0.2' });
  expect(completed.status).toBe(200);
  const [entry] = await world.db.query<{ customer_id: string; chain_id: string }>(
    'SELECT customer_id, chain_id FROM ledger_entries WHERE org_id = $1 AND run_id = $2',
    [other.id, started.json.id],
  );
  expect(entry?.customer_id).toMatch(/^erased-/);
  expect(completed.json).toMatchObject({ ...entry, tags: {} });
});

test('a decision under the pseudonym during the erasure does not forget what was spent', async () => {
  const other = await world.createOrg();
  const path = `/v1/orgs/${other.id}`;
  const as = (method: string, to: string, body?: object) =>
    world.request(method, to, { key: other.ownerKey, ...(body !== undefined && { body }) });
  await as('POST', `${path}/customer-limits`, { customer_id: '*', period: 'month', limit_usd: '1' });
  await as('POST', '/v1/runs', { ...run, customer_id: 'busy', cost_usd: '0.9' });
  await interruptedAfter(7, async () => {
    expect((await as('DELETE', `${path}/customers/busy`)).status).toBe(204);
  });
  const [erasure] = (await as('GET', `${path}/customer-erasures`)).json.data;
  expect(erasure.state).toBe('erasing');
  const decide = (estimated_cost_usd: string) =>
    as('POST', '/v1/edge/decision', { model: 'm', customer_id: erasure.pseudonym, estimated_cost_usd });
  expect((await decide('0.05')).status).toBe(200);
  await settle();
  expect((await as('GET', `${path}/customer-erasures`)).json.data).toMatchObject([{ state: 'erased' }]);
  expect((await decide('0.06')).status).toBe(402);
  expect((await decide('0.05')).status).toBe(200);
  const { json } = await as('GET', `${path}/ledger/reconciliation`);
  expect(json).toMatchObject({ balanced: true, drift_usd: '0' });
});

test('an interrupted erasure continues in the background', async () => {
  const runs = Array.from({ length: 2_500 }, (_, n) => ({
    model: 'm',
    cost_usd: '0.001',
    customer_id: n % 10 === 0 ? 'other' : 'long',
    started_at: new Date(world.clock.now().getTime() - n * 60_000).toISOString(),
  }));
  for (let at = 0; at < runs.length; at += 1_250) {
    await call('POST', '/v1/runs/bulk?enforcement=record', { runs: runs.slice(at, at + 1_250) });
  }
  await interruptedAfter(8, async () => expect((await erase('long')).status).toBe(204));
  const stillThere = async () =>
    (await world.db.query(`SELECT 1 AS one FROM runs WHERE org_id = $1 AND customer_id = 'long'`, [org.id]))
      .length;
  const halfWay = await stillThere();
  expect(halfWay).toBeGreaterThan(0);
  expect(halfWay).toBeLessThan(2_250);
  await call('PUT', `/v1/orgs/${org.id}/retention-policy`, { legal_hold: true });
  await settle();
  expect(await stillThere()).toBe(halfWay);
  await call('PUT', `/v1/orgs/${org.id}/retention-policy`, {});
  await settle();
  expect(await stillThere()).toBe(0);
  expect((await call('GET', `/v1/orgs/${org.id}/customer-erasures`)).json.data[0].state).toBe('erased');
  await expectBalanced();
});

test('a failing erasure does not delay others, and completes later', async () => {
  const failing = await world.createOrg();
  const other = await world.createOrg();
  await world.db.query(
    `CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS
       $$ BEGIN IF OLD.org_id = '${failing.id}' THEN RAISE EXCEPTION 'a broken row'; END IF; RETURN NEW; END $$`,
  );
  await world.db.query(
    'CREATE TRIGGER broken BEFORE UPDATE ON runs FOR EACH ROW EXECUTE FUNCTION refuse_change()',
  );
  const begin = async ({ id, ownerKey: key }: TestOrg) => {
    await world.request('POST', '/v1/runs', { key, body: { ...run, customer_id: 'c' } });
    expect((await world.request('DELETE', `/v1/orgs/${id}/customers/c`, { key })).status).toBe(204);
  };
  const stateOf = async ({ id, ownerKey: key }: TestOrg) =>
    (await world.request('GET', `/v1/orgs/${id}/customer-erasures`, { key })).json.data[0].state;
  await begin(failing);
  await begin(other);
  await settle();
  expect([await stateOf(failing), await stateOf(other)]).toEqual(['erasing', 'erased']);
  await world.db.query('DROP TRIGGER broken ON runs');
  await settle();
  expect(await stateOf(failing)).toBe('erased');
});

test.runIf(engine === 'embedded')('a hold that survives a restart keeps the pseudonym', async () => {
  const held = await call('POST', '/v1/edge/decision', {
    model: 'm',
    customer_id: 'restarted',
    estimated_cost_usd: '0.1',
  });
  await erase('restarted');
  const hold = await world.services.ledger.reads.findHold(org.id, held.json.decision_id);
  expect(hold?.scope.customer_id).toMatch(/^erased-/);
  const { json } = await call('GET', `/v1/orgs/${org.id}/holds`);
  expect(JSON.stringify(json)).not.toContain('restarted');
});

test('replaces the id in a chain whose ledger entries retention has deleted', async () => {
  const other = await world.createOrg();
  const path = `/v1/orgs/${other.id}`;
  const ask = (method: string, url: string, body?: object) =>
    world.request(method, url, { key: other.ownerKey, ...(body && { body }) });
  const chains = async () =>
    (
      await world.db.query<{ chain_id: string }>(
        'SELECT chain_id FROM closed_chains WHERE org_id = $1 ORDER BY chain_id',
        [other.id],
      )
    ).map(({ chain_id }) => chain_id);
  for (const [customer_id, chain_id] of [
    ['erase-me', 'thread erase-me 1'],
    ['stays-here', 'about erase-me'],
  ]) {
    const { status } = await ask('POST', '/v1/runs', { model: 'm', cost_usd: '0.1', customer_id, chain_id });
    expect(status).toBe(201);
  }
  await ask('PUT', `${path}/retention-policy`, { runs_days: 30 });
  world.clock.advanceSeconds(500 * 86_400);
  await world.runJob('apply-retention');
  expect(await chains()).toEqual(['about erase-me', 'thread erase-me 1']);
  await ask('POST', `${path}/customer-limits`, { customer_id: 'erase-me', period: 'day', limit_usd: '1' });
  expect((await ask('DELETE', `${path}/customers/erase-me`)).status).toBe(204);
  await settle();
  expect(await chains()).toEqual(['about erase-me', expect.stringMatching(/^thread erased-\w+ 1$/)]);
});

test('replaces the id in a chain whose ledger entries retention deletes during the erasure', async () => {
  const other = await world.createOrg();
  const path = `/v1/orgs/${other.id}`;
  const ask = (method: string, url: string, body?: object) =>
    world.request(method, url, { key: other.ownerKey, ...(body && { body }) });
  const chain_id = 'thread erase-me 1';
  const body = { model: 'm', cost_usd: '0.1', customer_id: 'erase-me', chain_id };
  expect((await ask('POST', '/v1/runs', body)).status).toBe(201);
  await ask('PUT', `${path}/retention-policy`, { runs_days: 30 });
  world.clock.advanceSeconds(500 * 86_400);
  await erasedUntil('ledger_entries', () => ask('DELETE', `${path}/customers/erase-me`), other.id);
  const [{ pseudonym }] = (await ask('GET', `${path}/customer-erasures`)).json.data;
  await world.runJob('apply-retention');
  // Retention has deleted an entry of the chain that had been renamed before, too.
  await world.db.query(
    `INSERT INTO closed_chains (org_id, chain_id, usd_nanos, tokens, requests, customer_ids)
     VALUES ($1, $2, 5, 6, 7, ARRAY[$3])`,
    [other.id, `thread ${pseudonym} 1`, pseudonym],
  );
  await settle();
  expect(
    await world.db.query(
      'SELECT chain_id, usd_nanos, tokens, requests, customer_ids FROM closed_chains WHERE org_id = $1',
      [other.id],
    ),
  ).toEqual([
    {
      chain_id: `thread ${pseudonym} 1`,
      usd_nanos: 100_000_005n,
      tokens: 6n,
      requests: 8n,
      customer_ids: [pseudonym],
    },
  ]);
});

test('resets the cursor of the exhaustion watch, also if a check in progress stores it after the first step', async () => {
  const other = await world.createOrg();
  const path = `/v1/orgs/${other.id}`;
  const ask = (method: string, url: string, body?: object) =>
    world.request(method, url, { key: other.ownerKey, ...(body && { body }) });
  const limit = { customer_id: person, period: 'day', limit_usd: '1' };
  expect((await ask('POST', `${path}/customer-limits`, limit)).status).toBe(201);
  const store = (customer_id: string) =>
    world.db.query(
      `INSERT INTO forecast_checks (org_id, checked_at, after_group) VALUES ($1, now(), $2)
       ON CONFLICT (org_id) DO UPDATE SET after_group = excluded.after_group`,
      [other.id, `usd ${JSON.stringify({ customer_id })}`],
    );
  const cursor = async () =>
    (
      await world.db.query<{ after_group: string }>(
        'SELECT after_group FROM forecast_checks WHERE org_id = $1',
        [other.id],
      )
    )[0]?.after_group;
  await store(person);
  expect((await ask('DELETE', `${path}/customers/${inPath}`)).status).toBe(204);
  expect(await cursor()).toBe('');
  await store(person);
  await settle();
  expect(await cursor()).toBe('');
});
