/**
 * Holds that expire without a settlement, in an org that posts the held amount: on both engines, each is posted once, and a late
 * settlement leaves the ledger as if the held amount had never been posted.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../../test/support/eventually.ts';
import { limitOf, scopeOf, usd } from '../../test/support/ledger-values.ts';
import { LedgerWorld, openLedgerOn, verdictOf } from '../../test/support/ledger-world.ts';
import { engine, openPlace } from '../../test/support/test-database.ts';
import type { Limit } from '../kernel/limits.ts';
import { type Database, DatabaseUnavailable } from '../platform/db/database.ts';
import { type Hold, holdIdOfCall } from './holds/hold.ts';
import type { Posting } from './posting.ts';
import { findEnds } from './postings/ledger-writes.ts';

type Fault = 'after the commit' | 'before the commit' | 'with an error';
/** The fault of the next ledger transactions. */
let faults: Fault[] = [];

function faulty(db: Database): Database {
  return {
    ...db,
    async transaction(work, options) {
      const fault = faults.shift();
      const result = await db.transaction(async (tx) => {
        const done = await work(tx);
        if (fault === 'before the commit') {
          throw new DatabaseUnavailable('the connection was lost before the commit');
        }
        if (fault === 'with an error') {
          throw new Error('a statement failed');
        }
        return done;
      }, options);
      if (fault === 'after the commit') {
        throw new DatabaseUnavailable('the connection was lost after the commit');
      }
      return result;
    },
  };
}

let world: LedgerWorld;
beforeAll(async () => {
  world = await LedgerWorld.open({ wrap: faulty });
});
afterAll(() => world.close());

const lifetime = { kind: 'lifetime' } as const;
const cap = limitOf({ id: 'cap', kind: 'spend_cap', capacity: usd('100'), thresholds: [4] });
const quota = limitOf({
  id: 'rlp',
  kind: 'quota',
  unit: 'requests',
  capacity: 100n,
  span: { kind: 'fixed', seconds: 3_600 },
});
const tokenQuota = limitOf({ ...quota, id: 'tok', unit: 'tokens' });
const prepaid = limitOf({ id: 'ppd', kind: 'prepaid', capacity: usd('100'), span: lifetime });
const chain = limitOf({
  id: 'chn',
  kind: 'chain_cost',
  capacity: usd('100'),
  match: { chain_id: '*' },
  span: lifetime,
});
const pack = (id: string, dollars: string, expiresAtMs: number) =>
  limitOf({
    id,
    kind: 'credits',
    match: { customer_id: 'c' },
    capacity: usd(dollars),
    span: lifetime,
    expiresAtMs,
  });
const later = (days: number) => world.nowMs + days * 86_400_000;
const all = (): Limit[] => [
  cap,
  quota,
  tokenQuota,
  prepaid,
  chain,
  pack('crp_a', '3', later(5)),
  pack('crp_b', '50', later(9)),
];
const holdSeconds = 60;

async function orgWith(...limits: readonly Limit[]): Promise<string> {
  const orgId = await world.orgWith(...limits);
  await world.setOnUnsettled(orgId, 'post_held');
  return orgId;
}

const amounts = (dollars: string) => ({ usd: usd(dollars), tokens: 7n, requests: 1n });

async function expired(orgId: string, dollars: string, fields: object = {}): Promise<Hold> {
  const hold = await world.held(orgId, dollars, { amounts: amounts(dollars), holdSeconds, ...fields });
  world.clock.advanceSeconds(holdSeconds + 1);
  await world.expireAll();
  return hold;
}

interface EntryRow {
  readonly run_id: string;
  readonly usd_nanos: bigint;
  readonly marks: readonly string[];
}

const entriesOf = (orgId: string) =>
  world.db.query<EntryRow>(
    'SELECT run_id, usd_nanos, marks FROM ledger_entries WHERE org_id = $1 ORDER BY booked_at, usd_nanos DESC',
    [orgId],
  );

