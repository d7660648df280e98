/** Fail-open decisions of several processes over one database, with real disks and a ledger that can be cut off. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Registry } from 'prom-client';
import { beforeEach, describe, expect, test } from 'vitest';
import { type TestOrg, useWorld } from '../../test/harness.ts';
import { requestKeyOf } from '../ledger/holds/hold-keys.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { DatabaseUnavailable } from '../platform/db/database.ts';
import { createIds } from '../platform/ids.ts';
import { createLog } from '../platform/log.ts';
import { OverCapacity } from '../platform/service-unavailable.ts';
import { createFailOpenDecisions, type FailOpenDecisions } from './fail-open-decisions.ts';
import { recognizedForMs } from './fail-open-ids.ts';
import type { DecisionBody } from './schema.ts';

const world = useWorld();
let directory: string;
let org: TestOrg;
let other: TestOrg;
const opened: FailOpenDecisions[] = [];
beforeEach(async () => {
  directory = join(mkdtempSync(join(tmpdir(), 'purser-fail-open-')), 'fail-open');
  [org, other] = [await capped('1'), await capped('1')];
  return async () => {
    await Promise.all(opened.splice(0).map((one) => one.close()));
    rmSync(directory, { recursive: true, force: true });
  };
});

async function capped(usd: string): Promise<TestOrg> {
  const made = await world.createOrg();
  const path = `/v1/orgs/${made.id}/spend-cap`;
  await world.request('PUT', path, { key: made.ownerKey, body: { cap_usd: usd } });
  return made;
}

/** Another process: it shares the database and the secrets with the service, and nothing else. */
function processOf(options: { bytesMax?: number; ledger?: Ledger } = {}): FailOpenDecisions {
  const { db, clock, services } = world;
  const decisions = createFailOpenDecisions({
    db,
    clock,
    ids: createIds(clock),
    log: createLog('silent'),
    ledger: options.ledger ?? (services.ledger as Ledger),
    secrets: services.secrets,
    directory,
    bytesMax: options.bytesMax ?? 10_000_000,
    findPrice: services.prices.find,
    recordImport: () => async () => undefined,
  });
  opened.push(decisions);
  return decisions;
}

const keyOf = (orgId: string, idempotencyKey: string, body: DecisionBody) =>
  requestKeyOf({ route: 'edge', orgId, keyId: 'key_1', idempotencyKey, body }, () => () => '');

async function allow(
  decisions: FailOpenDecisions,
  { id: orgId }: TestOrg,
  body: DecisionBody = { model: 'm', estimated_cost_usd: '0.1' },
  idempotencyKey?: string,
) {
  const key = idempotencyKey === undefined ? undefined : keyOf(orgId, idempotencyKey, body);
  const caller = { orgId, keyId: 'key_1' };
  const { text } = await decisions.allow({ body, caller, key, price: undefined });
  return JSON.parse(text) as { decision_id: string; held_usd: string };
}

async function importAll(decisions: FailOpenDecisions): Promise<void> {
  while (await decisions.job.runOnce()) {
    // Continue with the next batch.
  }
}

const run = (of: TestOrg, decision_id: string, more: object = {}) =>
  world.request('POST', '/v1/runs', {
    key: of.ownerKey,
    body: { model: 'm', cost_usd: '0.2', decision_id, ...more },
  });

async function capOf({ id }: TestOrg) {
  const { counters } = await world.services.ledger.reads.inspect(id, async () => undefined);
  const [counter] = counters.filter(({ key }) => key.startsWith('cap_'));
  return counter && { settled: counter.settled, held: counter.held };
}

async function drift(of: TestOrg): Promise<string> {
  const path = `/v1/orgs/${of.id}/ledger/reconciliation`;
  return (await world.request('GET', path, { key: of.ownerKey })).json.drift_usd;
}

const usd = (amount: string) => BigInt(Math.round(Number(amount) * 1e9));

