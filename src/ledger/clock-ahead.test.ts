/** A clock that is ahead for a moment and right again. The time of the ledger stays ahead, because it never runs backwards. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { limitOf, usd } from '../../test/support/ledger-values.ts';
import { LedgerWorld, verdictOf } from '../../test/support/ledger-world.ts';
import { engine } from '../../test/support/test-database.ts';
import type { MoveRuns } from './holds/readmit-hold.ts';
import { readLedgerTimes, resetLedgerClock } from './ledger-clock.ts';

const daySeconds = 86_400;
const cap = (dollars: string) => limitOf({ id: 'cap', kind: 'spend_cap', capacity: usd(dollars) });

let world: LedgerWorld;
let elapsedMs = 0;

beforeAll(async () => {
  world = await LedgerWorld.open({ monotonicMs: () => elapsedMs });
});
afterAll(() => world.close());
afterEach(() => resetClock());

/** Expiries on PostgreSQL search for such holds every few seconds; every hold of a test lives longer. */
function elapse(seconds: number): Promise<void> {
  elapsedMs += seconds * 1_000;
  return world.expireAll();
}

/** Does something while the clock is a day ahead. */
async function aDayAhead<Result>(work: () => Promise<Result>): Promise<Result> {
  world.clock.advanceSeconds(daySeconds);
  const result = await work();
  world.clock.advanceSeconds(-daySeconds);
  return result;
}

async function openHoldIds(orgId: string): Promise<string[]> {
  return (await world.ledger.reads.holds(orgId, { limit: 100, after: undefined })).map(({ id }) => id);
}

/** The postings of these tests have no runs in progress. */
const moveNoRuns: MoveRuns = async () => undefined;

/** As `purser ledger reset-clock` does it: on the embedded engine while no service runs. */
async function resetClock(moveRuns = moveNoRuns) {
  let reset = { orgs: 0, holds: 0 };
  await world.reopen(async () => {
    reset = await resetLedgerClock(world.db, world.place.dataDir, world.clock, moveRuns);
  });
  return reset;
}

async function settledOn(orgId: string, dayMs: number): Promise<string | undefined> {
  return (await world.counters(orgId))[`cap@${dayMs}`];
}
const dayOf = (ms: number) => ms - (ms % (daySeconds * 1_000));

describe('a hold that was admitted ahead of the clock', () => {
  test('expires when its lifetime has elapsed', async () => {
    const orgId = await world.orgWith(cap('10'));
    const during = await aDayAhead(() => world.held(orgId, '1', { holdSeconds: 20 }));
    const after = await world.held(orgId, '1', { holdSeconds: 60 });
    await elapse(6);
    await elapse(19);
    expect(await openHoldIds(orgId)).toEqual([during.id, after.id].sort());
    await elapse(1);
    expect(await openHoldIds(orgId)).toEqual([after.id]);
    await elapse(40);
    expect(await openHoldIds(orgId)).toEqual([]);
    expect(await world.audit(orgId)).toEqual([]);
  });

  test('lives at least as long as it is extended', async () => {
    const orgId = await world.orgWith(cap('10'));
    const hold = await aDayAhead(() => world.held(orgId, '1', { holdSeconds: 60 }));
    await elapse(6);
    await elapse(50);
    await world.ledger.extend(orgId, hold.id, 60);
    await elapse(59);
    expect(await openHoldIds(orgId)).toEqual([hold.id]);
    await elapse(60);
    expect(await openHoldIds(orgId)).toEqual([]);
  });

  test('expires when its lifetime has elapsed after a restart', async () => {
    const orgId = await world.orgWith(cap('10'));
    await aDayAhead(() => world.held(orgId, '1', { holdSeconds: 20 }));
    await world.reopen();
    await elapse(6);
    await elapse(20);
    expect(await openHoldIds(orgId)).toEqual([]);
  });

  test('a hold that was admitted ahead of the clock is posted when its lifetime has elapsed, if its org wants unsettled holds posted', async () => {
    const orgId = await world.orgWith(cap('10'));
    await world.setOnUnsettled(orgId, 'post_held');
    await aDayAhead(() => world.held(orgId, '1', { holdSeconds: 20 }));
    await elapse(6);
    await elapse(20);
    expect(await openHoldIds(orgId)).toEqual([]);
    expect(await world.db.query('SELECT usd_nanos FROM ledger_entries WHERE org_id = $1', [orgId])).toEqual([
      { usd_nanos: usd('1') },
    ]);
  });
});

