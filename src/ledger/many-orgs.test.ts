/** Commands of many orgs at the same time. On PostgreSQL they share transactions, which must not be noticed. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../../test/support/eventually.ts';
import { amountsOf, limitOf, usd } from '../../test/support/ledger-values.ts';
import { LedgerWorld, openLedgerOn, verdictOf } from '../../test/support/ledger-world.ts';
import { engine, openPlace } from '../../test/support/test-database.ts';
import type { Database, Transaction } from '../platform/db/database.ts';

/** The transactions that the ledger began, and their statements. */
let transactions = 0;
let statements: string[] = [];
/** Number of statements outside of transactions. */
let reads = 0;

/** Counts transactions, and lets a test fail statements. */
let failing: ((sql: string, params: readonly unknown[]) => boolean) | undefined;

function counted(db: Database): Database {
  return new Proxy(db, {
    get(target, name) {
      reads += name === 'query' ? 1 : 0;
      if (name !== 'transaction') {
        const value = Reflect.get(target, name);
        return typeof value === 'function' ? value.bind(target) : value;
      }
      return (work: (tx: Transaction) => Promise<unknown>, options: object) => {
        transactions += 1;
        return target.transaction((tx) => work(countedTransaction(tx)), options);
      };
    },
  });
}

function countedTransaction(tx: Transaction): Transaction {
  return new Proxy(tx, {
    get(target, name) {
      const value = Reflect.get(target, name);
      if (name !== 'query') {
        return typeof value === 'function' ? value.bind(target) : value;
      }
      return (sql: string, params: readonly unknown[] = []) => {
        statements.push(sql);
        return failing?.(sql, params) ? target.query('SELECT 1 / 0') : target.query(sql, params);
      };
    },
  });
}

let world: LedgerWorld;
beforeAll(async () => {
  world = await LedgerWorld.open({ wrap: counted });
});
afterAll(() => world.close());

const cap = (dollars: string) => limitOf({ id: `cap-${dollars}`, kind: 'spend_cap', capacity: usd(dollars) });

async function orgsWith(count: number, dollars: string): Promise<string[]> {
  const orgIds: string[] = [];
  for (let made = 0; made < count; made += 1) {
    orgIds.push(await world.orgWith(cap(dollars)));
  }
  return orgIds;
}

/** Creates the rows and counters of the orgs, so that the next transaction has nothing rare to do. */
const warmUp = (orgIds: readonly string[]) => Promise.all(orgIds.map((orgId) => world.hold(orgId, '0')));

async function expectNoDrift(orgIds: readonly string[]): Promise<void> {
  for (const orgId of orgIds) {
    expect(await world.audit(orgId)).toEqual([]);
  }
}

test('each org admits exactly what fits, in holds, runs and voids at the same time', async () => {
  const orgIds = await orgsWith(40, '5');
  const results = await Promise.all(
    orgIds.flatMap((orgId) =>
      Array.from({ length: 10 }, async () => ({ orgId, result: await world.hold(orgId, '1') })),
    ),
  );
  for (const orgId of orgIds) {
    const own = results.filter((one) => one.orgId === orgId).map(({ result }) => verdictOf(result));
    expect(own.filter((verdict) => verdict === 'held')).toHaveLength(5);
    expect(own.filter((verdict) => verdict === 'spend_cap_exceeded')).toHaveLength(5);
  }
  const held = results.flatMap(({ orgId, result }) =>
    result.kind === 'held' ? [{ orgId, hold: result.hold }] : [],
  );
  await Promise.all(
    held.map(({ orgId, hold }, index) =>
      index % 2 === 0
        ? world.posted(orgId, '0.5', { decisionId: hold.id })
        : world.ledger.void(orgId, hold.id),
    ),
  );
  const [orgId = ''] = orgIds;
  expect((await world.counters(orgId))[`cap-5@${Date.parse('2026-11-15')}`] ?? '').toMatch(/\+0$/);
  await expectNoDrift(orgIds);
});

