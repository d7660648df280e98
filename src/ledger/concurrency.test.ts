/** Limits on requests in flight: each open hold takes a place, on both engines, and nothing else does. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { amountsOf, limitOf, scopeOf, usd } from '../../test/support/ledger-values.ts';
import { LedgerWorld, openLedgerOn, verdictOf } from '../../test/support/ledger-world.ts';
import { engine, openPlace } from '../../test/support/test-database.ts';
import { type Limit, WILDCARD } from '../kernel/limits.ts';
import { toLimit } from './limits/limits.ts';

let world: LedgerWorld;
beforeAll(async () => {
  world = await LedgerWorld.open();
});
afterAll(() => world.close());

const inFlight = (capacity: bigint, match: Limit['match'] = {}) =>
  limitOf({
    id: 'rlp',
    kind: 'concurrency',
    unit: 'requests',
    capacity,
    match,
    span: { kind: 'lifetime' },
  });
const cap = limitOf({ id: 'cap', kind: 'spend_cap', capacity: usd('1000') });
const times = <Result>(count: number, make: (index: number) => Promise<Result>) =>
  Promise.all(Array.from({ length: count }, (_, index) => make(index)));
const countOf = (verdicts: readonly string[], verdict: string) =>
  verdicts.filter((one) => one === verdict).length;
const expectNoDrift = async (orgId: string) => expect(await world.audit(orgId)).toEqual([]);

test('allows exactly as many of 200 parallel decisions as it has places', async () => {
  const orgId = await world.orgWith(inFlight(10n), cap);
  const results = await times(200, () => world.hold(orgId, '1'));
  const verdicts = results.map(verdictOf);
  expect([countOf(verdicts, 'held'), countOf(verdicts, 'rate_limited')]).toEqual([10, 190]);
  const denied = results.find(({ kind }) => kind === 'denied');
  expect(denied).toMatchObject({
    denial: { details: { retry_after_seconds: 1 }, by: { limit: { id: 'rlp' }, used: 10n } },
  });
  expect((await world.counters(orgId))['rlp@0']).toBe('0+10');
  const holds = results.flatMap((result) => (result.kind === 'held' ? [result.hold] : []));
  // Settling, voiding and a cost above the hold each free one place.
  await world.posted(orgId, '50', { decisionId: holds[0]?.id ?? '' });
  await world.ledger.void(orgId, holds[1]?.id ?? '');
  const again = (await times(20, () => world.hold(orgId, '1'))).map(verdictOf);
  expect(countOf(again, 'held')).toBe(2);
  expect((await world.counters(orgId))['rlp@0']).toBe('0+10');
  await expectNoDrift(orgId);
});

test('counts running runs and decisions together, but not finished and backfilled runs', async () => {
  const orgId = await world.orgWith(inFlight(2n), cap);
  const opened = await world.posted(orgId, '1', { kind: 'open' });
  await world.held(orgId, '1');
  expect(verdictOf(await world.post(orgId, '1', { kind: 'open' }))).toBe('rate_limited');
  expect(verdictOf(await world.hold(orgId, '0', { amounts: amountsOf('0') }))).toBe('rate_limited');
  expect(await world.ledger.previewDenials(orgId, [world.requestOf(orgId, '1')])).toMatchObject([
    { code: 'rate_limited' },
  ]);
  for (const kind of ['charge', 'record'] as const) {
    expect(verdictOf(await world.post(orgId, '1', { kind }))).toBe('done');
  }
  // A run under an existing decision takes no second place.
  const [hold] = (await world.ledger.reads.holds(orgId, { limit: 10, after: undefined })).filter(
    ({ runId }) => runId === null,
  );
  await world.posted(orgId, '1', { kind: 'adopt', decisionId: hold?.id ?? '' });
  await world.posted(orgId, '1', {
    kind: 'complete',
    runId: opened.posting.runId,
    decisionId: opened.hold?.id ?? '',
  });
  expect(verdictOf(await world.post(orgId, '1', { kind: 'open' }))).toBe('done');
  await expectNoDrift(orgId);
});

test('a limit on requests in flight of each key counts each key on its own', async () => {
  const orgId = await world.orgWith(inFlight(3n, { key_id: WILDCARD }));
  const verdicts = await times(30, async (index) => {
    const key_id = `key_${index % 3}`;
    return `${key_id} ${verdictOf(await world.hold(orgId, '1', { scope: scopeOf({ key_id }) }))}`;
  });
  for (const key of ['key_0', 'key_1', 'key_2']) {
    expect(countOf(verdicts, `${key} held`)).toBe(3);
    expect(countOf(verdicts, `${key} rate_limited`)).toBe(7);
  }
  await expectNoDrift(orgId);
});

test.each(['release', 'post_held'] as const)(
  'a limit on requests in flight has its places back when the holds of a crashed caller expire (%s)',
  async (treatment) => {
    const orgId = await world.orgWith(inFlight(4n), cap);
    await world.setOnUnsettled(orgId, treatment);
    await times(4, () => world.held(orgId, '1', { holdSeconds: 60 }));
    await world.restart();
    expect(verdictOf(await world.hold(orgId, '1'))).toBe('rate_limited');
    world.clock.advanceSeconds(61);
    await world.expireAll();
    const verdicts = (await times(9, () => world.hold(orgId, '1'))).map(verdictOf);
    expect(countOf(verdicts, 'held')).toBe(4);
    await expectNoDrift(orgId);
  },
);

test('counts the holds that are open when it is created, and stops when it ends', async () => {
  const orgId = await world.orgWith(cap);
  const [first] = await times(3, () => world.held(orgId, '1'));
  const limit = inFlight(3n);
  await world.insertLimit(orgId, limit);
  expect(verdictOf(await world.hold(orgId, '1'))).toBe('rate_limited');
  await world.posted(orgId, '1', { decisionId: first?.id ?? '' });
  expect(verdictOf(await world.hold(orgId, '1'))).toBe('held');
  await world.updateLimit(orgId, { ...limit, capacity: 1n });
  expect(verdictOf(await world.hold(orgId, '1'))).toBe('rate_limited');
  await expectNoDrift(orgId);
  await world.endLimit(orgId, limit);
  expect(verdictOf(await world.hold(orgId, '1'))).toBe('held');
  await expectNoDrift(orgId);
});

test('shows the number in flight as its usage', async () => {
  const orgId = await world.orgWith(inFlight(5n));
  await times(2, () => world.held(orgId, '1'));
  expect(await world.ledger.reads.limitUsage(orgId, ['rlp'])).toMatchObject([{ settled: 0n, held: 2n }]);
});

/** What release 0.1.0 does with each kind of limit; a copy, because that release cannot change any more. */
test('a limit on requests in flight is stored in a form that release 0.1.0 ignores', async () => {
  const orgId = await world.orgWith(inFlight(5n, { key_id: WILDCARD }));
  const [row] = await world.db.query<Parameters<typeof toLimit>[0]>(
    'SELECT * FROM limits WHERE org_id = $1',
    [orgId],
  );
  // Its ledger never counts the kind `rate`. Its rate limiter enforces request rates with a fixed window, and checks the body
  // only for rates that match more than the key.
  expect(row).toMatchObject({ kind: 'rate', unit: 'requests', window_seconds: null, period: null });
  expect(Object.keys(row?.match ?? {})).toEqual(['key_id']);
  expect(row && toLimit(row).kind).toBe('concurrency');
});

test.runIf(engine === 'postgres')('holds across two processes, also if one of them goes away', async () => {
  const orgId = await world.orgWith(inFlight(10n), cap);
  const db = await openPlace(world.place);
  const other = await openLedgerOn(db, world.place, world.clock, world.ids);
  const request = world.requestOf(orgId, '1', { holdSeconds: 60 });
  const results = await times(200, (index) => (index % 2 === 0 ? world.ledger : other).hold(request));
  expect(countOf(results.map(verdictOf), 'held')).toBe(10);
  const [held] = results.flatMap((result) => (result.kind === 'held' ? [result.hold] : []));
  await other.post({ orgId, postings: [world.postingOf('1', { decisionId: held?.id ?? '' })] });
  const more = await times(20, (index) => (index % 2 === 0 ? world.ledger : other).hold(request));
  expect(countOf(more.map(verdictOf), 'held')).toBe(1);
  await db.close();
  world.clock.advanceSeconds(61);
  await world.expireAll();
  expect(countOf((await times(30, () => world.hold(orgId, '1'))).map(verdictOf), 'held')).toBe(10);
  await expectNoDrift(orgId);
});
