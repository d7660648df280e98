/**
 * Sums of a window that do not fit into 64 bits. Limits admit less, but backfilled runs and costs beyond their holds are posted
 * whatever the limits say: on both engines the ledger stays exact, and the limit is used up.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { limitOf, usd } from '../../test/support/ledger-values.ts';
import { LedgerWorld, verdictOf } from '../../test/support/ledger-world.ts';
import type { Limit } from '../kernel/limits.ts';

let world: LedgerWorld;
beforeAll(async () => {
  world = await LedgerWorld.open();
});
afterAll(() => world.close());

const monthly = (fields: Partial<Limit> = {}) =>
  limitOf({
    id: 'cap',
    kind: 'spend_cap',
    capacity: usd('100'),
    span: { kind: 'calendar', period: 'month', timezone: null },
    ...fields,
  });
const largest = '8999999999';

/** Records a run on another day of the month, because the usage of a day is stored in 64 bits. */
const record = (orgId: string, dollars: string, day: number) =>
  world.posted(orgId, dollars, { kind: 'record', atMs: Date.UTC(year(), month(), day) });
const year = () => world.clock.now().getUTCFullYear();
const month = () => world.clock.now().getUTCMonth();

async function sumOf(orgId: string): Promise<string | undefined> {
  const [row] = await world.db.query<{ usd: string }>(
    'SELECT sum(usd_nanos)::text AS usd FROM ledger_entries WHERE org_id = $1',
    [orgId],
  );
  return row?.usd;
}

const twice = `${2n * usd(largest)}`;

describe.each(['block', 'alert'] as const)('a limit that is enforced by `%s`', (enforcement) => {
  const cap = monthly({ enforcement });

  async function expectUsedUp(orgId: string): Promise<void> {
    expect(verdictOf(await world.hold(orgId, '1'))).toBe('spend_cap_exceeded');
    expect(verdictOf(await world.post(orgId, '1'))).toBe('spend_cap_exceeded');
    expect((await world.ledger.reads.limitUsage(orgId, ['cap']))[0]?.settled).toBe(2n * usd(largest));
    expect(await world.audit(orgId)).toEqual([]);
    expect(await sumOf(orgId)).toBe(twice);
  }

  test('a limit beyond 64 bits is used up if it has a counter', async () => {
    const orgId = await world.orgWith(cap);
    await world.posted(orgId, '1');
    await record(orgId, largest, 1);
    await record(orgId, '8999999998', 2);
    await expectUsedUp(orgId);
  });

  test('a limit beyond 64 bits is used up if it is created later', async () => {
    const orgId = await world.createOrg();
    await record(orgId, largest, 1);
    await record(orgId, largest, 2);
    await world.insertLimit(orgId, cap);
    await expectUsedUp(orgId);
  });

  test('a limit beyond 64 bits is used up after a restart', async () => {
    const orgId = await world.orgWith(cap);
    await record(orgId, largest, 1);
    await record(orgId, largest, 2);
    await world.restart();
    await expectUsedUp(orgId);
  });

  test('admits again after a correction', async () => {
    const orgId = await world.orgWith(cap);
    const first = await record(orgId, largest, 1);
    const second = await record(orgId, largest, 2);
    await expectUsedUp(orgId);
    for (const { posting } of [first, second]) {
      await world.posted(orgId, `-${largest}`, {
        kind: 'adjust',
        runId: posting.runId,
        atMs: posting.atMs,
        amounts: { usd: -usd(largest), tokens: 0n, requests: 0n },
      });
      expect(await world.audit(orgId)).toEqual([]);
    }
    expect(verdictOf(await world.hold(orgId, '100'))).toBe('held');
    expect(await world.audit(orgId)).toEqual([]);
    expect(await sumOf(orgId)).toBe('0');
  });

  test('keeps the amounts of holds that were open before', async () => {
    const orgId = await world.orgWith(cap);
    const settled = await world.held(orgId, '60');
    const voided = await world.held(orgId, '40');
    const first = await record(orgId, largest, 1);
    await record(orgId, largest, 2);
    await world.posted(orgId, '2', { decisionId: settled.id });
    expect(await world.audit(orgId)).toEqual([]);
    await world.posted(orgId, `-${largest}`, {
      kind: 'adjust',
      runId: first.posting.runId,
      atMs: first.posting.atMs,
      amounts: { usd: -usd(largest), tokens: 0n, requests: 0n },
    });
    await world.hold(orgId, '1');
    expect(await world.audit(orgId)).toEqual([]);
    await world.ledger.void(orgId, voided.id);
    expect(await world.audit(orgId)).toEqual([]);
    expect(await sumOf(orgId)).toBe(`${usd(largest) + usd('2')}`);
  });
});
