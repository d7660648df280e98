/**
 * The response to COMMIT is lost, so the ledger does not know the outcome. On both engines the amounts stay held
 * until the database shows the outcome, and a retry has a single effect.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../../test/support/eventually.ts';
import { amountsOf, limitOf, usd } from '../../test/support/ledger-values.ts';
import { LedgerWorld, verdictOf } from '../../test/support/ledger-world.ts';
import { engine } from '../../test/support/test-database.ts';
import { type Database, DatabaseUnavailable } from '../platform/db/database.ts';
import { createLog } from '../platform/log.ts';
import { findEnds } from './postings/ledger-writes.ts';

type Fault = 'after the commit' | 'before the commit';

let world: LedgerWorld;
/** The fault of the next ledger transaction. */
let fault: Fault | undefined;

function losesCommitResponses(db: Database): Database {
  return {
    ...db,
    async transaction(work, options) {
      const now = fault;
      fault = undefined;
      const result = await db.transaction(async (tx) => {
        const done = await work(tx);
        if (now === 'before the commit') {
          throw new DatabaseUnavailable('the connection was lost before the commit');
        }
        return done;
      }, options);
      if (now === 'after the commit') {
        throw new DatabaseUnavailable('the connection was lost after the commit');
      }
      return result;
    },
  };
}

const logged: string[] = [];
const log = createLog('info', { write: (line) => void logged.push(JSON.parse(line).msg) });

beforeAll(async () => {
  world = await LedgerWorld.open({ wrap: losesCommitResponses, log });
});
afterAll(() => world.close());

const newOrg = () =>
  world.orgWith(limitOf({ id: 'cap', kind: 'spend_cap', capacity: usd('10'), thresholds: [20] }));
/** A counter that does not exist yet is at zero. */
const counter = async (orgId: string) => {
  const counters = Object.values(await world.counters(orgId));
  return counters.length === 0 ? at('0') : counters;
};
const at = (settled: string, held = '0') => [`${usd(settled)}+${usd(held)}`];
const runsOf = async (orgId: string) =>
  world.db.query('SELECT run_id FROM run_identities WHERE org_id = $1', [orgId]);