describe('a decision', () => {
  test('a fail-open decision with `fit` allows what was requested, with and without a price, and is imported as that', async () => {
    const decisions = processOf();
    const body = { model: 'm', input_tokens: 1, max_output_tokens: 9, fit: true, min_output_tokens: 2 };
    expect(await allow(decisions, org, body)).toMatchObject({ max_output_tokens: 9, held_usd: '0' });
    const priced = { ...body, model: 'gpt-4o', max_output_tokens: 90_000 };
    const given = await allow(decisions, org, priced);
    expect(given).toMatchObject({ max_output_tokens: 90_000 });
    await importAll(decisions);
    const hold = await world.services.ledger.reads.findHold(org.id, given.decision_id);
    expect(hold?.amounts.tokens).toBe(90_001n);
    expect(await drift(org)).toBe('0');
  });

  test('a fail-open decision is on disk before it is answered, and is imported by the next process, with its key', async () => {
    const crashed = processOf();
    const given = await allow(crashed, org, undefined, 'one');
    const spooled = readdirSync(directory).map((name) => readFileSync(join(directory, name), 'utf8'));
    expect(spooled.join('')).toContain(given.decision_id);
    await crashed.close();

    const next = processOf();
    await next.takeOver();
    const again = await allow(next, org, undefined, 'one');
    expect(again).toEqual(given);
    await importAll(next);
    expect(await capOf(org)).toEqual({ settled: 0n, held: usd('0.1') });
    expect(readdirSync(directory)).toEqual([]);
    const key = keyOf(org.id, 'one', { model: 'm', estimated_cost_usd: '0.1' });
    expect(await world.services.ledger.replay(org.id, key)).toEqual({
      kind: 'replayed',
      response: expect.stringContaining(given.decision_id),
    });
  });

  test('a fail-open decision is imported once by two processes that have both read it', async () => {
    const [one, two] = [processOf(), processOf()];
    await allow(one, org);
    const [name] = readdirSync(directory) as [string];
    // The second process reads a copy of the file of the first.
    writeFileSync(join(directory, 'copy.1.none.spool'), readFileSync(join(directory, name)));
    await two.takeOver();
    await Promise.all([importAll(one), importAll(two)]);
    expect(await capOf(org)).toEqual({ settled: 0n, held: usd('0.1') });
  });

  test('a fail-open decision of hostile amounts is held as far as possible, and blocks neither its org nor another', async () => {
    const decisions = processOf();
    const hostile = { model: 'm', estimated_cost_usd: '8999999999' };
    const given = [await allow(decisions, org, hostile), await allow(decisions, org, hostile)];
    const small = await allow(decisions, org);
    await allow(decisions, other);
    await importAll(decisions);
    expect(await capOf(other)).toEqual({ settled: 0n, held: usd('0.1') });
    const held = await capOf(org);
    expect(held?.held).toBe(8_999_999_999_999_999_999n);
    expect(await drift(org)).toBe('0');
    for (const { decision_id } of [...given, small]) {
      expect((await run(org, decision_id, { cost_usd: '0.01' })).json.marks).toContain('degraded');
    }
    expect(await capOf(org)).toEqual({ settled: usd('0.03'), held: 0n });
    expect(await drift(org)).toBe('0');
  });

  test('a fail-open decision that the ledger rejects is set aside, and the others of its org are imported', async () => {
    let rejected = '';
    const ledger = Object.assign(Object.create(world.services.ledger), {
      importHolds(request: Parameters<Ledger['importHolds']>[0]) {
        return request.holds.some(({ id }) => id === rejected)
          ? Promise.reject(new Error('the row is not as it must be'))
          : world.services.ledger.importHolds(request);
      },
    });
    const decisions = processOf({ ledger });
    const given = [];
    for (let i = 0; i < 3; i += 1) {
      given.push(await allow(decisions, org));
    }
    rejected = given[1]?.decision_id ?? '';
    await importAll(decisions);
    expect(await capOf(org)).toEqual({ settled: 0n, held: usd('0.2') });
    expect(readdirSync(directory)).toEqual(['rejected.ndjson']);
    expect(readFileSync(join(directory, 'rejected.ndjson'), 'utf8')).toContain(rejected);
    const metrics = new Registry();
    decisions.register(metrics);
    const text = await metrics.metrics();
    expect(text).toContain('svc_fail_open_decisions_total{outcome="rejected"} 1');
    expect(text).toContain('svc_fail_open_decisions_total{outcome="imported"} 2');
    expect(text).toContain('svc_fail_open_pending 0');
    // Its run is posted nevertheless.
    expect((await run(org, rejected)).json.marks).toEqual(['late', 'degraded']);
  });

  test('a fail-open decision of an org that cannot be written now does not delay other orgs', async () => {
    const ledger = Object.assign(Object.create(world.services.ledger), {
      importHolds(request: Parameters<Ledger['importHolds']>[0]) {
        return request.orgId === org.id
          ? Promise.reject(new DatabaseUnavailable('its row is locked'))
          : world.services.ledger.importHolds(request);
      },
    });
    const decisions = processOf({ ledger });
    await allow(decisions, org);
    await allow(decisions, other);
    await importAll(decisions);
    expect([await capOf(org), await capOf(other)]).toEqual([undefined, { settled: 0n, held: usd('0.1') }]);
    await decisions.close();
    const next = processOf();
    await next.takeOver();
    await importAll(next);
    expect(await capOf(org)).toEqual({ settled: 0n, held: usd('0.1') });
  });
});

