/** Increases whose line in the hold log is slow or fails. The log is replaced, everything else is real. */
import { beforeEach, expect, test } from 'vitest';
import { amountsOf, limitOf, limitsOf, scopeOf, usd } from '../../../test/support/ledger-values.ts';
import { applicableCounters, reserve } from '../../kernel/admission.ts';
import type { Database } from '../../platform/db/database.ts';
import type { Hold } from '../holds/hold.ts';
import type { LogLocation, OpenHold, OrgLedgerState } from '../holds/org-ledger-state.ts';
import { DurableHolds } from './durable-holds.ts';
import { increaseOpenHold } from './embedded-hold-changes.ts';
import type { EmbeddedState } from './embedded-state.ts';
import type { HoldLog } from './hold-log.ts';
import { KeysInFlight } from './keys-in-flight.ts';
import { LedgerStates } from './ledger-states.ts';
import { LedgerTime } from './ledger-time.ts';
import { UnresolvedHoldEnds } from './unresolved-hold-ends.ts';

const limits = limitsOf([limitOf({ id: 'cap', kind: 'spend_cap', capacity: usd('10') })]);
const db = {
  stats: () => ({ connections: 1, idle: 1, waiting: 0 }),
  query: async () => [],
} as Partial<Database> as Database;
const turn = () => new Promise((resolve) => setImmediate(() => setImmediate(resolve)));

let writes: { held: bigint[]; resolve(location: LogLocation): void; reject(error: Error): void }[];
let states: LedgerStates;
let orgState: OrgLedgerState;
let open: OpenHold;
let state: EmbeddedState;

beforeEach(async () => {
  writes = [];
  const log = {
    append: (holds: readonly Hold[]) =>
      new Promise<LogLocation>((resolve, reject) =>
        writes.push({ held: holds.map(({ amounts }) => amounts.usd), resolve, reject }),
      ),
    remove: () => undefined,
  } as Partial<HoldLog> as HoldLog;
  states = new LedgerStates({
    orgLimits: { get: async () => limits, peek: () => limits, set: () => undefined },
    restored: [],
    latestPostingMs: 0,
    holdsMax: 10,
    now: () => 0,
  });
  orgState = await states.open('org_1');
  const scope = scopeOf();
  const { counters, shares } = applicableCounters(limits, scope, 0, 'edge');
  for (const one of counters) {
    orgState.addCounter(one, 0n, 0);
  }
  const hold: Hold = {
    id: 'dec_1',
    orgId: 'org_1',
    runId: null,
    surface: 'edge',
    scope,
    amounts: amountsOf('1'),
    admittedAtMs: 0,
    expiresAtMs: 900_000,
    shares,
    packs: [],
    priceVersion: null,
    idempotency: null,
  };
  reserve(orgState.counters, hold);
  open = orgState.addHold(hold);
  states.track(open);
  const durable = new DurableHolds(log, () => undefined);
  state = {
    db,
    states,
    durable,
    unresolvedEnds: new UnresolvedHoldEnds(),
    keysInFlight: new KeysInFlight(),
    time: new LedgerTime({ now: () => new Date(0) }, 0),
  };
});

const increase = (dollars: string, requestId: string | null = null, growth?: string) =>
  increaseOpenHold(state, 'org_1', 'dec_1', {
    by: amountsOf(dollars, 0n, 0n),
    requestId,
    growth: growth === undefined ? undefined : amountsOf(growth, 0n, 0n),
  });
const counterGrowth = () => [...orgState.counters.values()].map(({ growth }) => growth);
const counterHeld = () => [...orgState.counters.values()].map(({ held }) => held);

test('counts an increase at once, answers when it is durable, and undoes it if it cannot be written', async () => {
  const first = increase('2');
  await turn();
  expect([counterHeld(), writes[0]?.held]).toEqual([[usd('3')], [usd('3')]]);
  // A second one arrives during the write, and is written without the first.
  const second = increase('4');
  await turn();
  expect(counterHeld()).toEqual([usd('7')]);
  writes[0]?.reject(new Error('full'));
  await expect(first).rejects.toThrow('full');
  await turn();
  expect([counterHeld(), writes[1]?.held]).toEqual([[usd('5')], [usd('5')]]);
  writes[1]?.resolve({ path: 'a' });
  expect(await second).toMatchObject({ kind: 'changed' });
  expect(open.hold.amounts.usd).toBe(usd('5'));
});

test('an increase that cannot be written leaves the growth of a later one, and none once the hold has ended', async () => {
  const higher = increase('1', null, '5');
  await turn();
  const lower = increase('1', null, '2');
  await turn();
  expect(counterGrowth()).toEqual([usd('2')]);
  writes[0]?.reject(new Error('full'));
  await expect(higher).rejects.toThrow('full');
  expect([counterGrowth(), open.hold.growth?.usd]).toEqual([[usd('2')], usd('2')]);
  await turn();
  writes[1]?.resolve({ path: 'a' });
  await lower;
  const last = increase('1', null, '4');
  await turn();
  writes[2]?.reject(new Error('full'));
  await expect(last).rejects.toThrow('full');
  expect([counterGrowth(), open.hold.growth?.usd]).toEqual([[usd('2')], usd('2')]);
  states.release(open);
  expect([counterGrowth(), counterHeld()]).toEqual([[0n], [0n]]);
});

test('leaves nothing behind if the hold ends while the increase is written and fails', async () => {
  const raised = increase('2');
  await turn();
  states.release(open);
  expect(counterHeld()).toEqual([0n]);
  writes[0]?.reject(new Error('full'));
  await expect(raised).rejects.toThrow('full');
  expect(counterHeld()).toEqual([0n]);
});

test('a retry waits for the first attempt, and takes effect if that fails', async () => {
  const first = increase('2', 'request');
  await turn();
  const retry = increase('2', 'request');
  await turn();
  expect(counterHeld()).toEqual([usd('3')]);
  writes[0]?.reject(new Error('full'));
  await expect(first).rejects.toThrow('full');
  expect(open.hold.increases).toBeUndefined();
  await turn();
  writes[1]?.resolve({ path: 'a' });
  await turn();
  writes[2]?.resolve({ path: 'a' });
  expect(await retry).toMatchObject({ kind: 'changed', hold: { increases: ['request'] } });
  expect([counterHeld(), open.hold.amounts.usd]).toEqual([[usd('3')], usd('3')]);
});

test('denies without writing anything, and a hold that is ending is not changed', async () => {
  expect(await increase('9.000000001')).toMatchObject({ kind: 'denied' });
  open.ending = true;
  expect(await increase('1')).toEqual({ kind: 'ended' });
  await turn();
  expect([counterHeld(), writes]).toEqual([[usd('1')], []]);
});
