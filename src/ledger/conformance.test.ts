/** Guarantees of both ledgers. Runs in both test projects, each on its real database. */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../../test/support/eventually.ts';
import { amountsOf, limitOf, scopeOf, usd } from '../../test/support/ledger-values.ts';
import { heldOf, LedgerWorld, openLedgerOn, postedOf, verdictOf } from '../../test/support/ledger-world.ts';
import { engine, openPlace } from '../../test/support/test-database.ts';
import type { Fit } from '../kernel/fit.ts';
import { type Limit, WILDCARD } from '../kernel/limits.ts';
import { type Hold, holdIdOfCall, runIdOf } from './holds/hold.ts';
import { holdKeyOf, type RequestKey } from './holds/hold-keys.ts';
import type { Held, HoldIncrease, HoldRequest, HoldResult, IncreaseResult } from './holds/hold-request.ts';
import type { Ledger } from './ledger.ts';
import { notifyLimitsChanged } from './limits/change-notifications.ts';
import type { GroupResult, Posting } from './posting.ts';
import { findEnds } from './postings/ledger-writes.ts';

let world: LedgerWorld;
beforeAll(async () => {
  world = await LedgerWorld.open();
});
afterAll(() => world.close());

const lifetime = { kind: 'lifetime' } as const;
const cap = (dollars: string, fields: Partial<Limit> = {}) =>
  limitOf({ id: 'cap', kind: 'spend_cap', capacity: usd(dollars), ...fields });
const budget = (id: string, dollars: string, fields: Partial<Limit> = {}) =>
  limitOf({ id, kind: 'budget', capacity: usd(dollars), ...fields });
const pack = (id: string, dollars: string, fields: Partial<Limit> = {}) =>
  limitOf({
    id,
    kind: 'credits',
    match: { customer_id: 'c' },
    capacity: usd(dollars),
    span: lifetime,
    ...fields,
  });

type LedgerResult = HoldResult | GroupResult;
const verdicts = (results: readonly LedgerResult[]) => {
  const counts: Record<string, number> = {};
  for (const result of results) {
    const verdict = verdictOf(result);
    counts[verdict] = (counts[verdict] ?? 0) + 1;
  }
  return counts;
};
const times = <Result>(count: number, make: (index: number) => Promise<Result>) =>
  Promise.all(Array.from({ length: count }, (_, index) => make(index)));

/** Returns the counter of the limit with this id, in the window of a time. */
async function counterOf(orgId: string, limitId: string, atMs = world.nowMs): Promise<string | undefined> {
  const day = 86_400_000;
  const counters = await world.counters(orgId);
  return counters[`${limitId}@${Math.floor(atMs / day) * day}`] ?? counters[`${limitId}@0`];
}
const at = (settled: string, held = '0') => `${usd(settled)}+${usd(held)}`;

async function expectNoDrift(orgId: string): Promise<void> {
  expect(await world.audit(orgId)).toEqual([]);
}

async function entriesOf(orgId: string) {
  return world.db.query<{
    run_id: string;
    usd_nanos: bigint;
    charged_at: Date;
    marks: string[];
    uncovered_nanos: bigint;
  }>('SELECT * FROM ledger_entries WHERE org_id = $1 ORDER BY booked_at, id', [orgId]);
}

describe('a preview', () => {
  const preview = (orgId: string, ...dollars: string[]) =>
    world.ledger.previewDenials(
      orgId,
      dollars.map((amount) => world.requestOf(orgId, amount, { surface: 'run' })),
    );

  test('returns the denial of each request as if it were the only one, and reserves nothing', async () => {
    const orgId = await world.orgWith(cap('10'), budget('bud', '6'));
    await world.held(orgId, '4');
    for (let i = 0; i < 2; i += 1) {
      const denials = await preview(orgId, '2', '2.000000001', '7');
      expect(denials.map((denial) => denial?.code)).toEqual([
        undefined,
        'budget_exceeded',
        'spend_cap_exceeded',
      ]);
      expect(denials[1]?.details).toMatchObject({ spent_usd: '4', attempted_usd: '2.000000001' });
    }
    expect(await counterOf(orgId, 'cap')).toBe(at('0', '4'));
    await expectNoDrift(orgId);
  });

  test('checks plans, chains and credits for runs, and a limit that was just created', async () => {
    const orgId = await world.orgWith(pack('crp', '1'));
    const scope = scopeOf({ customer_id: 'c' });
    const asked = world.requestOf(orgId, '2', { scope });
    const [edge, run] = await world.ledger.previewDenials(orgId, [asked, { ...asked, surface: 'run' }]);
    expect([edge?.code, run?.code]).toEqual([undefined, 'credits_exhausted']);
    await world.insertLimit(orgId, cap('1'));
    expect((await preview(orgId, '2'))[0]?.code).toBe('spend_cap_exceeded');
    expect(await preview(orgId)).toEqual([]);
  });
});

/**
 * Returns an idempotency key. Requests with the same digest use the same key; the fingerprint identifies their content.
 */
const requestKey = (fingerprint: string, digest = 'digest'): RequestKey => ({
  digest,
  fingerprint,
  cipherKey: createHash('sha256').update(digest).digest(),
  customerDigest: null,
});

describe('a replay', () => {
  test('returns the stored response of a hold, only for the same request', async () => {
    const orgId = await world.orgWith();
    const key = requestKey('f', 'd');
    expect(await world.ledger.replay(orgId, key)).toBeUndefined();
    const hold = await world.held(orgId, '1', { key: { ...key, responseOf: () => 'answer' } });
    expect(await world.ledger.replay(orgId, key)).toEqual({ kind: 'replayed', response: 'answer' });
    expect(await world.ledger.replay(orgId, { ...key, fingerprint: 'g' })).toEqual({ kind: 'key_conflict' });
    expect(await world.ledger.replay(await world.orgWith(), key)).toBeUndefined();
    await world.ledger.void(orgId, hold.id);
    expect(await world.ledger.replay(orgId, key)).toEqual({ kind: 'replayed', response: 'answer' });
    expect(await world.ledger.replay(orgId, { ...key, fingerprint: 'g' })).toEqual({ kind: 'key_conflict' });
  });
});

describe('a limit under parallel decisions', () => {
  test.each([1, 7, 150])(
    'a limit that fits %d of 200 parallel decisions allows exactly that many',
    async (fits) => {
      const orgId = await world.orgWith(cap(String(fits)));
      const results = await times(200, () => world.hold(orgId, '1'));
      expect(verdicts(results)).toEqual({ held: fits, spend_cap_exceeded: 200 - fits });
      expect(await counterOf(orgId, 'cap')).toBe(at('0', String(fits)));
      await expectNoDrift(orgId);
      const ids = results.flatMap((result) => (result.kind === 'held' ? [result.hold.id] : []));
      expect(new Set(ids).size).toBe(fits);
      // A released amount can be held again, exactly once.
      const [first = ''] = ids;
      expect((await world.ledger.void(orgId, first)).kind).toBe('changed');
      expect(verdicts(await times(20, () => world.hold(orgId, '1')))).toEqual({
        held: 1,
        spend_cap_exceeded: 19,
      });
    },
  );

  test.each([1, 7, 150])(
    'a limit under parallel decisions counts postings like holds: %d of 200 are allowed',
    async (fits) => {
      const orgId = await world.orgWith(cap(String(fits)));
      const results = await times<LedgerResult>(200, (index) =>
        index % 2 === 0 ? world.hold(orgId, '1') : world.post(orgId, '1'),
      );
      const { spend_cap_exceeded: refused, held = 0, done = 0 } = verdicts(results);
      expect([held + done, refused]).toEqual([fits, 200 - fits]);
      await expectNoDrift(orgId);
    },
  );

  test('a limit under parallel decisions is enforced if it is the tightest of five', async () => {
    const scope = scopeOf({ department: 'd', workflow: 'w', customer_id: 'c', chain_id: 'ch' });
    const five = (tight: number): Limit[] =>
      [
        limitOf({ id: 'ppd', kind: 'prepaid', capacity: usd('100'), span: lifetime }),
        limitOf({
          id: 'rlp',
          kind: 'quota',
          unit: 'requests',
          capacity: 100n,
          span: { kind: 'fixed', seconds: 3_600 },
        }),
        cap('100'),
        budget('bud', '100', {
          match: { department: 'd' },
          span: { kind: 'calendar', period: 'month', timezone: 'Asia/Tokyo' },
        }),
        limitOf({ id: 'clm', kind: 'customer', match: { customer_id: WILDCARD }, capacity: usd('100') }),
      ].map((limit, index) =>
        index === tight ? { ...limit, capacity: limit.unit === 'usd' ? usd('7') : 7n } : limit,
      );
    const codes = [
      'quota_exhausted',
      'quota_exhausted',
      'spend_cap_exceeded',
      'budget_exceeded',
      'budget_exceeded',
    ];
    for (const [tight, code] of codes.entries()) {
      const orgId = await world.orgWith(...five(tight));
      const results = await times(200, () => world.hold(orgId, '1', { scope }));
      expect(verdicts(results)).toEqual({ held: 7, [code]: 193 });
      const counters = Object.values(await world.counters(orgId));
      expect(counters.sort()).toEqual([at('0', '7'), at('0', '7'), at('0', '7'), at('0', '7'), '0+7'].sort());
      await expectNoDrift(orgId);
    }
  });

  test('a limit under parallel decisions is only reserved if all limits allow: a denial by the last leaves the first unchanged', async () => {
    const customer = scopeOf({ customer_id: 'c' });
    const orgId = await world.orgWith(cap('10'), budget('bud', '10'), pack('crp', '2'));
    expect(verdictOf(await world.hold(orgId, '3', { scope: customer, surface: 'run' }))).toBe(
      'credits_exhausted',
    );
    expect(verdictOf(await world.post(orgId, '3', { scope: customer }))).toBe('credits_exhausted');
    expect(verdictOf(await world.post(orgId, '3', { scope: customer, kind: 'open' }))).toBe(
      'credits_exhausted',
    );
    expect(await counterOf(orgId, 'cap')).toBe(at('0'));
    expect(await counterOf(orgId, 'bud')).toBe(at('0'));
    expect(await world.ledger.reads.holds(orgId, { limit: 10, after: undefined })).toEqual([]);
    expect(await entriesOf(orgId)).toEqual([]);
    expect(verdictOf(await world.hold(orgId, '10'))).toBe('held');
  });

  test('a limit under parallel decisions can be reached exactly, but not exceeded by one nanodollar', async () => {
    const orgId = await world.orgWith(cap('10'));
    await world.posted(orgId, '4');
    await world.held(orgId, '3');
    expect(verdictOf(await world.hold(orgId, '3.000000001'))).toBe('spend_cap_exceeded');
    expect(verdictOf(await world.hold(orgId, '3'))).toBe('held');
    expect(verdictOf(await world.hold(orgId, '0.000000001'))).toBe('spend_cap_exceeded');
    expect(verdictOf(await world.hold(orgId, '0'))).toBe('held');
  });

  test('a limit that only alerts is counted and denies nothing under parallel decisions', async () => {
    const orgId = await world.orgWith(cap('1', { enforcement: 'alert' }));
    await world.held(orgId, '5');
    await world.posted(orgId, '5');
    expect(await counterOf(orgId, 'cap')).toBe(at('5', '5'));
  });

  test('a limit of one org does not affect another org under parallel decisions', async () => {
    const [one, other] = [await world.orgWith(cap('1')), await world.orgWith(cap('1'))];
    const results = await times(20, (index) => world.hold(index % 2 === 0 ? one : other, '1'));
    expect(verdicts(results)).toEqual({ held: 2, spend_cap_exceeded: 18 });
    const hold = (await world.ledger.reads.holds(one, { limit: 1, after: undefined }))[0];
    expect((await world.ledger.void(other, hold?.id ?? '')).kind).toBe('unknown');
    expect((await world.ledger.extend(other, hold?.id ?? '', 60)).kind).toBe('unknown');
    expect(await world.ledger.reads.findHold(other, hold?.id ?? '')).toBeUndefined();
    expect(verdictOf(await world.post(other, '1', { decisionId: hold?.id ?? '' }))).toBe('unknown_decision');
  });
});