describe.runIf(engine === 'postgres')('on PostgreSQL', () => {
  test('the number of transactions and statements does not grow with the number of orgs', async () => {
    const orgIds = await orgsWith(40, '6');
    await warmUp(orgIds);
    transactions = 0;
    statements = [];
    await Promise.all(orgIds.map((orgId) => world.hold(orgId, '1')));
    // On Citus one for each group of shards.
    const groups = new Set(orgIds.map((orgId) => world.db.tenantGroups.groupOf(orgId))).size;
    expect(groups).toBeLessThanOrEqual(4);
    expect(transactions).toBe(groups);
    expect(statements.length).toBeLessThan(12 * groups);
    await expectNoDrift(orgIds);
  });

  test('an org whose last decision is ahead of the clock does not take the others with it', async () => {
    const orgIds = await orgsWith(5, '9');
    await warmUp(orgIds);
    const [ahead] = orgIds;
    const tomorrow = new Date(world.nowMs + 86_400_000);
    await world.db.query('UPDATE ledger_orgs SET last_at = $2 WHERE org_id = $1', [ahead, tomorrow]);
    const results = await Promise.all(orgIds.map((orgId) => world.hold(orgId, '1')));
    const days = results.map((result) => {
      const { hold } = result as Extract<typeof result, { kind: 'held' }>;
      return Math.round((hold.admittedAtMs - world.nowMs) / 86_400_000);
    });
    expect(days).toEqual([1, 0, 0, 0, 0]);
    await expectNoDrift(orgIds);
  });

  test('an org that another transaction has locked does not hold up the others', async () => {
    const orgIds = await orgsWith(10, '7');
    await warmUp(orgIds);
    const [locked = '', ...others] = orgIds;
    const other = await openPlace(world.place);
    try {
      let waiting: Promise<unknown> | undefined;
      await other.transaction(async (tx) => {
        await tx.query('SELECT 1 FROM ledger_orgs WHERE org_id = $1 FOR UPDATE', [locked]);
        waiting = world.hold(locked, '1');
        for (let round = 0; round < 3; round += 1) {
          const verdicts = await Promise.all(others.map((orgId) => world.hold(orgId, '1')));
          expect(new Set(verdicts.map(verdictOf))).toEqual(new Set(['held']));
        }
      });
      await eventually(async () => expect(await waiting).toMatchObject({ kind: 'held' }));
    } finally {
      await other.close();
    }
    await expectNoDrift(orgIds);
  });

  test('several locked orgs are executed together once they are free', async () => {
    const orgIds = await orgsWith(10, '8');
    await warmUp(orgIds);
    const other = await openPlace(world.place);
    try {
      let results: Promise<unknown[]> | undefined;
      await other.transaction(async (tx) => {
        for (const orgId of orgIds) {
          await tx.query('SELECT 1 FROM ledger_orgs WHERE org_id = $1 FOR UPDATE', [orgId]);
        }
        transactions = 0;
        results = Promise.all(orgIds.map((orgId) => world.hold(orgId, '1')));
        await eventually(() => expect(transactions).toBeGreaterThanOrEqual(2));
      });
      for (const result of (await results) ?? []) {
        expect(result).toMatchObject({ kind: 'held' });
      }
    } finally {
      await other.close();
    }
    await expectNoDrift(orgIds);
  });

  test('an error of one org does not fail the others, and changes nothing', async () => {
    const orgIds = await orgsWith(10, '9');
    await warmUp(orgIds);
    const [broken = '', ...others] = orgIds;
    failing = (sql, params) =>
      sql.startsWith('UPDATE counters') && Buffer.from(params[0] as Uint8Array).includes(broken);
    const settled = await Promise.allSettled(orgIds.map((orgId) => world.hold(orgId, '1')));
    failing = undefined;
    expect(settled.map(({ status }) => status)).toEqual(['rejected', ...others.map(() => 'fulfilled')]);
    expect((await world.ledger.reads.holds(broken, { limit: 10, after: undefined })).length).toBe(1);
    expect(verdictOf(await world.hold(broken, '9'))).toBe('held');
    await expectNoDrift(orgIds);
  });

  test('two processes that decide for the same orgs admit exactly what fits', async () => {
    const orgIds = await orgsWith(20, '10');
    const second = await openPlace(world.place);
    try {
      const ledger = await openLedgerOn(second, world.place, world.clock, world.ids);
      const results = await Promise.all(
        orgIds.flatMap((orgId) =>
          Array.from({ length: 16 }, async (_, index) =>
            verdictOf(await (index % 2 === 0 ? world.ledger : ledger).hold(world.requestOf(orgId, '1'))),
          ),
        ),
      );
      expect(results.filter((verdict) => verdict === 'held')).toHaveLength(20 * 10);
    } finally {
      await second.close();
    }
    await expectNoDrift(orgIds);
  });
});

test.runIf(engine === 'postgres')(
  'increases of 200 holds of an org in one turn share a read and few transactions',
  async () => {
    const [orgId = ''] = await orgsWith(1, '1000');
    const held = await Promise.all(Array.from({ length: 200 }, () => world.hold(orgId, '1')));
    const ids = held.flatMap((result) => (result.kind === 'held' ? [result.hold.id] : []));
    expect(ids).toHaveLength(200);
    [reads, transactions, statements] = [0, 0, []];
    const results = await Promise.all(
      ids.map(async (id) => {
        expect(await world.ledger.reads.findHold(orgId, id)).toMatchObject({ id, orgId });
        return world.ledger.increase(orgId, id, { by: amountsOf('0.5'), requestId: null });
      }),
    );
    expect(new Set(results.map(({ kind }) => kind))).toEqual(new Set(['changed']));
    expect(reads).toBe(1);
    expect(transactions).toBeLessThanOrEqual(5);
    expect(statements.length).toBeLessThanOrEqual(50);
    expect(await world.ledger.reads.findHold(orgId, 'dec_unknown')).toBeUndefined();
    await expectNoDrift([orgId]);
  },
);