/** Everything of an org that a late settlement changes, without the ids of entries and runs. */
async function stateOf(orgId: string) {
  const sum = (columns: string, table: string) =>
    world.db.query(
      `SELECT ${columns
        .split(', ')
        .map((name) => `sum(${name})::text AS ${name}`)
        .join(', ')} FROM ${table} WHERE org_id = $1`,
      [orgId],
    );
  const measures = 'usd_nanos, requests, input_tokens, output_tokens';
  const counters = Object.entries(await world.counters(orgId)).filter(([, amount]) => amount !== '0+0');
  return {
    counters,
    entries: await sum('usd_nanos, tokens, requests, prepaid_nanos, uncovered_nanos', 'ledger_entries'),
    packs: await world.db.query(
      `SELECT pack ->> 0 AS id, sum((pack ->> 1)::int8)::text AS nanos
         FROM ledger_entries CROSS JOIN jsonb_array_elements(packs) AS pack
        WHERE org_id = $1 GROUP BY 1 HAVING sum((pack ->> 1)::int8) <> 0 ORDER BY 1`,
      [orgId],
    ),
    tallies: await world.db.query(
      'SELECT limit_id, settled FROM limit_tallies WHERE org_id = $1 AND settled <> 0 ORDER BY 1',
      [orgId],
    ),
    usage: await world.db.query(
      `SELECT status, model, team, customer_id, sum(usd_nanos)::text AS usd, sum(requests)::text AS requests,
              sum(input_tokens)::text AS tokens FROM usage_rollups WHERE org_id = $1
        GROUP BY 1, 2, 3, 4 HAVING sum(requests) <> 0 OR sum(usd_nanos) <> 0 ORDER BY 1, 2, 3, 4`,
      [orgId],
    ),
    totals: await sum(measures, 'usage_totals'),
    days: await sum(measures, 'usage_days'),
  };
}

const expectNoDrift = async (orgId: string) => expect(await world.audit(orgId)).toEqual([]);