describe('a hold', () => {
  test('returns the remaining amounts and the kinds that were not checked', async () => {
    const orgId = await world.orgWith(
      cap('10'),
      limitOf({ id: 'plan', kind: 'plan_runs', unit: 'requests', capacity: 5n }),
      pack('crp', '2'),
    );
    const held = heldOf(await world.hold(orgId, '4', { scope: scopeOf({ customer_id: 'c' }) }));
    expect(held.applicable.counters.map(({ limit }, i) => [limit.id, held.remaining[i]])).toEqual([
      ['cap', usd('6')],
    ]);
    expect(held.applicable.notChecked).toEqual(['plan_runs', 'credits']);
    expect(held.hold).toMatchObject({
      orgId,
      runId: null,
      admittedAtMs: world.nowMs,
      expiresAtMs: world.nowMs + 900_000,
    });
    expect(await world.ledger.reads.findHold(orgId, held.hold.id)).toEqual(held.hold);
  });

  test('a hold is listed in pages, oldest or newest first', async () => {
    const orgId = await world.orgWith(cap('10'));
    const made: string[] = [];
    for (let i = 0; i < 5; i += 1) {
      made.push((await world.held(orgId, '1')).id);
      world.clock.advanceSeconds(1);
    }
    const idsFrom = async (limit: number, after?: string, newestFirst?: true) =>
      (await world.ledger.reads.holds(orgId, { limit, after, ...(newestFirst && { newestFirst }) })).map(
        ({ id }) => id,
      );
    expect(await idsFrom(10)).toEqual(made);
    expect(await idsFrom(2)).toEqual(made.slice(0, 2));
    expect(await idsFrom(2, made[1])).toEqual(made.slice(2, 4));
    expect(await idsFrom(2, made[4])).toEqual([]);
    const newest = made.toReversed();
    expect(await idsFrom(10, undefined, true)).toEqual(newest);
    expect(await idsFrom(2, newest[1], true)).toEqual(newest.slice(2, 4));
    expect(await idsFrom(2, newest[4], true)).toEqual([]);
  });

  test.each([
    ['below', '2', []],
    ['at', '4', []],
    ['above', '9', ['over_hold']],
    ['far above the limit', '50', ['over_hold']],
    ['of nothing', '0', []],
  ])('a hold that is settled %s counts the actual cost', async (_, cost, marks) => {
    const orgId = await world.orgWith(cap('10'));
    const hold = await world.held(orgId, '4');
    const posted = await world.posted(orgId, cost, { decisionId: hold.id });
    expect(posted.marks).toEqual(marks);
    expect(await counterOf(orgId, 'cap')).toBe(at(cost));
    expect(await world.ledger.reads.findHold(orgId, hold.id)).toBeUndefined();
    const [entry] = await entriesOf(orgId);
    expect(entry).toMatchObject({ usd_nanos: usd(cost), marks });
    await expectNoDrift(orgId);
  });

  test('a hold of a run lasts from open to complete', async () => {
    const orgId = await world.orgWith(cap('10'));
    const opened = await world.posted(orgId, '4', { kind: 'open' });
    expect(opened).toMatchObject({ charged: null, hold: { runId: opened.posting.runId } });
    expect(await counterOf(orgId, 'cap')).toBe(at('0', '4'));
    expect(await entriesOf(orgId)).toEqual([]);
    const { runId } = opened.posting;
    const holdId = opened.hold?.id ?? '';
    // No other run may settle the hold.
    expect(verdictOf(await world.post(orgId, '1', { decisionId: holdId }))).toBe('settled_already');
    await world.posted(orgId, '3', { kind: 'complete', runId, decisionId: holdId });
    expect(await counterOf(orgId, 'cap')).toBe(at('3'));
    expect(verdictOf(await world.post(orgId, '3', { kind: 'complete', runId, decisionId: holdId }))).toBe(
      'settled_already',
    );
    await expectNoDrift(orgId);
  });

  test('a hold of a run that has expired can still be settled late by that run', async () => {
    const orgId = await world.orgWith(cap('10'));
    const opened = await world.posted(orgId, '4', { kind: 'open', holdSeconds: 60 });
    const { runId } = opened.posting;
    const decisionId = opened.hold?.id ?? '';
    world.clock.advanceSeconds(60);
    await world.expireAll();
    expect(verdictOf(await world.post(orgId, '1', { decisionId }))).toBe('settled_already');
    expect(await world.posted(orgId, '3', { kind: 'complete', runId, decisionId })).toMatchObject({
      marks: ['late'],
      chargedAtMs: opened.chargedAtMs,
    });
    await expectNoDrift(orgId);
  });

  test('a hold of a call has the number of its run, survives a restart, and is settled by that run once', async () => {
    const orgId = await world.orgWith(cap('10'));
    const runId = world.ids.next('run');
    const call = { holdId: holdIdOfCall(runId), depth: 3 };
    const hold = await world.held(orgId, '4', { surface: 'run', call });
    expect(runIdOf(hold)).toBe(runId);
    await world.reopen();
    const restored = await world.ledger.reads.findHold(orgId, hold.id);
    expect(restored).toMatchObject({ depth: 3, postIfUnsettled: true, runId: null, surface: 'run' });
    const settled = { runId, decisionId: hold.id };
    expect(await world.posted(orgId, '3', settled)).toMatchObject({ marks: [], posting: { runId } });
    expect(verdictOf(await world.post(orgId, '3', settled))).toBe('settled_already');
    expect(await counterOf(orgId, 'cap')).toBe(at('3'));
    await expectNoDrift(orgId);
  });

  test('a hold of a call counts in the limits of its chain, whose depth is checked', async () => {
    const chain = { match: { chain_id: WILDCARD }, span: lifetime } as const;
    const orgId = await world.orgWith(
      limitOf({ id: 'depth', kind: 'chain_depth', capacity: 2n, ...chain }),
      limitOf({ id: 'cost', kind: 'chain_cost', capacity: usd('5'), ...chain }),
    );
    const scope = scopeOf({ chain_id: 'chain' });
    const take = (depth: number) =>
      world.hold(orgId, '2', {
        surface: 'run',
        scope,
        call: { holdId: holdIdOfCall(world.ids.next('run')), depth },
      });
    expect(verdicts([await take(1), await take(2)])).toEqual({ held: 2 });
    // Too deep, then too expensive.
    expect(verdicts([await take(3), await take(2)])).toEqual({ chain_budget_exceeded: 2 });
  });

  test('a hold that grows leaves the growth of the holds in each of its budgets free, until they end', async () => {
    const [mine, theirs] = [scopeOf({ department: 'a' }), scopeOf({ department: 'b' })];
    const orgId = await world.orgWith(cap('100'), budget('bud', '10', { match: { department: 'a' } }));
    const growing = (dollars: string, growth: string, scope = mine) =>
      world.hold(orgId, dollars, {
        surface: 'run',
        scope,
        call: { holdId: holdIdOfCall(world.ids.next('run')), depth: 1, growth: amountsOf(growth, 0n, 0n) },
      });
    const first = heldOf(await growing('2', '3')).hold;
    await expectNoDrift(orgId);
    expect(await growing('5.000000001', '1')).toMatchObject({
      denial: {
        details: { budget_id: 'bud', spent_usd: '2', reserved_usd: '3', attempted_usd: '5.000000001' },
      },
    });
    // Holds elsewhere, and those that do not grow, are not concerned.
    const elsewhere = heldOf(await growing('20', '1', theirs)).hold;
    const whole = await world.held(orgId, '6', { scope: mine });
    await world.ledger.void(orgId, whole.id);
    await world.reopen();
    expect(verdictOf(await growing('6', '1'))).toBe('budget_exceeded');
    const more = { by: amountsOf('4', 0n, 0n), requestId: null };
    expect(
      await world.ledger.increase(orgId, first.id, { ...more, growth: amountsOf('1', 0n, 0n) }),
    ).toMatchObject({
      kind: 'changed',
      hold: { growth: { usd: usd('1') } },
    });
    await expectNoDrift(orgId);
    expect(verdictOf(await growing('3.5', '1'))).toBe('budget_exceeded');
    const second = heldOf(await growing('3', '1')).hold;
    await world.posted(orgId, '1', { scope: mine, runId: runIdOf(first) ?? '', decisionId: first.id });
    await expectNoDrift(orgId);
    const third = heldOf(await growing('5', '1')).hold;
    world.clock.advanceSeconds(1_000);
    await world.expireAll();
    await expectNoDrift(orgId);
    for (const { id } of [second, third, elsewhere]) {
      expect(await world.ledger.reads.findHold(orgId, id)).toBeUndefined();
    }
  });

  test('a growth that no hold has is counted again from the holds, and a correct one is kept', async () => {
    const orgId = await world.orgWith(cap('10'));
    const growing = (dollars: string, growth: string) =>
      world.hold(orgId, dollars, {
        surface: 'run',
        call: { holdId: holdIdOfCall(world.ids.next('run')), depth: 1, growth: amountsOf(growth, 0n, 0n) },
      });
    heldOf(await growing('2', '3'));
    heldOf(await growing('1', '1'));
    await world.ledger.maintenance.recountGrowth(orgId);
    await expectNoDrift(orgId);
    expect(verdictOf(await growing('3.000000001', '0'))).toBe('spend_cap_exceeded');
    if (engine === 'postgres') {
      // As a process of an earlier release leaves it, which ends holds without their growth.
      await world.db.query('UPDATE counters SET growth = growth + 3000000000 WHERE org_id = $1', [orgId]);
      expect(verdictOf(await growing('2', '0'))).toBe('spend_cap_exceeded');
      await world.ledger.maintenance.recountGrowth(orgId);
    }
    heldOf(await growing('3', '0'));
    await expectNoDrift(orgId);
  });

  test('a hold for less than the request neither grows nor is exceeded', async () => {
    const orgId = await world.orgWith(cap('5'));
    const call = {
      holdId: holdIdOfCall(world.ids.next('run')),
      depth: 1,
      goesOn: { usd: '30', maxUsd: '500' },
      growth: amountsOf('1', 0n, 0n),
    };
    const fit: Fit = { atLeast: 1n, atMost: 9n, amountsOf: (units) => amountsOf(String(units), units) };
    const hold = await world.held(orgId, '9', { surface: 'run', amounts: amountsOf('9', 9n), fit, call });
    expect(hold.amounts.usd).toBe(usd('5'));
    expect([hold.growth, hold.goesOn]).toEqual([undefined, undefined]);
    await expectNoDrift(orgId);
  });

  test('an increase for another attempt raises what the call may cost if the service stops', async () => {
    const orgId = await world.orgWith();
    const call = {
      holdId: holdIdOfCall(world.ids.next('run')),
      depth: 1,
      goesOn: { usd: '30', maxUsd: String(usd('5')) },
    };
    const { id } = await world.held(orgId, '2', { surface: 'run', call });
    const again = { by: amountsOf('1', 0n, 0n), requestId: null, attemptMaxNanos: usd('5') };
    expect(await world.ledger.increase(orgId, id, again)).toMatchObject({
      hold: { amounts: { usd: usd('3') }, goesOn: { usd: '30', maxUsd: String(usd('7')) } },
    });
  });

  test('a hold of a decision can be adopted by a run in progress', async () => {
    const orgId = await world.orgWith(cap('10'));
    const hold = await world.held(orgId, '4');
    const adopted = await world.posted(orgId, '0', { kind: 'adopt', decisionId: hold.id });
    expect(adopted).toMatchObject({ charged: null, hold: { id: hold.id } });
    expect(await counterOf(orgId, 'cap')).toBe(at('0', '4'));
    const { runId } = adopted.posting;
    await world.posted(orgId, '2', { kind: 'complete', runId, decisionId: hold.id });
    expect(await counterOf(orgId, 'cap')).toBe(at('2'));
  });

  test('a hold can be extended to at most one day after its admission, and never shortened', async () => {
    const orgId = await world.orgWith(cap('10'));
    const hold = await world.held(orgId, '4');
    const expiry = async (seconds: number) => {
      const change = await world.ledger.extend(orgId, hold.id, seconds);
      return change.kind === 'changed' ? (change.hold.expiresAtMs - hold.admittedAtMs) / 1_000 : change.kind;
    };
    expect(await expiry(60)).toBe(900);
    world.clock.advanceSeconds(600);
    expect(await expiry(900)).toBe(1_500);
    world.clock.advanceSeconds(600);
    await world.expireAll();
    expect((await world.ledger.reads.findHold(orgId, hold.id))?.expiresAtMs).toBe(
      hold.admittedAtMs + 1_500_000,
    );
    expect(await expiry(200_000)).toBe(86_400);
    world.clock.advanceSeconds(86_400 - 1_200 - 1);
    await world.expireAll();
    expect(await counterOf(orgId, 'cap', hold.admittedAtMs)).toBe(at('0', '4'));
    world.clock.advanceSeconds(1);
    await world.expireAll();
    expect(await expiry(60)).toBe('ended');
    expect(await world.ledger.reads.findHold(orgId, hold.id)).toBeUndefined();
    expect((await world.ledger.extend(orgId, 'dec_unknown', 60)).kind).toBe('unknown');
    await expectNoDrift(orgId);
  });

  test('expires at its expiry and releases its reservation', async () => {
    const orgId = await world.orgWith(cap('10'));
    const hold = await world.held(orgId, '10', { holdSeconds: 60 });
    world.clock.advanceSeconds(59);
    await world.expireAll();
    expect(verdictOf(await world.hold(orgId, '1'))).toBe('spend_cap_exceeded');
    world.clock.advanceSeconds(1);
    await world.expireAll();
    expect(await findEnds(world.db, [orgId], [hold.id])).toMatchObject([
      { ended_as: 'expired', run_id: null },
    ]);
    expect((await world.ledger.void(orgId, hold.id)).kind).toBe('ended');
    expect(verdictOf(await world.hold(orgId, '10'))).toBe('held');
    await expectNoDrift(orgId);
  });

  test('expires among thousands of settled holds', async () => {
    const orgId = await world.orgWith();
    const settled = await times(1_100, () => world.held(orgId, '1', { holdSeconds: 60 }));
    await times(1_100, (index) => world.post(orgId, '1', { decisionId: settled[index]?.id ?? '' }));
    const left = await world.held(orgId, '1', { holdSeconds: 60 });
    world.clock.advanceSeconds(60);
    await world.expireAll();
    expect(await world.ledger.reads.findHold(orgId, left.id)).toBeUndefined();
  });

  test('a hold that is unknown or already voided cannot be voided', async () => {
    const orgId = await world.orgWith(cap('10'));
    const hold = await world.held(orgId, '4');
    expect((await world.ledger.void(orgId, 'dec_unknown')).kind).toBe('unknown');
    expect(await world.ledger.void(orgId, hold.id)).toMatchObject({ kind: 'changed', hold: { id: hold.id } });
    expect((await world.ledger.void(orgId, hold.id)).kind).toBe('ended');
    expect(await counterOf(orgId, 'cap')).toBe(at('0'));
  });
});

/** Units of a cent and ten tokens each. */
const unitsOf = (atLeast: bigint, atMost: bigint): Fit => ({
  atLeast,
  atMost,
  amountsOf: (units) => ({ usd: units * usd('0.01'), tokens: units * 10n, requests: 1n }),
});

