/** Holds that expire at once are released in small transactions, behind decisions, by one process at a time. */
import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, describe, expect, test } from 'vitest';
import { limitOf } from '../../test/support/ledger-values.ts';
import { LedgerWorld, openLedgerOn } from '../../test/support/ledger-world.ts';
import { nanos } from '../../test/support/money.ts';
import { engine, openPlace } from '../../test/support/test-database.ts';
import { type Database, DatabaseUnavailable } from '../platform/db/database.ts';
import type { Ledger } from './ledger.ts';

const perTransaction = 100;
const holdSeconds = 60;

let world: LedgerWorld;
/** Transactions on the ledger's database so far. */
let transactions = 0;
let monotonicMs = 1_000;
afterEach(() => {
  awayOrgId = undefined;
  return world?.close();
});

/** Statements that name this org, outside of transactions, fail as if the worker of the org were away. */
let awayOrgId: string | undefined;

const counting = (db: Database): Database => ({
  ...db,
  async query(sql, params) {
    if (awayOrgId !== undefined && params?.[0] === awayOrgId) {
      throw new DatabaseUnavailable('the worker is away');
    }
    return db.query(sql, params);
  },
  transaction(work, options) {
    transactions += 1;
    return db.transaction(work, options);
  },
});

async function open(): Promise<void> {
  world = await LedgerWorld.open({ wrap: counting, monotonicMs: () => monotonicMs });
}

const newOrg = () => world.orgWith(limitOf({ id: 'cap', kind: 'spend_cap', capacity: nanos('1000') }));

async function overdue(orgId: string, count: number): Promise<void> {
  await Promise.all(Array.from({ length: count }, () => world.held(orgId, '0.01', { holdSeconds })));
}

async function expired(orgId: string): Promise<number> {
  const sql = `SELECT 1 AS one FROM hold_ends WHERE org_id = $1 AND ended_as = 'expired'`;
  return (await world.db.query(sql, [orgId])).length;
}

test('a backlog is released in transactions of at most 100 holds, with decisions in between', async () => {
  await open();
  const orgId = await newOrg();
  await overdue(orgId, 450);
  world.clock.advanceSeconds(holdSeconds + 1);
  const perBatch: number[] = [];
  const decisionsBefore: number[] = [];
  let decisions = 0;
  let expiring = true;
  /** Fails the test, instead of waiting for decisions that will not come. */
  let failure: unknown;
  const deciding = (async () => {
    while (expiring) {
      await world.held(orgId, '0.01', { holdSeconds: 3_600 });
      decisions += 1;
      await pause(0);
    }
  })().catch((error: unknown) => {
    failure = error;
  });
  for (let more = true; more; ) {
    const before = await expired(orgId);
    const started = transactions;
    const decided = decisions;
    more = await world.ledger.expiry.expireDue();
    // On PostgreSQL decisions have transactions of their own.
    const own = transactions - started - (engine === 'postgres' ? decisions - decided : 0);
    const rows = (await expired(orgId)) - before;
    if (rows > 0) {
      expect(own).toBeGreaterThan(0);
      perBatch.push(rows);
      decisionsBefore.push(decisions);
    }
    // The pace of the job, on the clock that the ledger was given.
    const restMs = world.ledger.expiry.restMs();
    if (more) {
      expect(restMs).toBeGreaterThan(0);
      monotonicMs += Math.ceil(restMs);
      const enough = decisions + 1;
      while (decisions < enough && failure === undefined) {
        await pause(1);
      }
    }
  }
  expiring = false;
  await deciding;
  expect(failure).toBeUndefined();
  expect(perBatch).toEqual([perTransaction, perTransaction, perTransaction, perTransaction, 50]);
  for (const [index, count] of decisionsBefore.slice(1).entries()) {
    expect(count).toBeGreaterThan(decisionsBefore[index] ?? 0);
  }
  expect(await world.audit(orgId)).toEqual([]);
});

