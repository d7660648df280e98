/**
 * The growth of counters under random concurrent commands, from two processes on PostgreSQL: after each round it is the sum over the
 * open holds, and none is left when all calls have ended.
 */
import { expect, test } from 'vitest';
import { eventually } from '../../test/support/eventually.ts';
import { amountsOf, limitOf, Random, scopeOf, usd } from '../../test/support/ledger-values.ts';
import { LedgerWorld, openLedgerOn, verdictOf } from '../../test/support/ledger-world.ts';
import { seedsOf } from '../../test/support/seeds.ts';
import { engine, openPlace } from '../../test/support/test-database.ts';
import { type Amounts, WILDCARD } from '../kernel/limits.ts';
import { type Hold, holdIdOfCall, runIdOf } from './holds/hold.ts';
import type { Ledger } from './ledger.ts';
import { notifyLimitChanged } from './limits/change-notifications.ts';

const { seeds } = seedsOf('ledger-growth');
const rounds = 25;
const commandsPerRound = 14;

const day = { kind: 'calendar', period: 'day', timezone: null } as const;
const cap = limitOf({ id: 'cap', kind: 'spend_cap', capacity: usd('60') });
const budget = limitOf({
  id: 'bud',
  kind: 'budget',
  match: { department: WILDCARD },
  span: day,
  capacity: usd('30'),
});
const customer = limitOf({
  id: 'clm',
  kind: 'customer',
  match: { customer_id: WILDCARD },
  span: day,
  capacity: usd('40'),
});
const tokens = limitOf({
  id: 'rlp',
  kind: 'quota',
  unit: 'tokens',
  span: { kind: 'fixed', seconds: 3_600 },
  capacity: 2_000n,
});

test.each(seeds)('is the sum over the open holds, and none is left at the end (seed %d)', async (seed) => {
  const random = new Random(seed);
  const world = await LedgerWorld.open({ seed });
  const db = engine === 'postgres' ? await openPlace(world.place) : undefined;
  const other = db && (await openLedgerOn(db, world.place, world.clock, world.ids));
  const ledger = (): Ledger => (other !== undefined && random.chance(50) ? other : world.ledger);
  const orgId = await world.orgWith(cap, budget, customer, tokens);
  const open: Hold[] = [];
  const said = new Map<string, number>();
  let names = 0;

  const growth = (): Amounts => amountsOf(`0.${random.int(10)}`, BigInt(random.int(40)), 0n);
  const small = (): Amounts => amountsOf(`0.${1 + random.int(9)}`, BigInt(1 + random.int(20)));
  const someHold = () => (open.length === 0 ? undefined : random.of(open));
  const taken = () => open.splice(random.int(open.length), 1)[0] as Hold;

  const take = async () => {
    const scope = scopeOf({
      department: random.of(['a', 'b']),
      customer_id: random.of([null, 'x', `name${names}`]),
    });
    const call = { holdId: holdIdOfCall(world.ids.next('run')), depth: 1, growth: growth() };
    const request = { surface: 'run', scope, amounts: small(), holdSeconds: 600, call } as const;
    const result = await ledger().hold(world.requestOf(orgId, '0', request));
    if (result.kind === 'held') {
      open.push(result.hold);
    }
    return `take ${verdictOf(result)}`;
  };
  const increase = async () => {
    const hold = someHold();
    const by = { ...small(), requests: 0n };
    const more = random.chance(80) ? { growth: growth() } : {};
    const result = await ledger().increase(orgId, hold?.id ?? 'dec_x', { by, requestId: null, ...more });
    return `increase ${result.kind}`;
  };
  const settle = async () => {
    if (open.length === 0) {
      return 'nothing';
    }
    const hold = taken();
    const runId = runIdOf(hold) ?? '';
    const posting = world.postingOf(`0.${random.int(30)}`, { runId, decisionId: hold.id, scope: hold.scope });
    const result = await ledger().post({ orgId, postings: [posting] });
    return `settle ${verdictOf(result)}`;
  };
  const end = async () => {
    const { kind } = await ledger().void(orgId, open.length === 0 ? 'dec_x' : taken().id);
    return `void ${kind}`;
  };
  const extend = async () => `extend ${(await ledger().extend(orgId, someHold()?.id ?? 'dec_x', 900)).kind}`;
  const between: readonly (readonly [number, () => Promise<string>])[] = [
    [6, async () => `wait ${world.clock.advanceSeconds(random.of([1, 60, 700, 4_000, 90_000]))}`],
    [
      3,
      async () => {
        await world.updateLimit(orgId, { ...budget, capacity: usd(String(5 + random.int(40))) });
        return 'limit';
      },
    ],
    [
      2,
      async () => {
        await world.changeTimezone(orgId, random.of(['UTC', 'Europe/Berlin', 'Asia/Kathmandu']));
        return 'zone';
      },
    ],
    [
      2,
      async () => {
        const renaming = { from: `name${names}`, to: `erased-${names}` };
        names += 1;
        await world.ledger.maintenance.renameCustomer(orgId, renaming, (tx) => notifyLimitChanged(tx, orgId));
        return 'rename';
      },
    ],
    [2, async () => `reopen ${await world.reopen()}`],
    [2, async () => `evict ${await ledger().maintenance.evictCounters()}`],
    [2, async () => `crash ${await (engine === 'embedded' ? world.crash() : world.reopen())}`],
  ];

  async function check(): Promise<void> {
    expect(await world.audit(orgId)).toEqual([]);
    const { holds, counters } = await world.ledger.reads.inspect(orgId, async () => undefined);
    const amounts = [
      ...holds.map((hold) => hold.growth?.usd ?? 0n),
      ...counters.map((counter) => counter.growth),
    ];
    expect(amounts.filter((amount) => amount < 0n)).toEqual([]);
    const ids = new Set(holds.map(({ id }) => id));
    open.splice(0, open.length, ...open.filter(({ id }) => ids.has(id)));
  }

  try {
    for (let round = 0; round < rounds; round += 1) {
      const commands = Array.from({ length: commandsPerRound }, () =>
        random.weighted<() => Promise<string>>([
          [8, take],
          [10, increase],
          [5, settle],
          [2, end],
          [1, extend],
        ])(),
      );
      const expiring = [world.ledger, ...(other === undefined ? [] : [other])].map(async (one) => {
        await one.expiry.expireDue();
        return 'expire';
      });
      for (const what of await Promise.all([...commands, ...expiring])) {
        said.set(what, (said.get(what) ?? 0) + 1);
      }
      await check();
      await random.weighted<() => Promise<string>>([...between])();
      await check();
    }
    world.clock.advanceSeconds(86_400);
    // The lease of the process that expires an org must lapse first.
    await eventually(async () => {
      await Promise.all([world.expireAll(), other?.expiry.expireDue()]);
      expect(await world.ledger.reads.holds(orgId, { limit: 1, after: undefined })).toEqual([]);
    });
    await check();
    const { holds, counters } = await world.ledger.reads.inspect(orgId, async () => undefined);
    expect([holds, counters.filter(({ growth, held }) => growth !== 0n || held !== 0n)]).toEqual([[], []]);
    process.stdout.write(
      `growth on ${engine}, seed ${seed}: ${rounds * commandsPerRound} commands, ` +
        `${JSON.stringify(Object.fromEntries(said))}\n`,
    );
    expect([...said.keys()]).toEqual(
      expect.arrayContaining(['take held', 'increase changed', 'settle done', 'void changed']),
    );
  } finally {
    await other?.close();
    await db?.close();
    await world.close();
  }
});