describe('a hold up to what fits', () => {
  const holdUpTo = (orgId: string, fit: Fit, fields: Partial<HoldRequest> = {}) =>
    world.ledger.hold(world.requestOf(orgId, '0', { amounts: fit.amountsOf(fit.atMost), fit, ...fields }));

  test('takes the most that the tightest limit allows, and is denied below its minimum', async () => {
    const tokens = limitOf({ id: 'tok', kind: 'quota', unit: 'tokens', capacity: 2_000n });
    const orgId = await world.orgWith(cap('1.5'), budget('bud', '9'), tokens);
    const first = heldOf(await holdUpTo(orgId, unitsOf(1n, 100n)));
    expect(first.hold.amounts).toEqual({ usd: usd('1'), tokens: 1_000n, requests: 1n });
    const second = heldOf(await holdUpTo(orgId, unitsOf(40n, 100n)));
    expect(second.hold.amounts).toEqual({ usd: usd('0.5'), tokens: 500n, requests: 1n });
    expect(second.remaining).toEqual([500n, 0n, usd('7.5')]);
    const denied = await holdUpTo(orgId, unitsOf(1n, 100n));
    expect(denied).toMatchObject({
      denial: { code: 'spend_cap_exceeded', details: { attempted_usd: '0.01' } },
    });
    await world.ledger.void(orgId, first.hold.id);
    await world.updateLimit(orgId, cap('20'));
    // The token limit is the tightest now.
    expect(heldOf(await holdUpTo(orgId, unitsOf(1n, 400n))).hold.amounts.tokens).toBe(1_500n);
    await expectNoDrift(orgId);
  });

  test('a hold up to what fits for a run in progress takes the most that all limits allow, and says what remains', async () => {
    const orgId = await world.orgWith(cap('1.5'), budget('bud', '9'));
    const fit = unitsOf(1n, 100n);
    const open = () => world.post(orgId, '1', { kind: 'open', amounts: fit.amountsOf(100n), fit });
    const whole = await world.posted(orgId, '1', { kind: 'open', amounts: fit.amountsOf(100n), fit });
    expect([whole.hold?.amounts.usd, whole.remainingNanos]).toEqual([usd('1'), usd('0.5')]);
    const part = await world.posted(orgId, '1', { kind: 'open', amounts: fit.amountsOf(100n), fit });
    expect([part.hold?.amounts.usd, part.remainingNanos]).toEqual([usd('0.5'), 0n]);
    expect(verdictOf(await open())).toBe('spend_cap_exceeded');
    const { runId } = part.posting;
    await world.posted(orgId, '0.2', {
      kind: 'complete',
      runId,
      decisionId: part.hold?.id ?? '',
      marks: ['usage_estimated'],
    });
    expect(await counterOf(orgId, 'cap')).toBe(at('0.2', '1'));
    expect((await entriesOf(orgId))[0]?.marks).toEqual(['usage_estimated']);
    await expectNoDrift(orgId);
  });

  test('takes from credit packs what they cover', async () => {
    const orgId = await world.orgWith(pack('crp1', '0.3'), pack('crp2', '0.4', { createdAtMs: 1 }));
    const scope = scopeOf({ customer_id: 'c' });
    const { hold } = heldOf(await holdUpTo(orgId, unitsOf(1n, 100n), { scope, surface: 'run' }));
    expect([hold.amounts.usd, hold.packs.map(({ amount }) => amount)]).toEqual([
      usd('0.7'),
      [usd('0.3'), usd('0.4')],
    ]);
    expect(verdictOf(await holdUpTo(orgId, unitsOf(1n, 9n), { scope, surface: 'run' }))).toBe(
      'credits_exhausted',
    );
    await expectNoDrift(orgId);
  });

  test('holds up to what fits by 200 parallel requests never exceed the cap, and leave less than one minimum', async () => {
    const minimum = 7n;
    const orgId = await world.orgWith(cap('10.005'), budget('bud', '500'));
    const results = await times(200, (index) => holdUpTo(orgId, unitsOf(minimum, 30n + BigInt(index % 50))));
    const held = results.flatMap((result) => (result.kind === 'held' ? result.hold.amounts.usd : []));
    const total = held.reduce((sum, amount) => sum + amount, 0n);
    expect(total).toBeLessThanOrEqual(usd('10.005'));
    expect(total).toBeGreaterThan(usd('10.005') - minimum * usd('0.01'));
    expect(held.length).toBeLessThan(200);
    expect(verdicts(results)).toEqual({ held: held.length, spend_cap_exceeded: 200 - held.length });
    expect(await counterOf(orgId, 'cap')).toBe(`0+${total}`);
    await expectNoDrift(orgId);
  });

  test('replays the same response for its idempotency key', async () => {
    const orgId = await world.orgWith(cap('1'));
    const responseOf = ({ hold }: Held) => String(hold.amounts.tokens);
    const key = { ...requestKey('f', 'fit'), responseOf };
    const results = await times(20, () => holdUpTo(orgId, unitsOf(1n, 60n), { key }));
    expect(results.filter(({ kind }) => kind === 'held')).toHaveLength(1);
    await holdUpTo(orgId, unitsOf(1n, 30n));
    expect(await holdUpTo(orgId, unitsOf(1n, 60n), { key })).toEqual({ kind: 'replayed', response: '600' });
  });
});

describe('an increase of a hold', () => {
  const by = (dollars: string, tokens = 0n): HoldIncrease => ({
    by: amountsOf(dollars, tokens, 0n),
    requestId: null,
  });
  const increase = (orgId: string, hold: Pick<Hold, 'id'>, change: HoldIncrease) =>
    world.ledger.increase(orgId, hold.id, change);
  const changedHold = (result: IncreaseResult): Hold => {
    if (result.kind !== 'changed') {
      throw new Error(`expected an increase, not ${result.kind}`);
    }
    return result.hold;
  };

  test('reserves more in every limit, or is denied and changes nothing', async () => {
    const tokens = limitOf({ id: 'tok', kind: 'quota', unit: 'tokens', capacity: 100n });
    const orgId = await world.orgWith(cap('5'), budget('bud', '4'), tokens);
    const hold = await world.held(orgId, '1', { amounts: amountsOf('1', 10n) });
    expect(changedHold(await increase(orgId, hold, by('3', 90n))).amounts).toEqual({
      usd: usd('4'),
      tokens: 100n,
      requests: 1n,
    });
    for (const [change, code] of [
      [by('0.000000001'), 'budget_exceeded'],
      [by('0', 1n), 'quota_exhausted'],
      [by('2'), 'spend_cap_exceeded'],
    ] as const) {
      expect(await increase(orgId, hold, change)).toMatchObject({ kind: 'denied', denial: { code } });
    }
    expect(await world.ledger.reads.findHold(orgId, hold.id)).toMatchObject({ amounts: { usd: usd('4') } });
    expect([await counterOf(orgId, 'cap'), await counterOf(orgId, 'bud')]).toEqual([
      at('0', '4'),
      at('0', '4'),
    ]);
    await expectNoDrift(orgId);
    await world.posted(orgId, '3.5', { decisionId: hold.id });
    expect(await counterOf(orgId, 'cap')).toBe(at('3.5'));
    await expectNoDrift(orgId);
  });

  test('never makes parallel increases and decisions exceed a limit', async () => {
    const orgId = await world.orgWith(cap('10'));
    const holds = await times(5, () => world.held(orgId, '0.5'));
    const results = await times<HoldResult | IncreaseResult>(60, (index) =>
      index % 3 === 0 ? world.hold(orgId, '0.25') : increase(orgId, holds[index % 5] as Hold, by('0.25')),
    );
    const passed = results.filter(({ kind }) => kind === 'held' || kind === 'changed');
    expect(passed).toHaveLength(30);
    expect(await counterOf(orgId, 'cap')).toBe(at('0', '10'));
    await expectNoDrift(orgId);
  });

  test('an increase of a hold survives a restart, once for each request id', async () => {
    const orgId = await world.orgWith(cap('10'));
    const hold = await world.held(orgId, '1');
    const once = { ...by('2'), requestId: 'request-1' };
    const results = await times(5, () => increase(orgId, hold, once));
    expect(results.map((result) => changedHold(result).amounts.usd)).toEqual(Array(5).fill(usd('3')));
    expect(changedHold(await increase(orgId, hold, by('1'))).amounts.usd).toBe(usd('4'));
    await world.reopen();
    expect(changedHold(await increase(orgId, hold, once)).amounts.usd).toBe(usd('4'));
    expect(await counterOf(orgId, 'cap')).toBe(at('0', '4'));
    const other = { ...once, requestId: 'request-2' };
    expect(changedHold(await increase(orgId, hold, other)).amounts.usd).toBe(usd('6'));
    expect(await world.ledger.reads.findHold(orgId, hold.id)).toMatchObject({
      increases: ['request-1', 'request-2'],
    });
    await expectNoDrift(orgId);
  });

  test('keeps the last request ids of a hold that is increased very often', async () => {
    const orgId = await world.orgWith();
    const hold = await world.held(orgId, '1');
    await times(40, (index) => increase(orgId, hold, { ...by('0.01'), requestId: `r${index}` }));
    const kept = (await world.ledger.reads.findHold(orgId, hold.id))?.increases;
    expect([kept?.length, kept?.at(-1)]).toEqual([16, 'r39']);
  });

  test('an increase of a hold counts in the windows of the admission, and checks limits that were created since', async () => {
    const orgId = await world.orgWith(cap('3'));
    const hold = await world.held(orgId, '1', { holdSeconds: 86_400 });
    const admittedAtMs = world.nowMs;
    world.clock.advanceSeconds(20 * 3_600);
    await world.held(orgId, '3');
    expect(changedHold(await increase(orgId, hold, by('2'))).amounts.usd).toBe(usd('3'));
    expect(await counterOf(orgId, 'cap', admittedAtMs)).toBe(at('0', '3'));
    expect(await increase(orgId, hold, by('0.01'))).toMatchObject({ denial: { code: 'spend_cap_exceeded' } });
    await world.endLimit(orgId, cap('3'));
    const week = { kind: 'calendar', period: 'year', timezone: null } as const;
    await world.insertLimit(orgId, budget('bud', '7', { span: week }));
    expect(await increase(orgId, hold, by('1.01'))).toMatchObject({
      denial: { code: 'budget_exceeded', details: { spent_usd: '6' } },
    });
    expect(
      changedHold(await increase(orgId, hold, by('1'))).shares.map(({ key }) => key.split('@')[0]),
    ).toEqual(expect.arrayContaining(['cap', 'bud']));
    await expectNoDrift(orgId);
    await world.ledger.void(orgId, hold.id);
    await expectNoDrift(orgId);
  });

  test('an increase of a hold burns further credit packs, which the settlement uses', async () => {
    const orgId = await world.orgWith(pack('crp1', '2'), pack('crp2', '2', { createdAtMs: 1 }));
    const scope = scopeOf({ customer_id: 'c' });
    const hold = await world.held(orgId, '1', { scope, surface: 'run' });
    expect(changedHold(await increase(orgId, hold, by('2'))).packs.map(({ amount }) => amount)).toEqual([
      usd('2'),
      usd('1'),
    ]);
    expect(await increase(orgId, hold, by('1.5'))).toMatchObject({ denial: { code: 'credits_exhausted' } });
    const { charged } = await world.posted(orgId, '2.5', { scope, decisionId: hold.id });
    expect([charged?.burned.map(({ amount }) => amount), charged?.uncovered]).toEqual([
      [usd('2'), usd('0.5')],
      0n,
    ]);
    await expectNoDrift(orgId);
  });

  test('an increase works for the hold of a run in progress, and not for one that has ended or is unknown', async () => {
    const orgId = await world.orgWith(cap('5'));
    const decisionId = world.ids.next('dec');
    const { posting } = await world.posted(orgId, '1', { kind: 'open', decisionId });
    expect(changedHold(await increase(orgId, { id: decisionId }, by('1'))).runId).toBe(posting.runId);
    await world.posted(orgId, '2', { kind: 'complete', runId: posting.runId, decisionId });
    expect((await increase(orgId, { id: decisionId }, by('1'))).kind).toBe('ended');
    expect((await increase(orgId, { id: 'dec_unknown' }, by('1'))).kind).toBe('unknown');
    const foreign = await world.held(await world.orgWith(), '1');
    expect((await increase(orgId, foreign, by('1'))).kind).toBe('unknown');
    expect(await counterOf(orgId, 'cap')).toBe(at('2'));
  });

  test('beyond the largest amount is rejected', async () => {
    const orgId = await world.orgWith();
    const hold = await world.held(orgId, '8999999999');
    expect((await increase(orgId, hold, by('1'))).kind).toBe('out_of_range');
    expect((await increase(orgId, hold, by('0.999999999'))).kind).toBe('changed');
  });

  test('racing with settlements, voids, extensions and expiries leaves nothing behind', async () => {
    const orgId = await world.orgWith(cap('1000'), budget('bud', '900'));
    const holds = await times(40, () => world.held(orgId, '1', { holdSeconds: 60 }));
    world.clock.advanceSeconds(59);
    await times<unknown>(200, (index) => {
      const hold = holds[index % 40] as Hold;
      switch (index % 7) {
        case 0:
          return world.post(orgId, '1.5', { decisionId: hold.id });
        case 1:
          return world.ledger.void(orgId, hold.id);
        case 2:
          return world.ledger.extend(orgId, hold.id, 30);
        default:
          return increase(orgId, hold, by('0.1'));
      }
    });
    await expectNoDrift(orgId);
    await world.reopen();
    await expectNoDrift(orgId);
    world.clock.advanceSeconds(90_000);
    await world.expireAll();
    const counters = Object.entries(await world.counters(orgId));
    expect(counters.filter(([, sums]) => !sums.endsWith('+0'))).toEqual([]);
    await expectNoDrift(orgId);
  });
});