test('a hold that was admitted before the clock was ahead expires by the clock', async () => {
  const orgId = await world.orgWith(cap('10'));
  const hold = await world.held(orgId, '1', { holdSeconds: 600 });
  await aDayAhead(() => world.posted(orgId, '1'));
  world.clock.advanceSeconds(599);
  await elapse(599);
  expect(await openHoldIds(orgId)).toEqual([hold.id]);
  await world.ledger.extend(orgId, hold.id, 60);
  world.clock.advanceSeconds(59);
  await elapse(59);
  expect(await openHoldIds(orgId)).toEqual([hold.id]);
  world.clock.advanceSeconds(1);
  await elapse(1);
  expect(await openHoldIds(orgId)).toEqual([]);
});

test('the ledger reports how far it is ahead of the clock', async () => {
  const orgId = await world.orgWith(cap('10'));
  await world.posted(orgId, '1');
  expect(await world.ledger.maintenance.clockAheadMs()).toBe(0);
  await aDayAhead(() => world.posted(orgId, '1'));
  expect(await world.ledger.maintenance.clockAheadMs()).toBe(daySeconds * 1_000);
  world.clock.advanceSeconds(3_600);
  expect(await world.ledger.maintenance.clockAheadMs()).toBe((daySeconds - 3_600) * 1_000);
});