describe('a hold that expires unsettled', () => {
  test('becomes a run of the held amount, in every counter, once', async () => {
    const orgId = await orgWith(...all());
    const scope = scopeOf({ customer_id: 'c', chain_id: '1' });
    const hold = await expired(orgId, '5', { scope, surface: 'run' });
    expect(await entriesOf(orgId)).toMatchObject([{ usd_nanos: usd('5'), marks: ['unsettled'] }]);
    const [end] = await findEnds(world.db, [orgId], [hold.id]);
    expect(end).toMatchObject({ ended_as: 'expired' });
    expect(await world.db.query('SELECT run_id FROM run_identities WHERE org_id = $1', [orgId])).toEqual([
      { run_id: end?.run_id },
    ]);
    expect(await stateOf(orgId)).toMatchObject({
      // The estimated tokens are not counted: nobody has reported any.
      entries: [{ usd_nanos: `${usd('5')}`, tokens: '0', requests: '1', prepaid_nanos: `${usd('5')}` }],
      packs: [
        { id: 'crp_a', nanos: `${usd('3')}` },
        { id: 'crp_b', nanos: `${usd('2')}` },
      ],
      usage: [{ status: 'running', usd: `${usd('5')}`, requests: '1' }],
    });
    const alerts = await world.db.query('SELECT 1 AS one FROM limit_alerts WHERE org_id = $1', [orgId]);
    expect(alerts).toHaveLength(1);
    await world.expireAll();
    expect(await entriesOf(orgId)).toHaveLength(1);
    expect((await world.ledger.void(orgId, hold.id)).kind).toBe('ended');
    await expectNoDrift(orgId);
  });

  test('a hold that expires unsettled is released if the org was changed back', async () => {
    const orgId = await orgWith(cap);
    await world.held(orgId, '5', { holdSeconds });
    await world.setOnUnsettled(orgId, 'release');
    world.clock.advanceSeconds(holdSeconds + 1);
    await world.expireAll();
    expect(await entriesOf(orgId)).toEqual([]);
    await expectNoDrift(orgId);
  });

  test('a hold that expires unsettled is released if the org was removed', async () => {
    const orgId = await orgWith(cap);
    await world.held(orgId, '5', { holdSeconds });
    await world.db.query('UPDATE orgs SET removed_at = now() WHERE id = $1', [orgId]);
    await world.setOnUnsettled(orgId, 'post_held');
    world.clock.advanceSeconds(holdSeconds + 1);
    await world.expireAll();
    expect(await entriesOf(orgId)).toEqual([]);
  });

  test('a fail-open hold that expires unsettled is posted with both marks', async () => {
    const orgId = await orgWith(cap);
    const hold: Hold = {
      ...(await world.held(await world.orgWith(), '3')),
      id: 'dec_fail_open',
      orgId,
      expiresAtMs: world.nowMs + 1_000,
      degraded: true,
    };
    await world.ledger.importHolds({ orgId, holds: [hold] });
    world.clock.advanceSeconds(2);
    await world.expireAll();
    expect(await entriesOf(orgId)).toMatchObject([{ marks: ['unsettled', 'degraded'] }]);
    await expectNoDrift(orgId);
  });

  test('keeps no other hold open if it cannot be posted', async () => {
    const [failing, posting, releasing] = [await orgWith(), await orgWith(cap), await world.orgWith(cap)];
    // The usage of 15 minutes is stored in 64 bits, so only one of these can be posted.
    await world.held(failing, '8999999999', { holdSeconds });
    await world.held(failing, '8999999999', { holdSeconds });
    await world.held(failing, '1', { holdSeconds });
    await world.held(posting, '5', { holdSeconds });
    await world.held(releasing, '5', { holdSeconds });
    world.clock.advanceSeconds(holdSeconds + 1);
    await expect(world.expireAll()).rejects.toThrow('out of range');
    const openIn = (orgId: string) => world.ledger.reads.holds(orgId, { limit: 10, after: undefined });
    expect([await openIn(posting), await openIn(releasing)]).toEqual([[], []]);
    const [left, ...others] = await openIn(failing);
    expect([left?.amounts.usd, others]).toEqual([usd('8999999999'), []]);
    expect(await entriesOf(failing)).toHaveLength(2);
    expect(await entriesOf(posting)).toHaveLength(1);
    expect(await entriesOf(releasing)).toEqual([]);
    await world.ledger.void(failing, left?.id ?? '');
    for (const orgId of [failing, posting, releasing]) {
      await expectNoDrift(orgId);
    }
  });

  test('a hold that expires unsettled is posted in batches, one for each hold, beside settlements of the same holds', async () => {
    const orgId = await orgWith(cap);
    const holds = await Promise.all(
      Array.from({ length: 230 }, () => world.held(orgId, '0.01', { holdSeconds })),
    );
    world.clock.advanceSeconds(holdSeconds + 1);
    const settled = await Promise.all([
      ...holds.slice(0, 60).map(({ id }) => world.post(orgId, '0.001', { decisionId: id })),
      world.expireAll(),
    ]);
    expect(settled.slice(0, 60).map((result) => result && verdictOf(result))).toEqual(Array(60).fill('done'));
    await world.expireAll();
    const [sum] = await world.db.query<{ usd: string; requests: string }>(
      'SELECT sum(usd_nanos) AS usd, sum(requests) AS requests FROM ledger_entries WHERE org_id = $1',
      [orgId],
    );
    expect(sum).toEqual({ usd: `${usd('0.01') * 170n + usd('0.001') * 60n}`, requests: '230' });
    await expectNoDrift(orgId);
  });
});

const costs = ['5', '2', '9', '0', '60'];