describe('the end of a hold', () => {
  type Ending = 'settle' | 'void' | 'expire';
  const endings: Record<Ending, (orgId: string, holdId: string) => Promise<string>> = {
    settle: async (orgId, decisionId) => {
      const result = await world.post(orgId, '3', { decisionId });
      return result.kind === 'done' ? `settled${postedOf(result).marks.join()}` : result.kind;
    },
    void: async (orgId, holdId) => (await world.ledger.void(orgId, holdId)).kind,
    expire: async (orgId, holdId) => {
      await world.ledger.expiry.expireDue();
      const [end] = await findEnds(world.db, [orgId], [holdId]);
      return end?.ended_as === 'expired' ? 'expired' : 'ended';
    },
  };
  const pairs: [Ending, Ending][] = [
    ['settle', 'void'],
    ['void', 'settle'],
    ['settle', 'expire'],
    ['expire', 'settle'],
    ['void', 'expire'],
    ['expire', 'void'],
    ['void', 'void'],
    ['expire', 'expire'],
  ];

  // Turns of the event loop between the two calls: none, or enough for the first call to be within its transaction.
  const gaps = [0, 1, 2, 3, 4, 6, 9];

  test.each(pairs)('happens once: %s racing with %s', async (first, second) => {
    for (const gap of gaps) {
      const orgId = await world.orgWith(cap('10'));
      const hold = await world.held(orgId, '4', { holdSeconds: 60 });
      world.clock.advanceSeconds(61);
      const [one, other] = await Promise.all([
        endings[first](orgId, hold.id),
        (async () => {
          for (let turn = 0; turn < gap; turn += 1) {
            await new Promise(setImmediate);
          }
          return endings[second](orgId, hold.id);
        })(),
      ]);
      const [end] = await findEnds(world.db, [orgId], [hold.id]);
      expect(end, `${first} and ${second}, ${gap} apart`).toBeDefined();
      const settles = [one, other].filter((_, index) => [first, second][index] === 'settle');
      const entries = await entriesOf(orgId);
      if (settles.length > 0) {
        // The cost is posted in any case, possibly late.
        expect(settles).toEqual([end?.ended_as === 'settled' ? 'settled' : 'settledlate']);
        expect(entries.map(({ usd_nanos }) => usd_nanos)).toEqual([usd('3')]);
        expect(end?.run_id).toBe(entries[0]?.run_id);
      }
      const voids = [one, other].filter((_, index) => [first, second][index] === 'void').sort();
      const won = end?.ended_as === 'voided' ? ['changed'] : [];
      expect(voids).toEqual([...won, ...voids.slice(won.length).map(() => 'ended')]);
      expect(await counterOf(orgId, 'cap', hold.admittedAtMs)).toBe(at(settles.length > 0 ? '3' : '0'));
      expect(await world.ledger.reads.findHold(orgId, hold.id)).toBeUndefined();
      await expectNoDrift(orgId);
    }
  });

  test('happens once: of many runs that settle it, only one does', async () => {
    const orgId = await world.orgWith(cap('10'));
    const hold = await world.held(orgId, '4');
    const results = await times(20, () => world.post(orgId, '3', { decisionId: hold.id }));
    expect(verdicts(results)).toEqual({ done: 1, settled_already: 19 });
    expect(await counterOf(orgId, 'cap')).toBe(at('3'));
    expect(verdictOf(await world.post(orgId, '3', { decisionId: hold.id }))).toBe('settled_already');
  });

  test.each(['one after the other', 'at once', 'as one group'])(
    'comes once, and what others cost that went on under it is posted too, %s',
    async (how) => {
      const orgId = await world.orgWith(cap('10'));
      const hold = await world.held(orgId, '4');
      const adopt = () => world.posted(orgId, '0', { kind: 'adopt', decisionId: hold.id });
      const runs = [await adopt(), await adopt(), await adopt()];
      const completions = runs.map(({ posting: { runId } }) =>
        world.postingOf('3', { kind: 'complete', runId, decisionId: hold.id }),
      );
      const groups = (how === 'as one group' ? [completions] : completions.map((one) => [one])).map(
        (postings) => ({ orgId, postings }),
      );
      if (how === 'one after the other') {
        for (const group of groups) {
          expect((await world.ledger.post(group)).kind).toBe('done');
        }
      } else {
        const results = await Promise.all(groups.map((group) => world.ledger.post(group)));
        expect(results.map(({ kind }) => kind)).toEqual(groups.map(() => 'done'));
      }
      const entries = await entriesOf(orgId);
      expect(entries.map(({ marks }) => marks).sort()).toEqual([[], ['late'], ['late']]);
      expect(new Set(entries.map(({ charged_at }) => charged_at.getTime()))).toEqual(
        new Set([hold.admittedAtMs]),
      );
      const [end] = await findEnds(world.db, [orgId], [hold.id]);
      expect(end?.run_id).toBe(entries.find(({ marks }) => marks.length === 0)?.run_id);
      expect(await counterOf(orgId, 'cap')).toBe(at('9'));
      expect(verdictOf(await world.post(orgId, '1', { decisionId: hold.id }))).toBe('settled_already');
      await expectNoDrift(orgId);
    },
  );

  test.each(['voided', 'expired'])(
    'the end of a hold that was %s accepts one late settlement',
    async (how) => {
      const orgId = await world.orgWith(cap('10'));
      const hold = await world.held(orgId, '4', { holdSeconds: 60 });
      if (how === 'voided') {
        await world.ledger.void(orgId, hold.id);
      } else {
        world.clock.advanceSeconds(60);
        await world.expireAll();
      }
      // The released amount was used by another charge since; the late cost is posted anyway.
      await world.posted(orgId, '10');
      const results = await times(10, () => world.post(orgId, '4', { decisionId: hold.id }));
      expect(verdicts(results)).toEqual({ done: 1, settled_already: 9 });
      const [end] = await findEnds(world.db, [orgId], [hold.id]);
      const late = (await entriesOf(orgId)).find(({ marks }) => marks.includes('late'));
      expect(end).toMatchObject({ ended_as: how, run_id: late?.run_id });
      expect(late?.charged_at.getTime()).toBe(hold.admittedAtMs);
      expect(await counterOf(orgId, 'cap')).toBe(at('14'));
      await expectNoDrift(orgId);
    },
  );

  test('the end of a hold and a concurrent late settlement of another hold release exactly the held amount', async () => {
    for (let round = 0; round < 3; round += 1) {
      const orgId = await world.orgWith(cap('100'));
      const early = await world.held(orgId, '4');
      const other = await world.held(orgId, '5');
      await world.ledger.void(orgId, early.id);
      await Promise.all([
        world.ledger.void(orgId, other.id),
        world.posted(orgId, '4', { decisionId: early.id }),
      ]);
      expect(await counterOf(orgId, 'cap')).toBe(at('4'));
      await expectNoDrift(orgId);
    }
  });

  test('the end of a hold and the concurrent creation of a counter are consistent', async () => {
    const orgId = await world.orgWith(cap('100'));
    const hold = await world.held(orgId, '5');
    await world.insertLimit(orgId, budget('bud', '100'));
    await Promise.all([world.ledger.void(orgId, hold.id), world.posted(orgId, '1')]);
    expect(await counterOf(orgId, 'bud')).toBe(at('1'));
    await expectNoDrift(orgId);
  });

  test('an extension that races with a settlement leaves no hold behind', async () => {
    for (const gap of gaps) {
      const orgId = await world.orgWith(cap('10'));
      const hold = await world.held(orgId, '4');
      const settle = world.posted(orgId, '3', { decisionId: hold.id });
      for (let turn = 0; turn < gap; turn += 1) {
        await new Promise(setImmediate);
      }
      const change = await world.ledger.extend(orgId, hold.id, 2_000);
      expect(['changed', 'ended']).toContain(change.kind);
      await settle;
      expect(await world.ledger.reads.findHold(orgId, hold.id)).toBeUndefined();
      expect(await counterOf(orgId, 'cap')).toBe(at('3'));
    }
  });
});

describe('the idempotency key of a hold', () => {
  const key = (fingerprint: string, digest = 'digest') => ({
    ...requestKey(fingerprint, digest),
    responseOf: ({ hold }: { hold: { id: string } }) => `answer of ${hold.id}`,
  });
  const responseOf = ({ id }: { id: string }) => ({ kind: 'replayed', response: `answer of ${id}` });

  test('replays the same response, and is rejected for a different request', async () => {
    const orgId = await world.orgWith(cap('10'));
    const hold = await world.held(orgId, '4', { key: key('a') });
    // The response is not stored in plain text.
    expect(Object.keys(hold.idempotency ?? {}).sort()).toEqual([
      'customerDigest',
      'digest',
      'encrypted',
      'fingerprint',
    ]);
    expect(JSON.stringify(hold.idempotency)).not.toContain(hold.id);
    expect(await world.hold(orgId, '4', { key: key('a') })).toEqual({
      kind: 'replayed',
      response: `answer of ${hold.id}`,
    });
    expect(await world.hold(orgId, '5', { key: key('b') })).toEqual({ kind: 'key_conflict' });
    expect(await counterOf(orgId, 'cap')).toBe(at('0', '4'));
    // A key of the same name in another org is a different key.
    const otherOrg = await world.orgWith(cap('10'));
    expect(verdictOf(await world.hold(otherOrg, '5', { key: key('b') }))).toBe('held');
  });

  test('takes one hold for many concurrent requests', async () => {
    const orgId = await world.orgWith(cap('10'));
    const results = await times(50, () => world.hold(orgId, '4', { key: key('a') }));
    expect(verdicts(results)).toEqual({ held: 1, replayed: 49 });
    const answers = new Set(results.flatMap((one) => (one.kind === 'replayed' ? [one.response] : [])));
    expect(answers.size).toBe(1);
    expect(await counterOf(orgId, 'cap')).toBe(at('0', '4'));
  });

  test('the idempotency key of a hold can be used again after a denial', async () => {
    const orgId = await world.orgWith(cap('3'));
    expect(verdictOf(await world.hold(orgId, '4', { key: key('a') }))).toBe('spend_cap_exceeded');
    await world.updateLimit(orgId, cap('10'));
    expect(verdictOf(await world.hold(orgId, '4', { key: key('a') }))).toBe('held');
  });

  test('the idempotency key of a hold survives a restart with its hold', async () => {
    const orgId = await world.orgWith(cap('10'));
    const hold = await world.held(orgId, '4', { key: key('a') });
    await world.restart();
    expect(await world.hold(orgId, '4', { key: key('a') })).toEqual({
      kind: 'replayed',
      response: `answer of ${hold.id}`,
    });
    expect(await counterOf(orgId, 'cap')).toBeOneOf([undefined, at('0', '4')]);
  });

  const ends: Record<string, (orgId: string, holdId: string) => Promise<unknown>> = {
    settled: (orgId, holdId) => world.posted(orgId, '1', { decisionId: holdId }),
    voided: (orgId, holdId) => world.ledger.void(orgId, holdId),
    async expired() {
      world.clock.advanceSeconds(900);
      await world.expireAll();
    },
  };

  test.each(Object.keys(ends))(
    'the idempotency key of a hold is replayed after the hold was %s, and takes no second hold',
    async (how) => {
      const orgId = await world.orgWith(cap('10'));
      const hold = await world.held(orgId, '4', { key: key('a') });
      await ends[how]?.(orgId, hold.id);
      const settled = how === 'settled' ? '1' : '0';
      expect(await world.hold(orgId, '4', { key: key('a') })).toEqual(responseOf(hold));
      expect(await world.hold(orgId, '5', { key: key('b') })).toEqual({ kind: 'key_conflict' });
      expect(await world.ledger.replay(orgId, requestKey('a'))).toEqual(responseOf(hold));
      const many = await times(20, () => world.hold(orgId, '4', { key: key('a') }));
      expect(verdicts(many)).toEqual({ replayed: 20 });
      expect(await counterOf(orgId, 'cap')).toBe(at(settled));
      await world.reopen();
      expect(await world.hold(orgId, '4', { key: key('a') })).toEqual(responseOf(hold));
      expect(await world.hold(orgId, '5', { key: key('b') })).toEqual({ kind: 'key_conflict' });
      // A key of the same name in another org is a different key.
      expect(verdictOf(await world.hold(await world.orgWith(), '5', { key: key('b') }))).toBe('held');
      await expectNoDrift(orgId);
    },
  );

  test('the idempotency key of a hold is replayed for 72 hours after the decision, then makes a new decision', async () => {
    const orgId = await world.orgWith(cap('10'));
    const hold = await world.held(orgId, '4', { key: key('a'), holdSeconds: 86_400 });
    world.clock.advanceSeconds(86_400);
    await world.expireAll();
    world.clock.advanceSeconds(2 * 86_400 - 1);
    expect(await world.hold(orgId, '4', { key: key('a') })).toEqual(responseOf(hold));
    world.clock.advanceSeconds(1);
    const second = await world.held(orgId, '5', { key: key('b') });
    expect(await world.hold(orgId, '5', { key: key('b') })).toEqual(responseOf(second));
    await world.ledger.void(orgId, second.id);
    expect(await world.hold(orgId, '5', { key: key('b') })).toEqual(responseOf(second));
    await expectNoDrift(orgId);
  });

  test('the idempotency key of a hold is replayed for the time in the retention policy of the org', async () => {
    const orgId = await world.orgWith();
    await world.db.query(
      `INSERT INTO retention_policies (org_id, runs_days, content_days, audit_days, deliveries_days, idempotency_days, legal_hold,
                                       next_run_at, created_at, updated_at)
       VALUES ($1, 1, 1, 1, 1, 9, false, $2, $2, $2)`,
      [orgId, world.clock.now()],
    );
    const hold = await world.held(orgId, '4', { key: key('a') });
    await world.ledger.void(orgId, hold.id);
    world.clock.advanceSeconds(9 * 86_400 - 1);
    expect(await world.hold(orgId, '4', { key: key('a') })).toEqual(responseOf(hold));
    world.clock.advanceSeconds(1);
    expect(verdictOf(await world.hold(orgId, '4', { key: key('a') }))).toBe('held');
  });

  test('takes no second hold while its hold is ending', async () => {
    for (const gap of [0, 1, 2, 3, 4, 6, 9]) {
      const orgId = await world.orgWith(cap('10'));
      const hold = await world.held(orgId, '4', { key: key('a') });
      const settle = world.posted(orgId, '3', { decisionId: hold.id });
      for (let turn = 0; turn < gap; turn += 1) {
        await new Promise(setImmediate);
      }
      const results = await times(5, () => world.hold(orgId, '4', { key: key('a') }));
      expect(results).toEqual(results.map(() => responseOf(hold)));
      await settle;
      expect(await counterOf(orgId, 'cap')).toBe(at('3'));
    }
  });

  test('the idempotency key of a hold is stored encrypted at the end of its hold, and nothing is stored for a hold without a key', async () => {
    const orgId = await world.orgWith();
    const plain = await world.held(orgId, '1');
    const keyed = await world.held(orgId, '1', { key: key('a') });
    await world.ledger.void(orgId, plain.id);
    await world.ledger.void(orgId, keyed.id);
    const rows = await world.db.query<{ key_digest: string; text: string }>(
      'SELECT key_digest, k::text AS text FROM idempotency_keys k WHERE tenant_id = $1',
      [orgId],
    );
    expect(rows.map(({ key_digest }) => key_digest)).toEqual(['hold:digest']);
    const ended = await findEnds(world.db, [orgId], [plain.id, keyed.id]);
    expect(ended).toHaveLength(2);
    expect(JSON.stringify(ended)).not.toContain('idempotency');
    expect(JSON.stringify([rows, ended])).not.toContain('answer of');
  });

  test('the idempotency key of a hold of an erased customer stays used without its response, also after the end of the hold', async () => {
    const orgId = await world.orgWith(cap('10'));
    const scope = scopeOf({ customer_id: 'acme' });
    const hold = await world.held(orgId, '4', { key: key('a'), scope });
    await world.ledger.maintenance.renameCustomer(orgId, { from: 'acme', to: 'erased-1' }, async (tx) => {
      await notifyLimitsChanged(tx, orgId);
    });
    const erased = { kind: 'response_erased' };
    expect(await world.hold(orgId, '4', { key: key('a'), scope })).toEqual(erased);
    expect(await world.hold(orgId, '5', { key: key('b'), scope })).toEqual({ kind: 'key_conflict' });
    await world.reopen();
    expect(await world.hold(orgId, '4', { key: key('a'), scope })).toEqual(erased);
    await world.ledger.void(orgId, hold.id);
    expect(await world.hold(orgId, '4', { key: key('a'), scope })).toEqual(erased);
    expect(await world.ledger.replay(orgId, requestKey('a'))).toEqual(erased);
  });

  test('the idempotency key of a hold of a fail-open decision is stored with its hold, unless it was used before', async () => {
    const orgId = await world.orgWith(cap('10'));
    const given = async (name: string, digest: string): Promise<Hold> => ({
      ...(await templateHold(orgId)),
      id: world.ids.next('dec'),
      idempotency: holdKeyOf(requestKey('a', digest), name),
    });
    const fresh = await given('fresh', 'one');
    await world.ledger.importHolds({ orgId, holds: [fresh] });
    await world.ledger.importHolds({ orgId, holds: [fresh] });
    expect(await world.hold(orgId, '4', { key: key('a', 'one') })).toEqual({
      kind: 'replayed',
      response: 'fresh',
    });
    const open = await world.held(orgId, '1', { key: key('a', 'two') });
    await world.ledger.importHolds({ orgId, holds: [await given('second', 'two')] });
    expect(await world.hold(orgId, '1', { key: key('a', 'two') })).toEqual(responseOf(open));
    const ended = await world.held(orgId, '1', { key: key('a', 'three') });
    await world.ledger.void(orgId, ended.id);
    const late = await given('third', 'three');
    await world.ledger.importHolds({ orgId, holds: [late] });
    await world.ledger.void(orgId, late.id);
    expect(await world.hold(orgId, '1', { key: key('a', 'three') })).toEqual(responseOf(ended));
    await expectNoDrift(orgId);
  });

  /** Returns a hold that was voided, so that it is no longer in the ledger. */
  async function templateHold(orgId: string): Promise<Hold> {
    const hold = await world.held(orgId, '1');
    await world.ledger.void(orgId, hold.id);
    return hold;
  }

  test('the idempotency key of a hold that an earlier release stored in plain text is replayed while its hold is open', async () => {
    const orgId = await world.orgWith(cap('10'));
    const legacy: Hold = {
      ...(await templateHold(orgId)),
      id: world.ids.next('dec'),
      idempotency: { digest: 'old', fingerprint: 'a', answer: 'as it was' },
    };
    await world.ledger.importHolds({ orgId, holds: [legacy] });
    await world.reopen();
    expect(await world.hold(orgId, '1', { key: key('a', 'old') })).toEqual({
      kind: 'replayed',
      response: 'as it was',
    });
    await world.ledger.void(orgId, legacy.id);
    const rows = await world.db.query('SELECT 1 FROM idempotency_keys WHERE tenant_id = $1', [orgId]);
    expect(rows).toEqual([]);
  });

  test.runIf(engine === 'embedded')(
    'the idempotency key of a hold is answered, and replayed, only once its hold is in the log',
    async () => {
      const orgId = await world.orgWith(cap('10'));
      await world.held(orgId, '1');
      const directory = join(world.place.dataDir, 'holds');
      const logged = () =>
        readdirSync(directory).some((file) =>
          readFileSync(join(directory, file), 'utf8').includes('"waiting"'),
        );
      const seen: [string, boolean][] = [];
      const ask = async () => {
        const { kind } = await world.hold(orgId, '4', { key: key('a', 'waiting') });
        seen.push([kind, logged()]);
      };
      const replay = async () => {
        const found = await world.ledger.replay(orgId, requestKey('a', 'waiting'));
        seen.push([found?.kind ?? 'none', logged()]);
      };
      await Promise.all([ask(), ask(), replay()]);
      expect(seen).toEqual([
        ['held', true],
        ['replayed', true],
        ['replayed', true],
      ]);
    },
  );

  test.runIf(engine === 'embedded')(
    'the idempotency key of a hold survives a crash of the process, before and after the end of its hold',
    async () => {
      const orgId = await world.orgWith(cap('10'));
      const hold = await world.held(orgId, '4', { key: key('a') });
      await world.crash();
      expect(await world.hold(orgId, '4', { key: key('a') })).toEqual(responseOf(hold));
      await world.posted(orgId, '1', { decisionId: hold.id });
      await world.crash();
      expect(await world.hold(orgId, '4', { key: key('a') })).toEqual(responseOf(hold));
      expect(await world.hold(orgId, '5', { key: key('b') })).toEqual({ kind: 'key_conflict' });
    },
  );

  test.runIf(engine === 'postgres')(
    'holds once from two processes, while open and after the end',
    async () => {
      const orgId = await world.orgWith(cap('10'));
      const db = await openPlace(world.place);
      const other = await openLedgerOn(db, world.place, world.clock, world.ids);
      try {
        const request = world.requestOf(orgId, '4', { key: key('a') });
        const both = [world.ledger, other];
        const results = await times(20, (index) => (both[index % 2] as Ledger).hold(request));
        expect(verdicts(results)).toEqual({ held: 1, replayed: 19 });
        const { hold } = heldOf(results.find(({ kind }) => kind === 'held') as HoldResult);
        const racing = await Promise.all([
          other.void(orgId, hold.id),
          ...Array.from({ length: 20 }, (_, index) => (both[index % 2] as Ledger).hold(request)),
        ]);
        expect(racing.slice(1)).toEqual(Array.from({ length: 20 }, () => responseOf(hold)));
        expect(await other.replay(orgId, requestKey('a'))).toEqual(responseOf(hold));
        expect(await counterOf(orgId, 'cap')).toBe(at('0'));
      } finally {
        await other.close();
        await db.close();
      }
    },
  );
});