describe('a run', () => {
  test('a run of a fail-open decision that another process has not imported is posted once, and the import adds nothing', async () => {
    const elsewhere = processOf();
    const { decision_id } = await allow(elsewhere, org, undefined, 'one');
    const posted = await run(org, decision_id);
    expect([posted.status, posted.json.marks]).toEqual([201, ['late', 'degraded']]);
    expect((await run(org, decision_id)).json.error.code).toBe('conflict');
    await importAll(elsewhere);
    expect(await world.services.ledger.reads.findHold(org.id, decision_id)).toBeUndefined();
    expect((await run(org, decision_id)).json.error.code).toBe('conflict');
    // The key stays used, although its decision was never held.
    const key = keyOf(org.id, 'one', { model: 'm', estimated_cost_usd: '0.1' });
    expect(await world.services.ledger.replay(org.id, key)).toMatchObject({ kind: 'replayed' });
    expect(await capOf(org)).toEqual({ settled: usd('0.2'), held: 0n });
    expect(await drift(org)).toBe('0');
  });

  test('a run of a fail-open decision counts in the window of its decision, also if that is lost', async () => {
    const { decision_id } = await allow(processOf(), org);
    rmSync(directory, { recursive: true });
    const decidedAt = world.clock.now();
    world.clock.advanceSeconds(2 * 86_400);
    expect((await run(org, decision_id)).status).toBe(201);
    const rows = await world.db.query('SELECT charged_at FROM ledger_entries WHERE org_id = $1', [org.id]);
    expect(rows).toEqual([{ charged_at: decidedAt }]);
    expect(await drift(org)).toBe('0');
  });

  test('a run in progress is completed before or after the import of its fail-open decision', async () => {
    const elsewhere = processOf();
    const ids = [];
    for (let i = 0; i < 2; i += 1) {
      const { decision_id } = await allow(elsewhere, org);
      const running = await run(org, decision_id, { status: 'running', estimated_cost_usd: '0.1' });
      expect(running.status).toBe(201);
      ids.push(running.json.id);
    }
    const complete = (id: string) =>
      world.request('POST', `/v1/runs/${id}/complete`, { key: org.ownerKey, body: { cost_usd: '0.1' } });
    expect((await complete(ids[0])).json.marks).toEqual(['late', 'degraded']);
    await importAll(elsewhere);
    expect(await capOf(org)).toEqual({ settled: usd('0.1'), held: usd('0.1') });
    expect((await complete(ids[1])).json.marks).toEqual(['degraded']);
    expect(await capOf(org)).toEqual({ settled: usd('0.2'), held: 0n });
    expect(await drift(org)).toBe('0');
  });

  test('a run cannot name an invented decision, a changed one, an old one, or one of another org', async () => {
    const { decision_id } = await allow(processOf(), org);
    const plain = decision_id.slice(0, 30);
    const last = decision_id.endsWith('0') ? '1' : '0';
    const time = decision_id.replace(/^dec_./, 'dec_1');
    const refused = async (of: TestOrg, id: string) => {
      const answer = await run(of, id);
      expect([answer.status, answer.json.error.details.fields], id).toMatchObject([
        422,
        [{ field: 'decision_id' }],
      ]);
    };
    for (const id of [
      plain,
      decision_id.slice(0, -1) + last,
      `${decision_id}0`,
      time,
      `${plain}${'0'.repeat(16)}`,
    ]) {
      await refused(org, id);
    }
    await refused(other, decision_id);
    world.clock.advanceSeconds(recognizedForMs / 1_000 + 1);
    await refused(org, decision_id);
  });
});

describe('the spool', () => {
  test('the spool of fail-open decisions is bounded, and a part of it is reserved for orgs that use little', async () => {
    const decisions = processOf({ bytesMax: 100_000 });
    const body = { model: 'm', estimated_cost_usd: '0.1', workflow: 'w'.repeat(100) };
    let given = 0;
    const fill = async (of: TestOrg) => {
      for (;;) {
        await allow(decisions, of, body);
        given += 1;
      }
    };
    await expect(fill(org)).rejects.toThrow(OverCapacity);
    const ofOrg = given;
    expect(ofOrg).toBeGreaterThan(200);
    await expect(allow(decisions, org, body)).rejects.toThrow(OverCapacity);
    await expect(fill(other)).rejects.toThrow(OverCapacity);
    expect(given - ofOrg, 'decisions of the other org').toBeGreaterThanOrEqual(1);
    expect(given - ofOrg).toBeLessThan(10);
    await importAll(decisions);
    await allow(decisions, org, body);
  });

  test('a spool that cannot be written refuses, and a retry with the same key is decided again', async () => {
    const decisions = processOf();
    writeFileSync(directory, 'a file in its place');
    const failed = await Promise.allSettled([
      allow(decisions, org, undefined, 'one'),
      allow(decisions, org, undefined, 'one'),
    ]);
    expect(failed.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    rmSync(directory);
    expect(await allow(decisions, org, undefined, 'one')).toMatchObject({ held_usd: '0.1' });
  });

  test('the spool of fail-open decisions is not used for an overload of this process', () => {
    const decisions = processOf();
    expect(decisions.isOutage(new DatabaseUnavailable('away'))).toBe(true);
    expect(decisions.isOutage(new OverCapacity('the queue is full'))).toBe(false);
  });
});

test('thousands of decisions of many orgs are imported in batches', async () => {
  const decisions = processOf();
  const orgs = [org, other];
  await Promise.all(Array.from({ length: 2_000 }, (_, i) => allow(decisions, orgs[i % 2] as TestOrg)));
  let batches = 1;
  while (await decisions.job.runOnce()) {
    batches += 1;
  }
  expect(batches).toBe(2);
  expect([await capOf(org), await capOf(other)]).toEqual(Array(2).fill({ settled: 0n, held: usd('100') }));
});