describe('a late settlement', () => {
  async function bothWays(settle: (orgId: string, hold: Hold) => Promise<unknown>, fields: object) {
    const states: unknown[] = [];
    for (const treatment of ['post_held', 'release'] as const) {
      const orgId = await world.orgWith(...all());
      await world.setOnUnsettled(orgId, treatment);
      await settle(orgId, await expired(orgId, '5', fields));
      await expectNoDrift(orgId);
      states.push(await stateOf(orgId));
    }
    return states;
  }

  test.each(costs)(
    'a late settlement of %s leaves the ledger as if the held amount had not been posted',
    async (cost) => {
      const scope = scopeOf({ customer_id: 'c' });
      const [posted, released] = await bothWays(
        (orgId, { id }) =>
          world.posted(orgId, cost, {
            amounts: amounts(cost),
            decisionId: id,
            scope: scopeOf({ team: 't', chain_id: '1' }),
          }),
        { scope, surface: 'run' },
      );
      expect(posted).toEqual(released);
    },
  );

  test.each(costs)(
    'a late settlement of %s by the run in progress leaves the ledger as without the posting',
    async (cost) => {
      const states: unknown[] = [];
      for (const treatment of ['post_held', 'release'] as const) {
        const orgId = await world.orgWith(...all());
        await world.setOnUnsettled(orgId, treatment);
        const scope = scopeOf({ customer_id: 'c', chain_id: '1' });
        const opened = await world.posted(orgId, '5', { kind: 'open', holdSeconds, scope });
        world.clock.advanceSeconds(holdSeconds + 1);
        await world.expireAll();
        const { runId } = opened.posting;
        const decisionId = opened.hold?.id ?? '';
        const complete: Partial<Posting> = {
          kind: 'complete',
          runId,
          decisionId,
          scope,
          amounts: amounts(cost),
        };
        expect((await world.posted(orgId, cost, complete)).marks).toEqual(['late']);
        expect(verdictOf(await world.post(orgId, cost, complete))).toBe('settled_already');
        await expectNoDrift(orgId);
        states.push(await stateOf(orgId));
      }
      expect(states[0]).toEqual(states[1]);
    },
  );

  test('takes the place of the run that the expiry created, with its own external id', async () => {
    const orgId = await orgWith(cap);
    const hold = await expired(orgId, '5');
    const [end] = await findEnds(world.db, [orgId], [hold.id]);
    const settle = () => world.post(orgId, '2', { decisionId: hold.id, externalId: 'x' });
    expect(await settle()).toMatchObject({
      kind: 'done',
      outcomes: [{ kind: 'posted', marks: ['late'], posting: { runId: end?.run_id } }],
    });
    expect(await settle()).toMatchObject({ outcomes: [{ kind: 'existing', runId: end?.run_id }] });
    expect(verdictOf(await world.post(orgId, '2', { decisionId: hold.id }))).toBe('settled_already');
    expect(await entriesOf(orgId)).toMatchObject([
      { usd_nanos: usd('5'), marks: ['unsettled'] },
      { usd_nanos: usd('2'), marks: ['late'] },
      { usd_nanos: usd('-5'), marks: [] },
    ]);
    expect(
      await world.db.query('SELECT 1 AS one FROM run_identities WHERE org_id = $1', [orgId]),
    ).toHaveLength(1);
    await expectNoDrift(orgId);
  });

  test('a late settlement of unknown cost keeps the held amount', async () => {
    const orgId = await orgWith(cap);
    const hold = await expired(orgId, '5');
    const posted = await world.posted(orgId, '0', { decisionId: hold.id, costAsHeld: 'usage_missing' });
    expect(posted).toMatchObject({
      marks: ['usage_missing', 'late'],
      posting: { amounts: { usd: usd('5') } },
    });
    await expectNoDrift(orgId);
  });

  test('a late settlement that contradicts its decision changes nothing', async () => {
    const orgId = await orgWith(cap);
    const hold = await expired(orgId, '5');
    const scope = scopeOf({ workflow: 'other' });
    expect(verdictOf(await world.post(orgId, '2', { decisionId: hold.id, scope }))).toBe('contradiction');
    expect(await entriesOf(orgId)).toHaveLength(1);
    expect(verdictOf(await world.post(orgId, '2', { decisionId: hold.id }))).toBe('done');
    await expectNoDrift(orgId);
  });

  test('settles once, of many at the same time and in one group', async () => {
    const orgId = await orgWith(cap);
    const [first, second] = [await expired(orgId, '5'), await expired(orgId, '5')];
    const results = await Promise.all(
      Array.from({ length: 20 }, () => world.post(orgId, '2', { decisionId: first.id })),
    );
    expect(results.map(verdictOf).filter((verdict) => verdict === 'done')).toHaveLength(1);
    const postings = [1, 2, 3].map(() => world.postingOf('2', { decisionId: second.id }));
    expect(verdictOf(await world.ledger.post({ orgId, postings }))).toBe('settled_already');
    const skipping = await world.ledger.post({ orgId, postings, skipRejected: true });
    expect(skipping).toMatchObject({
      outcomes: [{ kind: 'posted' }, { kind: 'rejected' }, { kind: 'rejected' }],
    });
    const [sum] = await world.db.query<{ usd: string }>(
      'SELECT sum(usd_nanos) AS usd FROM ledger_entries WHERE org_id = $1',
      [orgId],
    );
    expect(sum?.usd).toBe(`${usd('4')}`);
    await expectNoDrift(orgId);
  });

  test('a late settlement by a run that starts under the expired hold corrects the amount when the run completes', async () => {
    const orgId = await orgWith(cap, chain);
    const hold = await expired(orgId, '5');
    const scope = scopeOf({ chain_id: '1' });
    const adopted = await world.posted(orgId, '0', { kind: 'adopt', decisionId: hold.id, scope });
    expect(adopted).toMatchObject({ marks: ['unsettled'], posting: { amounts: { usd: usd('5') } } });
    await expectNoDrift(orgId);
    // The decision now belongs to this run.
    expect(verdictOf(await world.post(orgId, '1', { decisionId: hold.id }))).toBe('settled_already');
    const { runId } = adopted.posting;
    const complete = { kind: 'complete', runId, decisionId: hold.id, scope } as const;
    expect((await world.posted(orgId, '3', complete)).marks).toEqual(['late']);
    expect(await stateOf(orgId)).toMatchObject({ entries: [{ usd_nanos: `${usd('3')}`, requests: '1' }] });
    await expectNoDrift(orgId);
  });

  test('a late settlement is exact after the end of the hold was deleted', async () => {
    const orgId = await orgWith(cap);
    const opened = await world.posted(orgId, '5', { kind: 'open', holdSeconds });
    world.clock.advanceSeconds(holdSeconds + 1);
    await world.expireAll();
    await world.db.query('DELETE FROM hold_ends WHERE org_id = $1', [orgId]);
    const { runId } = opened.posting;
    const complete = { kind: 'complete', runId, decisionId: opened.hold?.id ?? '' } as const;
    await world.posted(orgId, '3', complete);
    expect(await stateOf(orgId)).toMatchObject({ entries: [{ usd_nanos: `${usd('3')}`, requests: '1' }] });
    await expectNoDrift(orgId);
  });

  test('reverses corrections of the held amount as well', async () => {
    const orgId = await orgWith(cap, pack('crp_a', '9', later(5)));
    const hold = await expired(orgId, '5', { scope: scopeOf({ customer_id: 'c' }), surface: 'run' });
    const [end] = await findEnds(world.db, [orgId], [hold.id]);
    await world.posted(orgId, '-2', {
      kind: 'adjust',
      runId: end?.run_id ?? '',
      scope: scopeOf({ customer_id: 'c' }),
      atMs: hold.admittedAtMs,
      amounts: { usd: usd('-2'), tokens: 0n, requests: 0n },
    });
    await world.posted(orgId, '4', { decisionId: hold.id });
    expect(await stateOf(orgId)).toMatchObject({
      entries: [{ usd_nanos: `${usd('4')}` }],
      packs: [{ id: 'crp_a', nanos: `${usd('4')}` }],
    });
    await expectNoDrift(orgId);
  });

  describe('in one batch with corrections', () => {
    const scope = scopeOf({ customer_id: 'c' });

    /** Opens a run whose hold of 5 expires, with packs of 3 and 2. Returns its postings. */
    async function unsettledRun() {
      const orgId = await orgWith(cap, prepaid, pack('crp_a', '3', later(5)), pack('crp_b', '2', later(9)));
      const opened = await world.posted(orgId, '5', { kind: 'open', holdSeconds, scope });
      world.clock.advanceSeconds(holdSeconds + 1);
      await world.expireAll();
      const { runId } = opened.posting;
      const atMs = opened.hold?.admittedAtMs ?? 0;
      const correction = (dollars: string) =>
        world.postingOf(dollars, {
          kind: 'adjust',
          runId,
          scope,
          atMs,
          amounts: { usd: usd(dollars), tokens: 0n, requests: 0n },
        });
      const completion = (dollars: string) =>
        world.postingOf(dollars, { kind: 'complete', runId, decisionId: opened.hold?.id ?? '', scope });
      return { orgId, correction, completion };
    }

    test.each([
      { corrections: ['-2'], cost: '4' },
      { corrections: ['-2'], cost: '5' },
      { corrections: ['-2', '1'], cost: '5' },
      { corrections: ['3', '-6'], cost: '4' },
      { corrections: ['-5'], cost: '0' },
    ])('of $corrections before it: the cost is $cost', async ({ corrections, cost }) => {
      const states: unknown[] = [];
      for (const isOneBatch of [true, false]) {
        const { orgId, correction, completion } = await unsettledRun();
        const postings = [...corrections.map(correction), completion(cost)];
        for (const together of isOneBatch ? [postings] : postings.map((one) => [one])) {
          expect(verdictOf(await world.ledger.post({ orgId, postings: together }))).toBe('done');
        }
        await expectNoDrift(orgId);
        states.push(await stateOf(orgId));
      }
      expect(states[0]).toEqual(states[1]);
      expect(states[0]).toMatchObject({ entries: [{ usd_nanos: `${usd(cost)}` }] });
    });

    test('after it: they give back what the actual cost has burned', async () => {
      const { orgId, correction, completion } = await unsettledRun();
      const postings = [completion('4'), correction('-2')];
      expect(verdictOf(await world.ledger.post({ orgId, postings }))).toBe('done');
      expect(await stateOf(orgId)).toMatchObject({
        entries: [{ usd_nanos: `${usd('2')}`, prepaid_nanos: `${usd('2')}`, uncovered_nanos: '0' }],
        packs: [{ id: 'crp_a', nanos: `${usd('2')}` }],
      });
      await expectNoDrift(orgId);
    });

    test('of a group that is rejected: they are not reversed', async () => {
      const { orgId, correction, completion } = await unsettledRun();
      const unknown = world.postingOf('1', { decisionId: 'dec_unknown' });
      const results = await Promise.all([
        world.ledger.post({ orgId, postings: [correction('-2'), unknown] }),
        world.ledger.post({ orgId, postings: [completion('4')] }),
      ]);
      expect(results.map(verdictOf)).toEqual(['unknown_decision', 'done']);
      expect(await stateOf(orgId)).toMatchObject({ entries: [{ usd_nanos: `${usd('4')}` }] });
      await expectNoDrift(orgId);
    });
  });
});