describe('time', () => {
  test('a hold from yesterday that is settled today counts for yesterday', async () => {
    const orgId = await world.orgWith(cap('10'));
    const hold = await world.held(orgId, '4', { holdSeconds: 86_400 });
    world.clock.advanceSeconds(20 * 3_600);
    expect(new Date(hold.admittedAtMs).getUTCDate()).not.toBe(world.clock.now().getUTCDate());
    // On a new day the whole cap is available.
    expect(verdictOf(await world.hold(orgId, '10'))).toBe('held');
    const posted = await world.posted(orgId, '5', { decisionId: hold.id });
    expect(posted.chargedAtMs).toBe(hold.admittedAtMs);
    expect(await counterOf(orgId, 'cap', hold.admittedAtMs)).toBe(at('5'));
    expect(await counterOf(orgId, 'cap')).toBe(at('0', '10'));
    await expectNoDrift(orgId);
  });

  test('an expired hold from yesterday that is settled late counts for yesterday', async () => {
    const orgId = await world.orgWith(cap('10'));
    const hold = await world.held(orgId, '4');
    world.clock.advanceSeconds(24 * 3_600);
    await world.expireAll();
    await world.posted(orgId, '1');
    expect(await world.posted(orgId, '5', { decisionId: hold.id })).toMatchObject({
      chargedAtMs: hold.admittedAtMs,
      marks: ['late'],
    });
    expect(await counterOf(orgId, 'cap')).toBe(at('1'));
    await expectNoDrift(orgId);
  });

  test('a backfilled run counts at its own time, skips the admission check, and burns neither credits nor the prepaid balance', async () => {
    const orgId = await world.orgWith(
      budget('bud', '20', { span: { kind: 'calendar', period: 'month', timezone: null } }),
      limitOf({ id: 'ppd', kind: 'prepaid', capacity: usd('5'), span: lifetime }),
      pack('crp', '5'),
    );
    const customer = scopeOf({ customer_id: 'c' });
    await world.posted(orgId, '1', { scope: customer });
    const hourAgo = world.nowMs - 3_600_000;
    const posted = await world.posted(orgId, '50', { kind: 'record', atMs: hourAgo, scope: customer });
    expect(posted).toMatchObject({ chargedAtMs: hourAgo, marks: ['backfill'] });
    expect(posted.charged).toMatchObject({ prepaid: 0n, burned: [], uncovered: 0n });
    expect(await counterOf(orgId, 'ppd')).toBe(at('1'));
    expect(await counterOf(orgId, 'crp')).toBe(at('1'));
    expect(verdictOf(await world.hold(orgId, '0.01'))).toBe('budget_exceeded');
    await expectNoDrift(orgId);
  });

  test('a run backfilled a few minutes ahead counts in the window that starts then', async () => {
    const orgId = await world.orgWith();
    const day = 86_400_000;
    const midnight = Math.ceil((world.nowMs + 1) / day) * day;
    world.clock.advanceSeconds((midnight - world.nowMs) / 1_000 - 60);
    // Loads the state of the org.
    await world.held(orgId, '0');
    await world.posted(orgId, '4', { kind: 'record', atMs: midnight + 60_000 });
    await world.insertLimit(orgId, cap('10'));
    await world.held(orgId, '1');
    world.clock.advanceSeconds(180);
    expect(verdictOf(await world.hold(orgId, '6.000000001'))).toBe('spend_cap_exceeded');
    expect(verdictOf(await world.hold(orgId, '6'))).toBe('held');
    await expectNoDrift(orgId);
  });

  test('a run that is posted after midnight and names more than its hold counts in the window of its hold', async () => {
    const orgId = await world.orgWith(budget('bud', '20', { match: { team: 'red' } }));
    const red = scopeOf({ team: 'red' });
    const day = 86_400_000;
    const midnight = Math.ceil((world.nowMs + 1) / day) * day;
    world.clock.advanceSeconds((midnight - world.nowMs) / 1_000 - 60);
    await world.posted(orgId, '1', { scope: red });
    const hold = await world.held(orgId, '2');
    world.clock.advanceSeconds(120);
    await world.posted(orgId, '2', { scope: red, decisionId: hold.id });
    expect(await counterOf(orgId, 'bud', midnight - 1)).toBe(at('3'));
    await expectNoDrift(orgId);
  });

  test('a chain whose unused counters were evicted continues with its previous usage', async () => {
    const orgId = await world.orgWith(
      limitOf({
        id: 'chain',
        kind: 'chain_cost',
        match: { chain_id: WILDCARD },
        capacity: usd('10'),
        span: lifetime,
      }),
    );
    const resting = scopeOf({ chain_id: 'resting' });
    const busy = scopeOf({ chain_id: 'busy' });
    await world.posted(orgId, '6', { scope: resting });
    await world.posted(orgId, '1', { scope: busy });
    await world.posted(orgId, '3', {
      kind: 'open',
      scope: scopeOf({ chain_id: 'open' }),
      holdSeconds: 86_400,
    });
    world.clock.advanceSeconds(3_000);
    await world.posted(orgId, '1', { scope: busy });
    world.clock.advanceSeconds(3_000);
    expect(await world.ledger.maintenance.evictCounters()).toBe(false);
    const { 'chain@0:resting': forgotten, ...kept } = await world.counters(orgId);
    expect(kept).toEqual({ 'chain@0:busy': at('2'), 'chain@0:open': at('0', '3') });
    // In memory a counter may remain; only the number of counters is bounded.
    expect(forgotten).toBe(engine === 'postgres' ? undefined : at('6'));
    const goingOn = { kind: 'open', scope: resting } as const;
    expect(verdictOf(await world.post(orgId, '4.000000001', goingOn))).toBe('chain_budget_exceeded');
    await world.posted(orgId, '4', goingOn);
    await expectNoDrift(orgId);
  });

  test('a clock that is set back does not set the ledger clock back', async () => {
    const orgId = await world.orgWith(cap('10'));
    const before = world.nowMs;
    await world.posted(orgId, '1');
    world.clock.advanceSeconds(-3_600);
    expect((await world.held(orgId, '1')).admittedAtMs).toBe(before);
    await world.reopen();
    expect((await world.held(orgId, '1')).admittedAtMs).toBe(before);
    world.clock.advanceSeconds(3_600);
  });
});