describe('a reset of the time of the ledger', () => {
  test('keeps every posting and hold, and counts holds and new postings today', async () => {
    const orgId = await world.orgWith(cap('10'));
    const [today, tomorrow] = [dayOf(world.nowMs), dayOf(world.nowMs) + daySeconds * 1_000];
    await world.posted(orgId, '1');
    const hold = await aDayAhead(async () => {
      await world.posted(orgId, '2');
      return world.held(orgId, '3', { holdSeconds: 600 });
    });
    await world.posted(orgId, '4');
    expect(await settledOn(orgId, tomorrow)).toBe(`${usd('6')}+${usd('3')}`);

    expect(await resetClock()).toEqual({ orgs: 1, holds: 1 });
    expect(await world.ledger.maintenance.clockAheadMs()).toBe(0);
    expect(await world.ledger.reads.findHold(orgId, hold.id)).toMatchObject({
      admittedAtMs: world.nowMs,
      expiresAtMs: world.nowMs + 600_000,
    });
    await world.posted(orgId, '5');
    // One of before and five now; three are held. The six of tomorrow stay there.
    expect(await settledOn(orgId, today)).toBe(`${usd('6')}+${usd('3')}`);
    expect(verdictOf(await world.hold(orgId, '1.000000001'))).toBe('spend_cap_exceeded');
    await world.posted(orgId, '3', { decisionId: hold.id });
    expect(await settledOn(orgId, today)).toBe(`${usd('9')}+0`);
    expect(await world.audit(orgId)).toEqual([]);
    expect(await resetClock()).toEqual({ orgs: 0, holds: 0 });

    // When tomorrow comes, its window has what was posted in it before.
    world.clock.advanceSeconds(daySeconds);
    expect(verdictOf(await world.post(orgId, '4.000000001'))).toBe('spend_cap_exceeded');
    await world.posted(orgId, '4');
    expect(await settledOn(orgId, tomorrow)).toBe(`${usd('10')}+0`);
    expect(await world.audit(orgId)).toEqual([]);
  });

  test('a reset of the time of the ledger survives a restart', async () => {
    const orgId = await world.orgWith(cap('10'));
    await aDayAhead(async () => {
      await world.posted(orgId, '1');
      await world.held(orgId, '1');
    });
    await resetClock();
    await world.restart();
    expect((await world.held(orgId, '1')).admittedAtMs).toBe(world.nowMs);
    expect(await world.audit(orgId)).toEqual([]);
  });

  test('a reset of the time of the ledger that was interrupted before it moved runs moves them when it is repeated', async () => {
    const orgId = await world.orgWith(cap('10'));
    const hold = await aDayAhead(() => world.held(orgId, '1'));
    let interrupted: unknown;
    await resetClock(async () => {
      throw new Error('interrupted');
    }).catch((error) => {
      interrupted = error;
    });
    expect(interrupted).toEqual(new Error('interrupted'));
    await world.restart();
    const moved: string[] = [];
    await resetClock(async (_tx, ofOrg, holds, after) => {
      const times = holds.map(({ id, admittedAtMs }) => `${ofOrg} ${id} ${admittedAtMs - after.getTime()}`);
      moved.push(...times);
    });
    expect(moved).toContain(`${orgId} ${hold.id} 0`);
    expect((await world.ledger.reads.findHold(orgId, hold.id))?.admittedAtMs).toBe(world.nowMs);
  });

  test('leaves a ledger that is not ahead as it is', async () => {
    const orgId = await world.orgWith(cap('10'));
    const hold = await world.held(orgId, '1');
    await world.posted(orgId, '1');
    expect(await resetClock()).toEqual({ orgs: 0, holds: 0 });
    expect(await world.ledger.reads.findHold(orgId, hold.id)).toEqual(hold);
  });

  test.runIf(engine === 'postgres')('takes effect in processes that run', async () => {
    const [orgId, other] = [await world.orgWith(cap('10')), await world.orgWith(cap('10'))];
    await world.posted(other, '1');
    await world.db.query(`UPDATE ledger_orgs SET last_at = $2 WHERE org_id = $1`, [
      orgId,
      new Date(world.nowMs + daySeconds * 1_000),
    ]);
    const hold = await world.held(orgId, '7');
    expect(hold.admittedAtMs).toBe(world.nowMs + daySeconds * 1_000);
    expect(await resetLedgerClock(world.db, world.place.dataDir, world.clock, moveNoRuns)).toEqual({
      orgs: 1,
      holds: 1,
    });
    expect(verdictOf(await world.hold(orgId, '3.000000001'))).toBe('spend_cap_exceeded');
    expect((await world.held(orgId, '3')).admittedAtMs).toBe(world.nowMs);
    expect((await world.held(other, '9')).admittedAtMs).toBe(world.nowMs);
    expect([await world.audit(orgId), await world.audit(other)]).toEqual([[], []]);
  });
});

test('the times of a ledger tell what is ahead of the clock', async () => {
  const orgId = await world.orgWith(cap('10'));
  const timesOf = async () => {
    let times: Awaited<ReturnType<typeof readLedgerTimes>> | undefined;
    await world.reopen(async () => {
      times = await readLedgerTimes(world.db, world.place.dataDir, world.clock);
    });
    return times;
  };
  // Earlier tests have left postings that are dated ahead.
  await world.posted(orgId, '1');
  expect(await timesOf()).toMatchObject({ aheadMs: 0, orgsAhead: 0, holdsAhead: 0 });
  const posted = await aDayAhead(async () => {
    await world.held(orgId, '1');
    return world.posted(orgId, '1');
  });
  expect(await timesOf()).toMatchObject({
    aheadMs: daySeconds * 1_000,
    orgsAhead: 1,
    holdsAhead: 1,
    latestPostingAt: new Date(posted.chargedAtMs),
  });
  await resetClock();
  expect(await timesOf()).toMatchObject({
    aheadMs: 0,
    orgsAhead: 0,
    holdsAhead: 0,
    latestPostingAt: new Date(posted.chargedAtMs),
  });
});