describe.each<Fault>(['after the commit', 'before the commit', 'with an error'])(
  'a transaction that ends %s',
  (fault) => {
    test('during the expiry: the held amount is posted once', async () => {
      const orgId = await orgWith(cap);
      await world.held(orgId, '5', { holdSeconds });
      await world.held(orgId, '5', { holdSeconds });
      world.clock.advanceSeconds(holdSeconds + 1);
      faults = [fault];
      await world.expireAll().catch(() => undefined);
      faults = [];
      await eventually(async () => {
        world.clock.advanceSeconds(1);
        await world.expireAll();
        expect(await entriesOf(orgId)).toHaveLength(2);
      });
      expect(await stateOf(orgId)).toMatchObject({ entries: [{ usd_nanos: `${usd('10')}`, requests: '2' }] });
      await eventually(() => expectNoDrift(orgId));
    });

    test('during the late settlement: the actual cost is posted once', async () => {
      const orgId = await orgWith(cap, pack('crp_a', '9', later(5)));
      const scope = scopeOf({ customer_id: 'c' });
      const hold = await expired(orgId, '5', { scope, surface: 'run' });
      const settle = () => world.post(orgId, '2', { decisionId: hold.id, externalId: 'x', scope });
      faults = [fault];
      await settle().catch(() => undefined);
      faults = [];
      await eventually(async () => expect((await settle()).kind).toBe('done'));
      expect(await stateOf(orgId)).toMatchObject({
        entries: [{ usd_nanos: `${usd('2')}`, requests: '1' }],
        packs: [{ id: 'crp_a', nanos: `${usd('2')}` }],
      });
      await eventually(() => expectNoDrift(orgId));
    });
  },
);