describe('a change of limits', () => {
  test('a budget created within its period counts previous spend and open holds', async () => {
    const orgId = await world.orgWith();
    const scope = scopeOf({ department: 'd' });
    await world.posted(orgId, '3', { scope });
    await world.posted(orgId, '5');
    const hold = await world.held(orgId, '2', { scope });
    await world.posted(orgId, '1.5', { kind: 'open', scope });
    await world.insertLimit(orgId, budget('bud', '7', { match: { department: 'd' } }));
    expect(verdictOf(await world.hold(orgId, '0.500000001', { scope }))).toBe('budget_exceeded');
    expect(verdictOf(await world.hold(orgId, '0.5', { scope }))).toBe('held');
    expect(await counterOf(orgId, 'bud')).toBe(at('3', '4'));
    await world.posted(orgId, '1', { decisionId: hold.id });
    expect(await counterOf(orgId, 'bud')).toBe(at('4', '2'));
    await expectNoDrift(orgId);
  });

  test('a budget created within its period counts a posting that was not awaited', async () => {
    const orgId = await world.orgWith();
    await world.posted(orgId, '3');
    const hold = await world.held(orgId, '2');
    await world.insertLimit(orgId, cap('6'));
    expect(verdictOf(await world.post(orgId, '1.000000001'))).toBe('spend_cap_exceeded');
    await world.posted(orgId, '1');
    await world.ledger.void(orgId, hold.id);
    expect(await counterOf(orgId, 'cap')).toBe(at('4'));
    await expectNoDrift(orgId);
  });

  test('the usage of a limit created within its period includes open holds before the next decision', async () => {
    const orgId = await world.orgWith();
    const scope = scopeOf({ department: 'd', customer_id: 'c' });
    await world.posted(orgId, '3', { scope });
    await world.held(orgId, '2', { scope });
    await world.held(orgId, '5');
    await world.insertLimit(orgId, budget('bud', '7', { match: { department: 'd' } }));
    await world.insertLimit(
      orgId,
      limitOf({ id: 'each', kind: 'customer', match: { customer_id: WILDCARD }, capacity: usd('9') }),
    );
    const amounts = { settled: usd('3'), held: usd('2') };
    expect(await world.ledger.reads.limitUsage(orgId, ['bud'])).toMatchObject([amounts]);
    const others = { settled: 0n, held: 0n };
    expect(
      await world.ledger.reads.limitUsageIn(orgId, 'each', [scope, scopeOf({ customer_id: 'other' })]),
    ).toMatchObject([amounts, others]);
  });

  test('a limit reduced below the spend denies further charges, and nothing else breaks', async () => {
    const orgId = await world.orgWith(cap('10'));
    await world.posted(orgId, '4');
    const holds = [await world.held(orgId, '3'), await world.held(orgId, '2')] as const;
    await world.updateLimit(orgId, cap('1'));
    expect(verdictOf(await world.hold(orgId, '0.000000001'))).toBe('spend_cap_exceeded');
    const free = heldOf(await world.hold(orgId, '0'));
    expect(free.remaining).toEqual([0n]);
    await world.posted(orgId, '3.5', { decisionId: holds[0].id });
    expect((await world.ledger.extend(orgId, holds[1].id, 60)).kind).toBe('changed');
    await world.ledger.void(orgId, holds[1].id);
    expect(await counterOf(orgId, 'cap')).toBe(at('7.5'));
    await world.updateLimit(orgId, cap('8'));
    expect(verdictOf(await world.hold(orgId, '0.5'))).toBe('held');
    await expectNoDrift(orgId);
  });

  test('takes effect on the next decision, in either direction', async () => {
    const orgId = await world.orgWith(cap('5'));
    await world.held(orgId, '5');
    await world.updateLimit(orgId, cap('6'));
    expect(verdictOf(await world.hold(orgId, '1'))).toBe('held');
    await world.updateLimit(orgId, cap('6', { enforcement: 'alert' }));
    expect(verdictOf(await world.hold(orgId, '1'))).toBe('held');
    await world.updateLimit(orgId, cap('6'));
    expect(verdictOf(await world.hold(orgId, '1'))).toBe('spend_cap_exceeded');
    await world.endLimit(orgId, cap('6'));
    expect(verdictOf(await world.hold(orgId, '1'))).toBe('held');
  });

  test('a change of the period of a limit and back includes the spend in between', async () => {
    const orgId = await world.orgWith(budget('bud', '10'));
    await world.posted(orgId, '1');
    await world.updateLimit(
      orgId,
      budget('bud', '10', { span: { kind: 'calendar', period: 'month', timezone: null } }),
    );
    await world.posted(orgId, '4');
    const hold = await world.held(orgId, '2');
    await world.updateLimit(orgId, budget('bud', '10'));
    expect(verdictOf(await world.hold(orgId, '3.000000001'))).toBe('budget_exceeded');
    expect(verdictOf(await world.hold(orgId, '3'))).toBe('held');
    await world.posted(orgId, '2', { decisionId: hold.id });
    await expectNoDrift(orgId);
  });

  test('a change of the time zone of the org and back includes the spend in between', async () => {
    const orgId = await world.orgWith(cap('10'));
    await world.posted(orgId, '1');
    await world.changeTimezone(orgId, 'Asia/Tokyo');
    expect(verdictOf(await world.hold(orgId, '9.000000001'))).toBe('spend_cap_exceeded');
    await world.posted(orgId, '4');
    await world.changeTimezone(orgId, 'UTC');
    expect(verdictOf(await world.hold(orgId, '5.000000001'))).toBe('spend_cap_exceeded');
    expect(verdictOf(await world.hold(orgId, '5'))).toBe('held');
    await expectNoDrift(orgId);
  });

  test('a change that adds and removes a limit for a customer includes the spend in between', async () => {
    const scope = scopeOf({ customer_id: 'a' });
    const forEach = limitOf({
      id: 'all',
      kind: 'customer',
      match: { customer_id: WILDCARD },
      capacity: usd('10'),
    });
    const own = limitOf({ id: 'own', kind: 'customer', match: { customer_id: 'a' }, capacity: usd('100') });
    const orgId = await world.orgWith(forEach);
    await world.posted(orgId, '1', { scope });
    const hold = await world.held(orgId, '1', { scope });
    await world.insertLimit(orgId, own);
    await world.posted(orgId, '5', { scope });
    await world.posted(orgId, '1', { scope, decisionId: hold.id });
    await world.held(orgId, '1', { scope });
    await world.endLimit(orgId, own);
    expect(verdictOf(await world.hold(orgId, '2.000000001', { scope }))).toBe('budget_exceeded');
    expect(verdictOf(await world.hold(orgId, '2', { scope }))).toBe('held');
    await expectNoDrift(orgId);
  });

  test('a change of limits survives a restart with open holds', async () => {
    const orgId = await world.orgWith(cap('10'));
    await world.posted(orgId, '1');
    const hold = await world.held(orgId, '2');
    await world.insertLimit(orgId, budget('bud', '5'));
    await world.held(orgId, '1');
    await world.restart();
    expect(verdictOf(await world.hold(orgId, '1.000000001'))).toBe('budget_exceeded');
    expect(verdictOf(await world.hold(orgId, '1'))).toBe('held');
    await world.posted(orgId, '3', { decisionId: hold.id });
    expect(await counterOf(orgId, 'bud')).toBe(at('4', '2'));
    await expectNoDrift(orgId);
  });
});

describe('a temporary raise of a limit', () => {
  const hourMs = 3_600_000;
  const raiseOf = (limitId: string, dollars: string, untilMs: number, value?: string) => ({
    limitId,
    amount: usd(dollars),
    untilMs,
    value,
  });
  const increaseBy = (dollars: string): HoldIncrease => ({ by: amountsOf(dollars, 0n, 0n), requestId: null });
  const denialOf = (result: HoldResult) => (result.kind === 'denied' ? result.denial.details : undefined);

  test('adds its amount from its commit until exactly its end, and needs nothing to end', async () => {
    const orgId = await world.orgWith(cap('10'), budget('b', '100'));
    await world.held(orgId, '10');
    expect(verdictOf(await world.hold(orgId, '0.01'))).toBe('spend_cap_exceeded');
    const untilMs = world.nowMs + hourMs;
    await world.raise(orgId, raiseOf('cap', '5', untilMs));
    await world.held(orgId, '4');
    const denied = await world.hold(orgId, '1.01');
    expect(denialOf(denied)).toMatchObject({ cap_usd: '15', spent_usd: '14', raised_usd: '5' });
    world.clock.setTo(untilMs - 1);
    await world.held(orgId, '0.5');
    world.clock.setTo(untilMs);
    const after = denialOf(await world.hold(orgId, '0.01'));
    expect(after).toMatchObject({ cap_usd: '10', spent_usd: '14.5' });
    expect(after).not.toHaveProperty('raised_usd');
    await expectNoDrift(orgId);
  });

  test('survives a restart, and still ends by itself', async () => {
    const orgId = await world.orgWith(cap('10'));
    const untilMs = world.nowMs + hourMs;
    await world.raise(orgId, raiseOf('cap', '5', untilMs));
    await world.restart();
    await world.held(orgId, '15');
    world.clock.setTo(untilMs);
    await world.restart();
    expect(denialOf(await world.hold(orgId, '0.01'))).toMatchObject({ cap_usd: '10', spent_usd: '15' });
    await expectNoDrift(orgId);
  });

  test('that is ended early takes effect at once, honours existing holds and leaves nothing', async () => {
    const orgId = await world.orgWith(cap('10'));
    const end = await world.raise(orgId, raiseOf('cap', '5', world.nowMs + hourMs));
    const hold = await world.held(orgId, '14');
    await end();
    expect(verdictOf(await world.hold(orgId, '0.01'))).toBe('spend_cap_exceeded');
    const [usage] = await world.ledger.reads.limitUsage(orgId, ['cap']);
    expect(usage).toMatchObject({ held: usd('14'), limit: { capacity: usd('10') } });
    const posting = { decisionId: hold.id, scope: hold.scope };
    expect((await world.posted(orgId, '14', posting)).marks).toEqual([]);
    expect(await counterOf(orgId, 'cap')).toBe(at('14'));
    await expectNoDrift(orgId);
  });

  test('is not exceeded by parallel decisions, runs and increases at its end', async () => {
    const orgId = await world.orgWith(cap('10'), budget('b', '100'));
    const untilMs = world.nowMs + hourMs;
    await world.raise(orgId, raiseOf('b', '50', untilMs));
    await world.raise(orgId, raiseOf('cap', '2', untilMs));
    await world.raise(orgId, raiseOf('cap', '3', untilMs - 1));
    const raced = () =>
      times<LedgerResult>(40, (index) =>
        index % 2 === 0 ? world.hold(orgId, '0.5') : world.post(orgId, '0.5'),
      );
    expect(verdicts(await raced())).toMatchObject({ spend_cap_exceeded: 10 });
    world.clock.setTo(untilMs - 1);
    expect(verdicts(await raced())).toEqual({ spend_cap_exceeded: 40 });
    await expectNoDrift(orgId);
  });

  test('does not admit an increase of an earlier hold after its end', async () => {
    const orgId = await world.orgWith(cap('10'));
    const untilMs = world.nowMs + 60_000;
    await world.raise(orgId, raiseOf('cap', '5', untilMs));
    const hold = await world.held(orgId, '10');
    expect(await world.ledger.increase(orgId, hold.id, increaseBy('2'))).toMatchObject({ kind: 'changed' });
    world.clock.setTo(untilMs);
    expect(await world.ledger.increase(orgId, hold.id, increaseBy('1'))).toMatchObject({
      kind: 'denied',
      denial: { details: { cap_usd: '10', spent_usd: '12' } },
    });
    await expectNoDrift(orgId);
  });

  test('raises one value of a budget of each value, and no other', async () => {
    const orgId = await world.orgWith(budget('b', '10', { match: { member_id: WILDCARD } }));
    await world.raise(orgId, raiseOf('b', '5', world.nowMs + hourMs, 'mem_ann'));
    const of = (member_id: string) => ({ scope: scopeOf({ member_id }) });
    await world.held(orgId, '15', of('mem_ann'));
    expect(verdictOf(await world.hold(orgId, '0.01', of('mem_ann')))).toBe('budget_exceeded');
    expect(verdictOf(await world.hold(orgId, '10.01', of('mem_bob')))).toBe('budget_exceeded');
    await world.held(orgId, '10', of('mem_bob'));
    const usages = await world.ledger.reads.limitUsageIn(orgId, 'b', [
      of('mem_ann').scope,
      of('mem_bob').scope,
    ]);
    expect(usages.map(({ limit }) => limit.capacity)).toEqual([usd('15'), usd('10')]);
  });

  test('counts in every window that starts before its end', async () => {
    const orgId = await world.orgWith(cap('10'));
    await world.raise(orgId, raiseOf('cap', '5', world.nowMs + 36 * hourMs));
    await world.held(orgId, '15');
    world.clock.setTo(world.nowMs + 24 * hourMs);
    await world.held(orgId, '15');
    world.clock.setTo(world.nowMs + 24 * hourMs);
    await world.held(orgId, '10');
    expect(verdictOf(await world.hold(orgId, '0.01'))).toBe('spend_cap_exceeded');
    await expectNoDrift(orgId);
  });

  test('is seen by what fits, by previews and by what remains', async () => {
    const orgId = await world.orgWith(cap('10'));
    await world.raise(orgId, raiseOf('cap', '5', world.nowMs + hourMs));
    const preview = (dollars: string) =>
      world.ledger.previewDenials(orgId, [world.requestOf(orgId, dollars, { surface: 'run' })]);
    expect(await preview('15')).toEqual([undefined]);
    expect(await preview('15.01')).toMatchObject([{ code: 'spend_cap_exceeded' }]);
    expect(heldOf(await world.hold(orgId, '4')).remaining).toContain(usd('11'));
  });

  test('ends with its limit', async () => {
    const limit = cap('10');
    const orgId = await world.orgWith(limit);
    await world.raise(orgId, raiseOf('cap', '5', world.nowMs + hourMs));
    await world.endLimit(orgId, limit);
    expect(
      await world.db.query('SELECT ended_at FROM limit_raises WHERE org_id = $1', [orgId]),
    ).toMatchObject([{ ended_at: new Date(world.nowMs) }]);
  });
});