test('a backlog of one org does not delay the holds of another', async () => {
  await open();
  const [busy, quiet] = [await newOrg(), await newOrg()];
  await overdue(busy, 700);
  world.clock.advanceSeconds(10);
  await overdue(quiet, 1);
  world.clock.advanceSeconds(holdSeconds + 1);
  await world.ledger.expiry.expireDue();
  monotonicMs += 500;
  await world.ledger.expiry.expireDue();
  expect(await expired(quiet)).toBe(1);
  expect(await expired(busy)).toBeLessThanOrEqual(2 * perTransaction);
});

test('a hold that cannot be released keeps no other hold open', async () => {
  await open();
  const [failing, healthy] = [await newOrg(), await newOrg()];
  const [first] = await Promise.all([world.held(failing, '0.01', { holdSeconds }), overdue(failing, 2)]);
  await overdue(healthy, 1);
  const conflict = [failing, first.id];
  await world.db.query(
    `INSERT INTO hold_ends (org_id, hold_id, ended_as, ended_at, body) VALUES ($1, $2, 'settled', now(), '{}')`,
    conflict,
  );
  world.clock.advanceSeconds(holdSeconds + 1);
  await expect(world.ledger.expiry.expireDue()).rejects.toThrow('hold_ends_pkey');
  expect([await expired(failing), await expired(healthy)]).toEqual([2, 1]);
  await world.db.query('DELETE FROM hold_ends WHERE org_id = $1 AND hold_id = $2', conflict);
  world.clock.advanceSeconds(2);
  monotonicMs += 1_000;
  await world.ledger.expiry.expireDue();
  expect(await expired(failing)).toBe(3);
});

test('more holds than fit into a transaction, none of which can be released, keep no later hold open', async () => {
  await open();
  const orgId = await newOrg();
  await overdue(orgId, perTransaction + 10);
  await world.db.query(
    `INSERT INTO hold_ends (org_id, hold_id, ended_as, ended_at, body)
     SELECT $1, id, 'settled', now(), '{}' FROM unnest($2::text[]) AS id`,
    [orgId, (await world.ledger.reads.holds(orgId, { limit: 1_000, after: undefined })).map(({ id }) => id)],
  );
  world.clock.advanceSeconds(1);
  await overdue(orgId, 3);
  world.clock.advanceSeconds(holdSeconds + 1);
  for (let turn = 0; turn < 2; turn += 1) {
    await expect(world.ledger.expiry.expireDue()).rejects.toThrow('hold_ends_pkey');
    world.clock.advanceSeconds(2);
    monotonicMs += 1_000;
  }
  expect(await expired(orgId)).toBe(3);
  await world.db.query(`DELETE FROM hold_ends WHERE org_id = $1 AND ended_as = 'settled'`, [orgId]);
  for (let more = true; more; monotonicMs += 1_000) {
    more = await world.ledger.expiry.expireDue();
  }
  expect(await expired(orgId)).toBe(perTransaction + 13);
});

test('counts the overdue holds that are not released yet', async () => {
  world = await LedgerWorld.open();
  const orgId = await newOrg();
  await overdue(orgId, 130);
  const holds = await world.ledger.reads.holds(orgId, { limit: 30, after: undefined });
  await Promise.all(holds.map(({ id }) => world.ledger.void(orgId, id)));
  const counted = () =>
    engine === 'embedded' ? world.ledger.maintenance.stats().overdueHolds : overdueRows(orgId);
  expect(await counted()).toBe(0);
  world.clock.advanceSeconds(holdSeconds + 1);
  expect(await counted()).toBe(100);
  await world.expireAll();
  expect(await counted()).toBe(0);
});

test.runIf(engine === 'embedded')(
  'a hold that cannot be released counts as overdue since its expiry, however often that was tried',
  async () => {
    await open();
    const orgId = await newOrg();
    const stuck = await world.held(orgId, '0.01', { holdSeconds });
    await world.held(orgId, '0.01', { holdSeconds: 3_600 });
    const end = [orgId, stuck.id];
    await world.db.query(
      `INSERT INTO hold_ends (org_id, hold_id, ended_as, ended_at, body) VALUES ($1, $2, 'settled', now(), '{}')`,
      end,
    );
    world.clock.advanceSeconds(holdSeconds + 1);
    const overdueSinceMs = () =>
      world.clock.now().getTime() - world.ledger.maintenance.stats().oldestOverdueMs;
    for (let attempt = 0; attempt < 3; attempt += 1) {
      const tried = world.ledger.expiry.expireDue();
      expect(world.ledger.maintenance.stats().overdueHolds).toBe(1);
      await expect(tried).rejects.toThrow('hold_ends_pkey');
      expect(world.ledger.maintenance.stats().overdueHolds).toBe(1);
      expect(overdueSinceMs()).toBe(stuck.expiresAtMs);
      world.clock.advanceSeconds(100);
    }
    await world.db.query('DELETE FROM hold_ends WHERE org_id = $1 AND hold_id = $2', end);
    await world.ledger.expiry.expireDue();
    expect(world.ledger.maintenance.stats()).toMatchObject({
      openHolds: 1,
      overdueHolds: 0,
      oldestOverdueMs: 0,
    });
  },
);