test('holds that expire while the process is away are posted at its next start', async () => {
  const orgId = await orgWith(cap);
  const opened = await world.posted(orgId, '5', { kind: 'open', holdSeconds });
  const hold = await world.held(orgId, '4', { holdSeconds });
  world.clock.advanceSeconds(holdSeconds + 1);
  await world.restart();
  await world.expireAll();
  expect((await entriesOf(orgId)).map(({ usd_nanos }) => usd_nanos)).toEqual([usd('5'), usd('4')]);
  await world.restart();
  await world.posted(orgId, '1', { decisionId: hold.id });
  await world.posted(orgId, '2', {
    kind: 'complete',
    runId: opened.posting.runId,
    decisionId: opened.hold?.id ?? '',
  });
  expect(await stateOf(orgId)).toMatchObject({ entries: [{ usd_nanos: `${usd('3')}`, requests: '2' }] });
  await expectNoDrift(orgId);
});

test.runIf(engine === 'postgres')('two processes post the held amount of a hold once', async () => {
  const orgId = await orgWith(cap);
  const db = await openPlace(world.place);
  const other = await openLedgerOn(db, world.place, world.clock, world.ids);
  const holds = await Promise.all(
    Array.from({ length: 150 }, () => world.held(orgId, '0.1', { holdSeconds })),
  );
  world.clock.advanceSeconds(holdSeconds + 1);
  const settle = (ledger: typeof other, { id }: Hold) =>
    ledger.post({ orgId, postings: [world.postingOf('0.2', { decisionId: id })] });
  await Promise.all([
    world.expireAll(),
    other.expiry.expireDue(),
    ...holds.slice(0, 40).flatMap((hold) => [settle(other, hold), settle(world.ledger, hold)]),
  ]);
  // The lease of the org ends with its process; until then only the other one could expire the rest.
  await other.close();
  await world.expireAll();
  expect(await stateOf(orgId)).toMatchObject({
    entries: [{ usd_nanos: `${usd('0.2') * 40n + usd('0.1') * 110n}`, requests: '150' }],
  });
  await expectNoDrift(orgId);
  await db.close();
});