describe('credits', () => {
  const customer = scopeOf({ customer_id: 'c' });

  test('credits of parallel runs are burned once', async () => {
    const orgId = await world.orgWith(
      pack('one', '3', { expiresAtMs: world.nowMs + 60_000 }),
      pack('two', '4'),
    );
    const results = await times(50, (index) =>
      world.post(orgId, '1', { scope: customer, kind: index % 2 === 0 ? 'charge' : 'open' }),
    );
    expect(verdicts(results)).toEqual({ done: 7, credits_exhausted: 43 });
    await expectNoDrift(orgId);
  });

  test('credits that were held pay after their pack expired; the rest comes from other packs or is uncovered', async () => {
    const soon = pack('soon', '3', { expiresAtMs: world.nowMs + 30_000 });
    const orgId = await world.orgWith(soon);
    const opened = await world.posted(orgId, '2', { scope: customer, kind: 'open' });
    expect(opened.hold?.packs).toEqual([{ key: 'soon@0', amount: usd('2') }]);
    await world.insertLimit(orgId, pack('late', '1'));
    world.clock.advanceSeconds(31);
    const done = await world.posted(orgId, '6', {
      scope: customer,
      kind: 'complete',
      runId: opened.posting.runId,
      decisionId: opened.hold?.id ?? '',
    });
    // The pack was live at the time of the charge.
    expect(done.charged).toMatchObject({
      burned: [
        { key: 'soon@0', amount: usd('3') },
        { key: 'late@0', amount: usd('1') },
      ],
      uncovered: usd('2'),
    });
    expect((await entriesOf(orgId)).map(({ uncovered_nanos }) => uncovered_nanos)).toEqual([usd('2')]);
    await expectNoDrift(orgId);
  });

  test('credits of an overdue hold stay held until it has ended, and can then be burned', async () => {
    const orgId = await world.orgWith(pack('soon', '4', { expiresAtMs: world.nowMs + 86_400_000 }));
    await world.insertLimit(orgId, pack('later', '5'));
    await world.held(orgId, '2', { surface: 'run', scope: customer, holdSeconds: 60 });
    world.clock.advanceSeconds(61);
    const settle = async () => {
      const hold = await world.held(orgId, '1', { surface: 'run', scope: customer });
      const { charged } = await world.posted(orgId, '2.5', { scope: customer, decisionId: hold.id });
      return charged?.burned.map(({ key, amount }) => `${key} ${amount}`);
    };
    expect(await settle()).toEqual([`soon@0 ${usd('2')}`, `later@0 ${usd('0.5')}`]);
    await world.expireAll();
    expect(await settle()).toEqual([`soon@0 ${usd('2')}`, `later@0 ${usd('0.5')}`]);
    await expectNoDrift(orgId);
  });

  test('follow corrections up and down', async () => {
    const orgId = await world.orgWith(cap('100'), pack('one', '3'), pack('two', '4', { createdAtMs: 5 }));
    const hold = await world.held(orgId, '1', { scope: customer });
    const posted = await world.posted(orgId, '9', { scope: customer, decisionId: hold.id });
    expect(posted.charged).toMatchObject({ uncovered: usd('2') });
    const adjust = async (delta: string) => {
      world.clock.advanceSeconds(1);
      const { charged } = await world.posted(orgId, delta, {
        kind: 'adjust',
        runId: posted.posting.runId,
        scope: customer,
        amounts: amountsOf(delta, 0n, 0n),
        atMs: posted.chargedAtMs,
      });
      await expectNoDrift(orgId);
      return [charged?.burned.map(({ key, amount }) => `${key} ${amount}`), charged?.uncovered];
    };
    expect(await adjust('1')).toEqual([[], usd('1')]);
    expect(await adjust('-4')).toEqual([[`two@0 ${usd('-1')}`], usd('-3')]);
    expect(await adjust('-5')).toEqual([[`one@0 ${usd('-2')}`, `two@0 ${usd('-3')}`], 0n]);
    expect(await adjust('2.5')).toEqual([[`one@0 ${usd('2')}`, `two@0 ${usd('0.5')}`], 0n]);
    expect(await adjust('-3.5')).toEqual([[`one@0 ${usd('-3')}`, `two@0 ${usd('-0.5')}`], 0n]);
    expect(await counterOf(orgId, 'cap')).toBe(at('0'));
  });

  test('credits and the prepaid balance are returned once by concurrent corrections of one run', async () => {
    const orgId = await world.orgWith(pack('one', '3'));
    const hold = await world.held(orgId, '1', { scope: customer });
    const { posting, chargedAtMs } = await world.posted(orgId, '5', {
      scope: customer,
      decisionId: hold.id,
    });
    await world.insertLimit(
      orgId,
      limitOf({ id: 'balance', kind: 'prepaid', capacity: usd('100'), span: lifetime }),
    );
    const adjust = (delta: string) =>
      world.posted(orgId, delta, {
        kind: 'adjust',
        runId: posting.runId,
        scope: customer,
        amounts: amountsOf(delta, 0n, 0n),
        atMs: chargedAtMs,
      });
    expect((await adjust('1')).charged).toMatchObject({ uncovered: usd('1'), prepaid: usd('1') });
    const back = await times(6, () => adjust('-1'));
    expect(back.reduce((sum, { charged }) => sum + (charged?.uncovered ?? 0n), 0n)).toBe(usd('-3'));
    expect(await counterOf(orgId, 'one')).toBe(at('0'));
    expect(await counterOf(orgId, 'balance')).toBe(at('0'));
    await expectNoDrift(orgId);
  });
});

describe('a posting', () => {
  test('a posting with an unknown decision is rejected', async () => {
    const orgId = await world.orgWith(cap('10'));
    expect(await world.post(orgId, '1', { decisionId: 'dec_unknown' })).toEqual({
      kind: 'unknown_decision',
      index: 0,
    });
    expect(verdictOf(await world.post(orgId, '1', { kind: 'adopt', decisionId: 'dec_unknown' }))).toBe(
      'unknown_decision',
    );
    expect(await entriesOf(orgId)).toEqual([]);
  });

  test('a posting of a run whose hold is unknown is accepted as late', async () => {
    const orgId = await world.orgWith(cap('10'));
    const posted = await world.posted(orgId, '1', {
      kind: 'complete',
      decisionId: 'dec_forgotten',
      atMs: world.nowMs - 1_000,
    });
    expect(posted).toMatchObject({ marks: ['late'], chargedAtMs: world.nowMs - 1_000 });
    await expectNoDrift(orgId);
  });

  test('a posting counts as the model of its hold, whatever name the provider reports', async () => {
    const orgId = await world.orgWith(cap('10'));
    const hold = await world.held(orgId, '2', { scope: scopeOf({}) });
    const posted = await world.posted(orgId, '1', {
      scope: scopeOf({ model: 'n' }),
      decisionId: hold.id,
    });
    expect(posted.scope).toEqual(hold.scope);
    await expectNoDrift(orgId);
  });

  test('posts the held amount if the cost is unknown, in time, late, and without any hold', async () => {
    const orgId = await world.orgWith(cap('10'));
    const costAsHeld = 'unpriced' as const;
    const [first, second] = [await world.held(orgId, '2'), await world.held(orgId, '3')];
    const inTime = await world.posted(orgId, '0', { costAsHeld, decisionId: first.id });
    expect(inTime).toMatchObject({ marks: ['unpriced'], posting: { amounts: { usd: usd('2') } } });
    await world.ledger.void(orgId, second.id);
    const late = await world.posted(orgId, '0', { costAsHeld, decisionId: second.id });
    expect(late).toMatchObject({ marks: ['unpriced', 'late'], posting: { amounts: { usd: usd('3') } } });
    const without = await world.posted(orgId, '0', {
      kind: 'complete',
      costAsHeld,
      decisionId: 'dec_forgotten',
    });
    expect(without).toMatchObject({ marks: ['unpriced', 'late'], posting: { amounts: { usd: 0n } } });
    expect(await counterOf(orgId, 'cap')).toBe(at('5', '0'));
    await expectNoDrift(orgId);
  });

  test('posts the least that an unknown cost can be if it is more than the held amount', async () => {
    const orgId = await world.orgWith(cap('10'));
    const hold = await world.held(orgId, '2');
    const posted = await world.posted(orgId, '3', { costAsHeld: 'unpriced', decisionId: hold.id });
    expect(posted).toMatchObject({
      marks: ['unpriced', 'over_hold'],
      posting: { amounts: { usd: usd('3') } },
    });
    expect(await counterOf(orgId, 'cap')).toBe(at('3', '0'));
    await expectNoDrift(orgId);
  });

  test('marks postings of models without a price at their own cost, whatever their kind', async () => {
    const orgId = await world.orgWith(cap('10'));
    const isUnpriced = true;
    const [first, second] = [await world.held(orgId, '1'), await world.held(orgId, '1')];
    await world.ledger.void(orgId, second.id);
    const posted = [
      await world.posted(orgId, '1', { isUnpriced }),
      await world.posted(orgId, '1', { isUnpriced, kind: 'record', atMs: world.nowMs }),
      await world.posted(orgId, '2', { isUnpriced, decisionId: first.id }),
      await world.posted(orgId, '1', { isUnpriced, decisionId: second.id }),
      await world.posted(orgId, '0', { isUnpriced }),
      await world.posted(orgId, '1', { isUnpriced: false }),
    ];
    expect(posted.map(({ marks }) => marks)).toEqual([
      ['unpriced'],
      ['backfill', 'unpriced'],
      ['unpriced', 'over_hold'],
      ['unpriced', 'late'],
      ['unpriced'],
      [],
    ]);
    expect(await counterOf(orgId, 'cap')).toBe(at('6', '0'));
    await expectNoDrift(orgId);
  });

  test.each<[string, Partial<Posting['scope']>, Partial<Posting['scope']>, string | undefined]>([
    ['a workflow where none was', {}, { workflow: 'w' }, 'workflow'],
    ['another customer', { customer_id: 'a' }, { customer_id: 'b' }, 'customer_id'],
    ['another team', { team: 'a' }, { team: 'b' }, 'team'],
    ['another member', { member_id: 'a' }, { member_id: 'b' }, 'member_id'],
    ['another chain', { chain_id: 'a' }, { chain_id: 'b' }, 'chain_id'],
    ['less than the decision', { workflow: 'w', customer_id: 'a' }, {}, undefined],
    ['a team where none was', {}, { team: 'b' }, undefined],
    ['a chain where none was', {}, { chain_id: 'b' }, undefined],
    ['a member and tags where none were', {}, { member_id: 'b', tags: { env: 'prod' } }, undefined],
  ])('a posting that settles a hold with %s', async (_, held, posted, field) => {
    const orgId = await world.orgWith(cap('10'));
    const settle = async (holdId: string) =>
      world.post(orgId, '1', { scope: scopeOf(posted), decisionId: holdId });
    const hold = await world.held(orgId, '2', { scope: scopeOf(held) });
    const result = await settle(hold.id);
    const ended = await world.held(orgId, '2', { scope: scopeOf(held) });
    await world.ledger.void(orgId, ended.id);
    const late = await settle(ended.id);
    if (field === undefined) {
      const both = { ...scopeOf(held), ...posted };
      expect(postedOf(result).scope).toEqual(both);
      expect(postedOf(late).scope).toEqual(both);
    } else {
      expect([result, late]).toEqual([
        { kind: 'contradiction', index: 0, field },
        { kind: 'contradiction', index: 0, field },
      ]);
      expect(await world.ledger.reads.findHold(orgId, hold.id)).toBeDefined();
      expect(await counterOf(orgId, 'cap')).toBe(at('0', '2'));
    }
    await expectNoDrift(orgId);
  });

  test('a posting of a bulk group is applied with all others or not at all', async () => {
    const orgId = await world.orgWith(cap('10'));
    const hold = await world.held(orgId, '4');
    const group = (...costs: string[]) => [
      world.postingOf('5', { decisionId: hold.id }),
      ...costs.map((cost) => world.postingOf(cost, { externalId: `x${cost}` })),
    ];
    const refused = await world.ledger.post({ orgId, postings: group('2', '3', '1') });
    expect(refused).toMatchObject({ kind: 'denied', index: 3, denial: { code: 'spend_cap_exceeded' } });
    expect(await counterOf(orgId, 'cap')).toBe(at('0', '4'));
    expect(await world.ledger.reads.findHold(orgId, hold.id)).toBeDefined();
    expect(await entriesOf(orgId)).toEqual([]);
    const done = await world.ledger.post({ orgId, postings: group('2', '3') });
    expect(done.kind).toBe('done');
    expect(await counterOf(orgId, 'cap')).toBe(at('10'));
    await expectNoDrift(orgId);
  });

  test('a posting of a rejected bulk group does not affect concurrent groups', async () => {
    const orgId = await world.orgWith(cap('10'));
    const hold = await world.held(orgId, '2');
    const results = await Promise.all([
      world.ledger.post({
        orgId,
        postings: [
          world.postingOf('3', { externalId: 'x' }),
          world.postingOf('2', { decisionId: hold.id }),
          world.postingOf('20'),
        ],
      }),
      world.post(orgId, '8', { externalId: 'x' }),
      world.post(orgId, '1', { decisionId: hold.id }),
    ]);
    expect(results.map(({ kind }) => kind)).toEqual(['denied', 'done', 'done']);
    expect(await counterOf(orgId, 'cap')).toBe(at('9'));
    await expectNoDrift(orgId);
  });

  test('a posting with the external id of an existing run returns that run', async () => {
    const orgId = await world.orgWith(cap('10'));
    const first = await world.posted(orgId, '1', { externalId: 'x' });
    const again = await world.post(orgId, '5', { externalId: 'x' });
    expect(again).toMatchObject({
      kind: 'done',
      outcomes: [{ kind: 'existing', runId: first.posting.runId }],
    });
    const opened = await world.posted(orgId, '1', { kind: 'open', externalId: 'y' });
    expect(await world.post(orgId, '1', { kind: 'open', externalId: 'y' })).toMatchObject({
      outcomes: [{ kind: 'existing', runId: opened.posting.runId }],
    });
    expect(await counterOf(orgId, 'cap')).toBe(at('1', '1'));
    // The same id in another org is a different run.
    const otherOrg = await world.orgWith();
    await world.posted(otherOrg, '1', { externalId: 'x' });
  });

  test('a posting with an existing external id and different content is rejected, also in the same group and after a restart', async () => {
    const orgId = await world.orgWith(cap('10'));
    const x = (contentDigest: string | null, cost = '1') =>
      world.postingOf(cost, { externalId: 'x', contentDigest });
    const post = (...postings: Posting[]) => world.ledger.post({ orgId, postings });
    expect(await post(world.postingOf('1'), x('a'), x('b'))).toEqual({
      kind: 'external_id_conflict',
      index: 2,
    });
    // Nothing of that group was posted.
    const first = postedOf(await post(x('c')));
    const known = { kind: 'done', outcomes: [{ kind: 'existing', runId: first.posting.runId }] };
    for (const restart of [async () => undefined, () => world.restart()]) {
      await restart();
      expect(await post(x('c', '5'))).toMatchObject(known);
      expect(await post(x('b'))).toEqual({ kind: 'external_id_conflict', index: 0 });
      // Without a digest on both sides there is nothing to compare.
      expect(await post(x(null))).toMatchObject(known);
    }
    await world.db.query('UPDATE run_identities SET content_digest = NULL WHERE org_id = $1', [orgId]);
    expect(await post(x('b'))).toMatchObject(known);
    expect(await counterOf(orgId, 'cap')).toBeOneOf([undefined, at('1')]);
    await expectNoDrift(orgId);
  });

  test('a posting with an external id that occurs twice in a group creates one run', async () => {
    const orgId = await world.orgWith(cap('10'));
    const postings = ['1', '1'].map((cost) => world.postingOf(cost, { externalId: 'x' }));
    expect(await world.ledger.post({ orgId, postings })).toMatchObject({
      kind: 'done',
      outcomes: [{ kind: 'posted' }, { kind: 'existing', runId: postings[0]?.runId }],
    });
    expect(await counterOf(orgId, 'cap')).toBe(at('1'));
  });

  test('a posting with an external id in many concurrent requests creates one run', async () => {
    const orgId = await world.orgWith(cap('10'));
    const results: GroupResult[] = [];
    const ask = async () => {
      results.push(await world.post(orgId, '1', { externalId: 'x' }));
    };
    const first = times(10, ask);
    // Waits until the first batch is in its transaction.
    await new Promise(setImmediate);
    await new Promise(setImmediate);
    await Promise.all([first, times(10, ask)]);
    const outcomes = results.flatMap((result) => (result.kind === 'done' ? result.outcomes : []));
    expect(outcomes).toHaveLength(20);
    expect(outcomes.filter(({ kind }) => kind === 'posted')).toHaveLength(1);
    expect(await counterOf(orgId, 'cap')).toBe(at('1'));
    expect(await entriesOf(orgId)).toHaveLength(1);
  });

  test('a posting whose `storeResponse` throws does not fail the others', async () => {
    const orgId = await world.orgWith(cap('10', { thresholds: [20] }));
    const hold = await world.held(orgId, '2');
    const stored: string[] = [];
    const storeAs = (name: string) => async () => {
      stored.push(name);
    };
    const results = await Promise.allSettled([
      world.ledger.post({ orgId, postings: [world.postingOf('1')], storeResponse: storeAs('first') }),
      world.ledger.post({
        orgId,
        postings: [
          world.postingOf('5', { decisionId: hold.id, externalId: 'x' }),
          world.postingOf('1', { kind: 'open' }),
        ],
        storeResponse: async () => {
          throw new Error('the key was taken over');
        },
      }),
      world.ledger.post({ orgId, postings: [world.postingOf('1')], storeResponse: storeAs('last') }),
    ]);
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect((results[1] as PromiseRejectedResult).reason).toMatchObject({ message: 'the key was taken over' });
    expect(stored).toEqual(expect.arrayContaining(['first', 'last']));
    expect(await counterOf(orgId, 'cap')).toBe(at('2', '2'));
    expect(await world.ledger.reads.holds(orgId, { limit: 10, after: undefined })).toHaveLength(1);
    expect(await alertsOf(orgId)).toEqual([20]);
    // The posting can be retried as if nothing had happened.
    await world.posted(orgId, '5', { decisionId: hold.id, externalId: 'x' });
    await expectNoDrift(orgId);
  });

  test('stores its response in its own transaction, also if nothing new was posted', async () => {
    const orgId = await world.orgWith();
    const seen: unknown[] = [];
    const group = () => ({
      orgId,
      postings: [world.postingOf('1', { externalId: 'x' })],
      storeResponse: async (tx: { query: typeof world.db.query }, outcomes: readonly { kind: string }[]) => {
        const [row] = await tx.query<{ count: bigint }>(
          'SELECT count(*) AS count FROM ledger_entries WHERE org_id = $1',
          [orgId],
        );
        seen.push([row?.count, ...outcomes.map(({ kind }) => kind)]);
      },
    });
    await world.ledger.post(group());
    await world.ledger.post(group());
    expect(seen).toEqual([
      [1n, 'posted'],
      [1n, 'existing'],
    ]);
  });
});