describe.each<[Fault, boolean]>([
  ['after the commit', true],
  ['before the commit', false],
])('a connection that is lost %s', (when, happened) => {
  test('during a settlement: it is posted once, at the latest by the retry', async () => {
    const orgId = await newOrg();
    const hold = await world.held(orgId, '4');
    const settle = () => world.post(orgId, '3', { decisionId: hold.id, externalId: 'x' });
    fault = when;
    await expect(settle()).rejects.toThrow(DatabaseUnavailable);
    // Unresolved amounts are not available.
    expect(verdictOf(await world.hold(orgId, '7.000000001'))).toBe('spend_cap_exceeded');
    await eventually(async () => expect(await counter(orgId)).toEqual(happened ? at('3') : at('0', '4')));
    expect(await settle()).toMatchObject({
      kind: 'done',
      outcomes: [{ kind: happened ? 'existing' : 'posted' }],
    });
    expect(await counter(orgId)).toEqual(at('3'));
    expect(await findEnds(world.db, [orgId], [hold.id])).toMatchObject([{ ended_as: 'settled' }]);
    expect(await runsOf(orgId)).toHaveLength(1);
    expect(await world.audit(orgId)).toEqual([]);
  });

  test('during a settlement that is retried immediately', async () => {
    const orgId = await newOrg();
    const hold = await world.held(orgId, '4');
    const settle = () => world.post(orgId, '3', { decisionId: hold.id, externalId: 'x' });
    fault = when;
    await settle().catch(() => undefined);
    expect(await settle()).toMatchObject({
      kind: 'done',
      outcomes: [{ kind: happened ? 'existing' : 'posted' }],
    });
    expect(await counter(orgId)).toEqual(at('3'));
    expect(await world.audit(orgId)).toEqual([]);
  });

  test('during a charge: its alert is emitted once', async () => {
    const orgId = await newOrg();
    fault = when;
    await expect(world.post(orgId, '3', { externalId: 'x' })).rejects.toThrow(DatabaseUnavailable);
    await eventually(async () => expect(await counter(orgId)).toEqual(happened ? at('3') : at('0')));
    await world.post(orgId, '3', { externalId: 'x' });
    await world.posted(orgId, '1');
    expect(await counter(orgId)).toEqual(at('4'));
    const alerts = await world.db.query('SELECT 1 AS one FROM limit_alerts WHERE org_id = $1', [orgId]);
    expect(alerts).toHaveLength(1);
    expect(await world.audit(orgId)).toEqual([]);
  });

  test('during the opening of a run: its hold exists if and only if the run does', async () => {
    const orgId = await newOrg();
    fault = when;
    const opening = world.post(orgId, '3', { kind: 'open', decisionId: 'dec_1' });
    await expect(opening).rejects.toThrow(DatabaseUnavailable);
    await eventually(async () => expect(await counter(orgId)).toEqual(happened ? at('0', '3') : at('0')));
    await eventually(async () =>
      expect((await world.ledger.reads.findHold(orgId, 'dec_1')) !== undefined).toBe(happened),
    );
    expect(await runsOf(orgId)).toHaveLength(happened ? 1 : 0);
    expect(await world.audit(orgId)).toEqual([]);
    world.clock.advanceSeconds(900);
    await world.expireAll();
    expect(await world.ledger.reads.findHold(orgId, 'dec_1')).toBeUndefined();
  });

  test.runIf(engine === 'embedded')('is logged only if the posting was written: others failed', async () => {
    const orgId = await newOrg();
    logged.length = 0;
    fault = when;
    await expect(world.post(orgId, '3', { externalId: 'x' })).rejects.toThrow(DatabaseUnavailable);
    await eventually(async () => expect(await counter(orgId)).toEqual(happened ? at('3') : at('0')));
    expect(logged).toEqual(happened ? ['resolved postings with unknown outcome'] : []);
  });

  test('during an increase: a retry with the same id raises the hold once', async () => {
    const orgId = await newOrg();
    const hold = await world.held(orgId, '4');
    const increase = () =>
      world.ledger.increase(orgId, hold.id, { by: amountsOf('3', 0n, 0n), requestId: 'request' });
    // The embedded engine increases without a transaction of its database.
    if (engine === 'postgres') {
      fault = when;
      await expect(increase()).rejects.toThrow(DatabaseUnavailable);
    }
    expect(await increase()).toMatchObject({ kind: 'changed', hold: { amounts: { usd: usd('7') } } });
    expect(await counter(orgId)).toEqual(at('0', '7'));
    expect(await world.audit(orgId)).toEqual([]);
  });

  test('during a void: the hold ends once', async () => {
    const orgId = await newOrg();
    const hold = await world.held(orgId, '4');
    fault = when;
    await expect(world.ledger.void(orgId, hold.id)).rejects.toThrow(DatabaseUnavailable);
    await eventually(async () => expect(await counter(orgId)).toEqual(happened ? at('0') : at('0', '4')));
    await eventually(async () =>
      expect((await world.ledger.void(orgId, hold.id)).kind).toBe(happened ? 'ended' : 'changed'),
    );
    expect(await counter(orgId)).toEqual(at('0'));
    expect(await findEnds(world.db, [orgId], [hold.id])).toMatchObject([{ ended_as: 'voided' }]);
    expect(await world.audit(orgId)).toEqual([]);
  });

  test('during an expiry: all overdue holds still expire', async () => {
    const orgId = await newOrg();
    const holds = [await world.held(orgId, '1'), await world.held(orgId, '2')];
    world.clock.advanceSeconds(900);
    fault = when;
    await expect(world.ledger.expiry.expireDue()).rejects.toThrow(DatabaseUnavailable);
    await eventually(async () => {
      world.clock.advanceSeconds(2);
      await world.expireAll();
      expect(await world.ledger.reads.holds(orgId, { limit: 10, after: undefined })).toEqual([]);
    });
    expect(await counter(orgId)).toEqual(at('0'));
    const ends = await findEnds(
      world.db,
      [orgId],
      holds.map(({ id }) => id),
    );
    expect(ends.map(({ ended_as }) => ended_as)).toEqual(['expired', 'expired']);
    expect(await world.audit(orgId)).toEqual([]);
  });
});