test('a hold that asks for it is posted in an org that releases the others, also after a restart', async () => {
  const orgId = await world.orgWith(cap);
  const released = await world.posted(orgId, '2', { kind: 'open', holdSeconds });
  const posted = await world.posted(orgId, '3', { kind: 'open', holdSeconds, postIfUnsettled: true });
  await world.restart();
  world.clock.advanceSeconds(holdSeconds + 1);
  await world.expireAll();
  expect(await entriesOf(orgId)).toEqual([
    { run_id: posted.posting.runId, usd_nanos: usd('3'), marks: ['unsettled'] },
  ]);
  expect(await world.ledger.reads.findHold(orgId, released.hold?.id ?? '')).toBeUndefined();
  expect((await stateOf(orgId)).counters).toHaveLength(1);
});

test('an unsettled call is posted under the id of its run, and its late settlement takes the place of that', async () => {
  const orgId = await world.orgWith(cap);
  const runId = world.ids.next('run');
  const call = { holdId: holdIdOfCall(runId), depth: 1 };
  const hold = await world.held(orgId, '3', { surface: 'run', holdSeconds, call });
  world.clock.advanceSeconds(holdSeconds + 1);
  await world.expireAll();
  expect(await entriesOf(orgId)).toEqual([{ run_id: runId, usd_nanos: usd('3'), marks: ['unsettled'] }]);
  await world.posted(orgId, '1', { runId, decisionId: hold.id });
  expect((await entriesOf(orgId)).map(({ run_id }) => run_id)).toEqual([runId, runId, runId]);
  await expectNoDrift(orgId);
});