async function alertsOf(orgId: string): Promise<number[]> {
  const rows = await world.db.query<{ threshold: number }>(
    'SELECT threshold FROM limit_alerts WHERE org_id = $1 ORDER BY threshold',
    [orgId],
  );
  const [events] = await world.db.query<{ count: bigint }>(
    `SELECT count(*) AS count FROM outbox WHERE tenant_id = $1 AND type = 'limit.threshold_reached'`,
    [orgId],
  );
  expect(events?.count).toBe(BigInt(rows.length));
  return rows.map(({ threshold }) => threshold);
}

describe('thresholds', () => {
  test('emit one event each, also with concurrent postings and after a restart', async () => {
    const orgId = await world.orgWith(cap('100', { thresholds: [50, 80, 100] }));
    await times(49, () => world.post(orgId, '1'));
    expect(await alertsOf(orgId)).toEqual([]);
    await world.held(orgId, '40');
    expect(await alertsOf(orgId)).toEqual([]);
    await times(5, () => world.post(orgId, '1'));
    expect(await alertsOf(orgId)).toEqual([50]);
    await world.reopen();
    await times(6, () => world.post(orgId, '1'));
    expect(await alertsOf(orgId)).toEqual([50]);
    await world.posted(orgId, '30', { kind: 'record' });
    expect(await alertsOf(orgId)).toEqual([50, 80]);
    await world.posted(orgId, '100', { kind: 'record' });
    expect(await alertsOf(orgId)).toEqual([50, 80, 100]);
    world.clock.advanceSeconds(86_400);
    await times(60, () => world.post(orgId, '1'));
    expect(await alertsOf(orgId)).toEqual([50, 50, 80, 100]);
  });

  test('thresholds of a prepaid balance emit their events again after a top-up, also after a restart', async () => {
    const balance = (dollars: string) =>
      limitOf({
        id: 'ppd',
        kind: 'prepaid',
        capacity: usd(dollars),
        span: lifetime,
        thresholds: [50, 80, 100],
      });
    const orgId = await world.orgWith(balance('10'));
    await world.posted(orgId, '10');
    expect(await alertsOf(orgId)).toEqual([50, 80, 100]);
    await world.updateLimit(orgId, balance('40'));
    await world.posted(orgId, '1');
    expect(await alertsOf(orgId)).toEqual([50, 80, 100]);
    await world.posted(orgId, '9');
    expect(await alertsOf(orgId)).toEqual([50, 50, 80, 100]);
    await world.reopen();
    await world.posted(orgId, '1');
    expect(await alertsOf(orgId)).toEqual([50, 50, 80, 100]);
    await world.posted(orgId, '11');
    expect(await alertsOf(orgId)).toEqual([50, 50, 80, 80, 100]);
    // A capacity that the limit had before does not emit its events again.
    await world.updateLimit(orgId, balance('100'));
    await world.updateLimit(orgId, balance('40'));
    await world.posted(orgId, '1');
    expect(await alertsOf(orgId)).toEqual([50, 50, 80, 80, 100]);
    await world.updateLimit(orgId, balance('50'));
    await world.reopen();
    await world.posted(orgId, '1');
    expect(await alertsOf(orgId)).toEqual([50, 50, 50, 80, 80, 100]);
  });
});

describe('the maximum number of open holds', () => {
  const refusals = (results: readonly PromiseSettledResult<unknown>[]) =>
    results.flatMap((one) => (one.status === 'rejected' ? [(one.reason as Error).name] : []));

  test('makes further decisions fail as unavailable instead of allowing them', async () => {
    const small = await LedgerWorld.open({ holdsMax: 3 });
    const orgId = await small.orgWith(cap('10'));
    const results = await Promise.allSettled(Array.from({ length: 5 }, () => small.hold(orgId, '1')));
    expect(refusals(results)).toEqual(['OverCapacity', 'OverCapacity']);
    const [hold] = await small.ledger.reads.holds(orgId, { limit: 1, after: undefined });
    await small.ledger.void(orgId, hold?.id ?? '');
    expect(verdictOf(await small.hold(orgId, '1'))).toBe('held');
    expect(await small.audit(orgId)).toEqual([]);
    await small.close();
  });

  test('the maximum number of open holds applies to runs in progress as well, and not to finished ones', async () => {
    const small = await LedgerWorld.open({ holdsMax: 3 });
    const orgId = await small.orgWith(cap('10'));
    const open = (runs: number) =>
      small.ledger.post({
        orgId,
        postings: Array.from({ length: runs }, () => small.postingOf('1', { kind: 'open' })),
      });
    const results = await Promise.allSettled([open(2), open(2)]);
    expect(refusals(results)).toEqual(['OverCapacity']);
    expect(verdictOf(await small.hold(orgId, '1'))).toBe('held');
    await expect(open(1)).rejects.toMatchObject({ name: 'OverCapacity' });
    await small.posted(orgId, '1');
    const [hold] = await small.ledger.reads.holds(orgId, { limit: 1, after: undefined });
    await small.ledger.void(orgId, hold?.id ?? '');
    // On PostgreSQL the holds of an org without room are counted once a second.
    await eventually(async () => expect(verdictOf(await open(1))).toBe('done'));
    expect(await small.audit(orgId)).toEqual([]);
    await small.close();
  });

  test('an org that takes all it can leaves room for the others, also after a restart', async () => {
    const small = await LedgerWorld.open({ holdsMax: 50 });
    const noisy = await small.orgWith(cap('1000'));
    const quiet = await small.orgWith(cap('1000'));
    const take = (orgId: string, count: number) =>
      Promise.allSettled(Array.from({ length: count }, () => small.hold(orgId, '1')));
    expect(refusals(await take(noisy, 60)).length).toBeGreaterThanOrEqual(10);
    expect(refusals(await take(quiet, 1))).toEqual([]);
    await small.restart();
    expect(refusals(await take(noisy, 1))).toEqual(['OverCapacity']);
    const [hold] = await small.ledger.reads.holds(quiet, { limit: 1, after: undefined });
    await small.ledger.void(quiet, hold?.id ?? '');
    expect(refusals(await take(quiet, 1))).toEqual([]);
    await small.close();
  });
});

describe.runIf(engine === 'postgres')('two processes on one database', () => {
  test.each([1, 7, 150])('allow exactly %d of 200', async (fits) => {
    const orgId = await world.orgWith(cap(String(fits)));
    const db = await openPlace(world.place);
    const other = await openLedgerOn(db, world.place, world.clock, world.ids);
    const results = await times(200, (index) =>
      (index % 2 === 0 ? world.ledger : other).hold(world.requestOf(orgId, '1')),
    );
    expect(verdicts(results)).toEqual({ held: fits, spend_cap_exceeded: 200 - fits });
    await expectNoDrift(orgId);
    // One process can settle the holds of the other, and sees its changes immediately.
    const hold = heldOf(results.find(({ kind }) => kind === 'held') as HoldResult).hold;
    const settles = await Promise.all(
      [world.ledger, other].map((ledger) =>
        ledger.post({ orgId, postings: [world.postingOf('0.5', { decisionId: hold.id })] }),
      ),
    );
    expect(verdicts(settles)).toEqual({ done: 1, settled_already: 1 });
    await world.updateLimit(orgId, cap('0'));
    expect(verdictOf(await other.hold(world.requestOf(orgId, '0.5')))).toBe('spend_cap_exceeded');
    await eventually(() => expect(db.notificationsHealthy()).toBe(true));
    await expectNoDrift(orgId);
    await other.close();
    await db.close();
  });

  test('hold up to what fits and increase holds together, within the cap', async () => {
    const orgId = await world.orgWith(cap('20'));
    const db = await openPlace(world.place);
    const other = await openLedgerOn(db, world.place, world.clock, world.ids);
    const ledgerOf = (index: number) => (index % 2 === 0 ? world.ledger : other);
    const fit = unitsOf(7n, 40n);
    const request = world.requestOf(orgId, '0', { amounts: fit.amountsOf(40n), fit });
    const first = await world.held(orgId, '1');
    const results = await times<HoldResult | IncreaseResult>(200, (index) =>
      index % 5 === 0
        ? ledgerOf(index).increase(orgId, first.id, { by: amountsOf('0.03', 0n, 0n), requestId: null })
        : ledgerOf(index).hold(request),
    );
    const holds = await world.ledger.reads.holds(orgId, { limit: 1_000, after: undefined });
    const total = holds.reduce((sum, { amounts }) => sum + amounts.usd, 0n);
    expect(total).toBeLessThanOrEqual(usd('20'));
    expect(total).toBeGreaterThan(usd('20') - 7n * usd('0.01'));
    const increased = results.filter(({ kind }) => kind === 'changed').length;
    const raised = holds.find(({ id }) => id === first.id);
    expect(raised?.amounts.usd).toBe(usd('1') + BigInt(increased) * usd('0.03'));
    await expectNoDrift(orgId);
    await other.close();
    await db.close();
  });

  test('create one run per external id, and end each hold once', async () => {
    const orgId = await world.orgWith(cap('1000'));
    const db = await openPlace(world.place);
    const other = await openLedgerOn(db, world.place, world.clock, world.ids);
    const postings = await times(40, (index) =>
      (index % 2 === 0 ? world.ledger : other).post({
        orgId,
        postings: [world.postingOf('1', { externalId: `x${index % 5}` })],
      }),
    );
    const outcomes = postings.flatMap((result) => (result.kind === 'done' ? result.outcomes : []));
    expect(outcomes.filter(({ kind }) => kind === 'posted')).toHaveLength(5);
    const holds = await times(30, () => world.held(orgId, '1', { holdSeconds: 60 }));
    world.clock.advanceSeconds(61);
    const ended = await Promise.all([
      world.ledger.expiry.expireDue(),
      other.expiry.expireDue(),
      ...holds.map((hold, index) =>
        (index % 2 === 0 ? world.ledger : other).post({
          orgId,
          postings: [world.postingOf('1', { decisionId: hold.id })],
        }),
      ),
      ...holds.map(({ id }) => other.void(orgId, id)),
    ]);
    expect(ended.filter((one) => typeof one === 'object' && one.kind === 'done')).toHaveLength(30);
    expect(await counterOf(orgId, 'cap')).toBe(at('35'));
    await expectNoDrift(orgId);
    await other.close();
    await db.close();
  });
});