async function overdueRows(orgId: string): Promise<number> {
  const sql = 'SELECT 1 AS one FROM holds WHERE org_id = $1 AND expires_at <= $2';
  return (await world.db.query(sql, [orgId, world.clock.now()])).length;
}

describe.runIf(engine === 'postgres')('an org with a backlog', () => {
  test('rests after each transaction, three times as long as that took', async () => {
    await open();
    const orgId = await newOrg();
    await overdue(orgId, 250);
    world.clock.advanceSeconds(holdSeconds + 1);
    await world.ledger.expiry.expireDue();
    const [released, started] = [await expired(orgId), transactions];
    expect(released).toBe(perTransaction);
    const restMs = world.ledger.expiry.restMs();
    monotonicMs += restMs - 1;
    expect(await world.ledger.expiry.expireDue()).toBe(true);
    expect([await expired(orgId), transactions]).toEqual([released, started]);
    monotonicMs += 1;
    expect(await world.ledger.expiry.expireDue()).toBe(true);
    expect([await expired(orgId), transactions]).toEqual([2 * perTransaction, started + 1]);
  });

  test('a backlog of an org whose worker is away does not keep the holds of other orgs open', async () => {
    await open();
    const [away, healthy] = [await newOrg(), await newOrg()];
    await overdue(away, 150);
    world.clock.advanceSeconds(holdSeconds + 1);
    await world.ledger.expiry.expireDue();
    await overdue(healthy, 1);
    world.clock.advanceSeconds(holdSeconds + 1);
    awayOrgId = away;
    monotonicMs += 1_000;
    await expect(world.ledger.expiry.expireDue()).rejects.toThrow('the worker is away');
    expect([await expired(away), await expired(healthy)]).toEqual([perTransaction, 1]);
    // It rests before the next attempt.
    expect(await world.ledger.expiry.expireDue()).toBe(true);
    awayOrgId = undefined;
    monotonicMs += 1_000;
    await world.ledger.expiry.expireDue();
    expect(await expired(away)).toBe(150);
  });

  test('a backlog of an org is left to the process that has its lease, until that stops or the lease lapses', async () => {
    await open();
    const orgId = await newOrg();
    await overdue(orgId, 350);
    world.clock.advanceSeconds(holdSeconds + 1);
    const db = await openPlace(world.place);
    const [second, third] = [
      await openLedgerOn(counting(db), world.place, world.clock, world.ids),
      await openLedgerOn(counting(db), world.place, world.clock, world.ids),
    ] as [Ledger, Ledger];
    // Both find the same holds at the same time; one of them gets the lease.
    await Promise.all([world.ledger.expiry.expireDue(), second.expiry.expireDue()]);
    expect(await expired(orgId)).toBe(perTransaction);
    const started = transactions;
    expect(await third.expiry.expireDue()).toBe(false);
    expect([await expired(orgId), transactions]).toEqual([perTransaction, started]);

    await Promise.all([world.ledger.close(), second.close()]);
    expect(await third.expiry.expireDue()).toBe(true);
    expect(await expired(orgId)).toBe(2 * perTransaction);
    await db.query(`UPDATE ledger_orgs SET expiry_until = now() - interval '1 second' WHERE org_id = $1`, [
      orgId,
    ]);
    monotonicMs += 10_000;
    await world.ledger.expiry.expireDue();
    expect(await expired(orgId)).toBe(3 * perTransaction);
    await third.close();
    await db.close();
  });
});
