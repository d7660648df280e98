/** Money on the embedded engine when its two stores diverge: the log of holds, and the database in its thread. */
import { execFileSync } from 'node:child_process';
import {
  closeSync,
  cpSync,
  fstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { openHoldLog } from '../../src/ledger/embedded/hold-log.ts';
import { type Database, DatabaseUnavailable } from '../../src/platform/db/database.ts';
import { endAllProcesses } from '../support/child-process.ts';
import { eventually } from '../support/eventually.ts';
import { type FaultyService, startFaulty } from '../support/faulty-service.ts';
import { holdOf, limitOf } from '../support/ledger-values.ts';
import { LedgerWorld } from '../support/ledger-world.ts';
import { countedBy, createSpendingOrg, nanos, type SpendingOrg, spending } from '../support/money.ts';
import { isSoak, rounds } from '../support/rounds.ts';
import { seedsOf } from '../support/seeds.ts';
import {
  type ServiceAnswer,
  type ServiceProcess,
  settingsOf,
  startPurser,
} from '../support/service-process.ts';
import { expectAcknowledged, expectRuns, limitSpenders, startSpenders } from '../support/spenders.ts';
import { engine, makePlace, type Place } from '../support/test-database.ts';

const { seeds } = seedsOf('money-faults-embedded');

const unavailable = { status: 503, code: 'service_unavailable' };
const openIds = async (service: ServiceProcess, org: SpendingOrg) =>
  (await spending(service, org).holds()).map(({ decision_id }) => decision_id);

/** `hold-log.test.ts` has the same two states in one process. */
describe.runIf(engine === 'embedded' && isSoak)('a crash between the two stores', () => {
  let place: Place;
  /** The service that the test before has left running. */
  let leftRunning: ServiceProcess | undefined;
  beforeAll(async () => {
    place = await makePlace({ migrated: true });
  });
  afterAll(async () => {
    await endAllProcesses();
    await place?.remove();
  });
  const inPlace = (name: string) => join(place.dataDir, name);

  test('a crash after the posting and before the log forgets does not bring the hold back', async () => {
    const service = await startPurser(settingsOf(place));
    const org = await createSpendingOrg(service);
    const through = spending(service, org);
    await through.cap('10');
    const decide = async () => (await through.decide({ estimated_cost_usd: '1' })).json.decision_id;
    const [settled, voided, open] = [await decide(), await decide(), await decide()];
    const running = (await through.run({ status: 'running', estimated_cost_usd: '1' })).json;
    cpSync(inPlace('holds'), inPlace('holds-before'), { recursive: true });
    const run = await through.run({ decision_id: settled, cost_usd: '0.5', external_id: 'settles' });
    expect(run.status, run.text).toBe(201);
    expect((await through.void(voided)).status).toBe(204);
    expect((await through.complete(running.id, { cost_usd: '0.25' })).status).toBe(200);
    await service.end('SIGKILL');
    rmSync(inPlace('holds'), { recursive: true });
    cpSync(inPlace('holds-before'), inPlace('holds'), { recursive: true });

    const restarted = await startPurser(settingsOf(place));
    leftRunning = restarted;
    expect(await openIds(restarted, org)).toEqual([open]);
    const after = spending(restarted, org);
    expect((await after.run({ decision_id: settled, cost_usd: '0.5', external_id: 'settles' })).json.id).toBe(
      run.json.id,
    );
    expect((await after.run({ decision_id: settled, cost_usd: '0.5' })).status).toBe(409);
    expect((await after.void(voided)).status).toBe(409);
    const left = await after.decide({ estimated_cost_usd: '8.250000001' });
    expect(left).toMatchObject({ status: 402, code: 'spend_cap_exceeded' });
    expect((await after.decide({ estimated_cost_usd: '8.25' })).status).toBe(200);
    expect(countedBy(await after.balanced(), 'spend_cap')).toEqual({
      settled: nanos('0.75'),
      held: nanos('9.25'),
    });
  });

  test('a crash after the log was written and before the posting leaves no hold for a run that never was', async () => {
    const service = leftRunning ?? (await startPurser(settingsOf(place)));
    const org = await createSpendingOrg(service);
    const through = spending(service, org);
    await through.cap('10');
    const { json: edge } = await through.decide({ estimated_cost_usd: '1' });
    const { json: opened } = await through.run({ status: 'running', estimated_cost_usd: '1' });
    // This state of the database is restored later. The process is suspended so that nothing is written during the
    // copy.
    await suspend(service);
    cpSync(inPlace('database'), inPlace('database-before'), { recursive: true });
    service.spawned.child.kill('SIGCONT');
    const lost = await through.run({ status: 'running', estimated_cost_usd: '3', external_id: 'lost' });
    expect(lost.status, lost.text).toBe(201);
    await service.end('SIGKILL');
    rmSync(inPlace('database'), { recursive: true });
    cpSync(inPlace('database-before'), inPlace('database'), { recursive: true });

    const restarted = await startPurser(settingsOf(place));
    const after = spending(restarted, org);
    expect((await after.runs()).map(({ id }) => id)).toEqual([opened.id]);
    expect(await openIds(restarted, org)).toEqual([edge.decision_id, opened.decision_id]);
    const retried = await after.run({ status: 'running', estimated_cost_usd: '3', external_id: 'lost' });
    expect(retried.status, retried.text).toBe(201);
    expect((await after.run({ cost_usd: '5' })).status).toBe(201);
    expect(countedBy(await after.balanced(), 'spend_cap')).toEqual({ settled: nanos('5'), held: nanos('5') });
  });
});

/** Stops every thread of the process, which takes a moment after the signal. */
async function suspend({ spawned: { child } }: ServiceProcess): Promise<void> {
  child.kill('SIGSTOP');
  const threads = `/proc/${child.pid}/task`;
  await eventually(() => {
    for (const id of readdirSync(threads)) {
      expect(readFileSync(join(threads, id, 'status'), 'utf8')).toMatch(/^State:\s+T/m);
    }
  });
}

/** The end of a hold was sent, its response was lost, and the database stays unavailable for a while. */
describe.runIf(engine === 'embedded')('a hold whose end is in doubt', () => {
  let world: LedgerWorld;
  let losesNext = false;
  let away = false;
  const unreliable = (db: Database): Database => ({
    ...db,
    query: (sql, params) => (away ? Promise.reject(new DatabaseUnavailable('away')) : db.query(sql, params)),
    transaction: (work, options) =>
      db.transaction(async (tx) => {
        const done = await work(tx);
        if (losesNext) {
          losesNext = false;
          away = true;
          throw new DatabaseUnavailable('lost');
        }
        return done;
      }, options),
  });
  beforeAll(async () => {
    world = await LedgerWorld.open({ wrap: unreliable });
  });
  afterAll(() => world?.close());

  test.each(['settle', 'void'] as const)(
    'a hold whose end is in doubt by a %s is neither ended nor open, until it is known',
    async (how) => {
      const orgId = await world.orgWith(limitOf({ id: 'cap', kind: 'spend_cap', capacity: nanos('10') }));
      const { id } = await world.held(orgId, '4');
      const other = await world.held(orgId, '1');
      const settle = () => world.post(orgId, '3', { decisionId: id, externalId: how });
      const end = how === 'settle' ? settle : () => world.ledger.void(orgId, id);
      losesNext = true;
      await expect(end()).rejects.toThrow(DatabaseUnavailable);
      // Transactions work again, but the outcome of the first attempt cannot be read yet. Other postings are not
      // affected.
      const others = [world.posted(orgId, '1', { decisionId: other.id }), world.posted(orgId, '0.5')];
      const attempts = [settle(), world.ledger.void(orgId, id), world.ledger.extend(orgId, id, 1_000)];
      for (const attempt of await Promise.allSettled(attempts)) {
        expect(attempt).toMatchObject({ status: 'rejected', reason: expect.any(DatabaseUnavailable) });
      }
      await Promise.all(others);
      away = false;
      const settled = await eventually(settle);
      expect(settled).toMatchObject({ kind: 'done', outcomes: [{ kind: 'posted', marks: [] }] });
      expect(Object.values(await world.counters(orgId))).toEqual([`${nanos('4.5')}+0`]);
      expect(await world.audit(orgId)).toEqual([]);
    },
  );
});

/** Returns whether a small file system can be mounted, which requires root. */
function canMount(): boolean {
  const directory = `/tmp/purser-mount-${process.pid}`;
  try {
    mkdirSync(directory);
    mount(directory);
    unmount(directory);
    return true;
  } catch {
    return false;
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}
const mount = (directory: string) =>
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=256k', 'purser-test', directory], { stdio: 'pipe' });
const unmount = (directory: string) => execFileSync('umount', ['-l', directory], { stdio: 'pipe' });

describe.runIf(engine === 'embedded' && canMount())('a full disk under the log of holds', () => {
  let place: Place;
  let holds: string;
  beforeAll(async () => {
    place = await makePlace({ migrated: true });
    holds = join(place.dataDir, 'holds');
    mkdirSync(holds);
    mount(holds);
  });
  afterAll(async () => {
    await endAllProcesses();
    unmount(holds);
    await place?.remove();
  });

  test('the hold log keeps every hold that it has confirmed, and writes again once there is space', async () => {
    const directory = join(holds, 'alone');
    const log = openHoldLog(directory, { durability: 'sync' });
    const acknowledged = ['dec_before'];
    await log.append([holdOf('dec_before')]);
    fill();
    // Until a line was truncated in the middle, and then one more.
    for (let failures = 0, n = 0; failures < 2; n += 1) {
      try {
        await log.append([holdOf(`dec_${n}`)]);
        acknowledged.push(`dec_${n}`);
      } catch (error) {
        expect(error).toBeInstanceOf(DatabaseUnavailable);
        failures += 1;
      }
    }
    rmSync(join(holds, 'filler'));
    await log.append([holdOf('dec_after')]);
    log.close();
    const again = openHoldLog(directory, { durability: 'sync' });
    expect(again.restore().map(({ hold }) => hold.id)).toEqual([...acknowledged, 'dec_after']);
    again.close();
    rmSync(directory, { recursive: true });
  });

  const title = 'refuses what has to be held, reads and charges go on, and it recovers unaided';
  test.runIf(isSoak)(title, async () => {
    const service = await startPurser(settingsOf(place));
    const org = await createSpendingOrg(service);
    const through = spending(service, org);
    await through.cap('1000');
    const decide = (key?: string) => through.decide({ estimated_cost_usd: '0.5' }, key);
    const before = (await decide()).json;
    expect(before.decision).toBe('allow');

    fill();
    // Many at once, so that a line is truncated in the middle; then one at a time, until not even one fits.
    const asked = await Promise.all(Array.from({ length: 50 }, (_, n) => decide(`together ${n}`)));
    do {
      asked.push(await decide());
    } while (asked.at(-1)?.status === 200);
    const allowed = asked.filter(({ status }) => status === 200);
    for (const answer of asked.filter((one) => !allowed.includes(one))) {
      expect(answer).toMatchObject(unavailable);
    }
    const refusals: Record<string, () => Promise<ServiceAnswer>> = {
      'a decision': () => decide(),
      'a decision with a key': () => decide('alone'),
      'a run that goes on': () =>
        through.run({ status: 'running', estimated_cost_usd: '0.5', external_id: 'r' }),
      'an extension': () => through.extend(before.decision_id, 3_600),
    };
    for (const [what, ask] of Object.entries(refusals)) {
      expect(await ask(), what).toMatchObject(unavailable);
    }
    expect((await through.run({ cost_usd: '1' })).status).toBe(201);
    const open = [before, ...allowed.map(({ json }) => json)].map(({ decision_id }) => decision_id).sort();
    expect((await openIds(service, org)).sort()).toEqual(open);
    const counted = countedBy(await through.balanced(), 'spend_cap');
    expect(counted).toEqual({ settled: nanos('1'), held: BigInt(open.length) * nanos('0.5') });

    rmSync(join(holds, 'filler'));
    for (const [what, ask] of Object.entries(refusals)) {
      const { status, text } = await ask();
      expect([200, 201], `${what}: ${text}`).toContain(status);
    }
    const openNow = (await openIds(service, org)).sort();
    expect(openNow).toHaveLength(open.length + 3);
    await service.end('SIGKILL');

    // The truncated lines did not damage the lines before and after them.
    const restarted = await startPurser(settingsOf(place));
    expect((await openIds(restarted, org)).sort()).toEqual(openNow);
    await spending(restarted, org).balanced();
  });

  test('a next file that cannot be begun is begun later, and nobody writes elsewhere meanwhile', async () => {
    const directory = join(place.dataDir, 'another');
    const log = openHoldLog(directory, { durability: 'sync', fileBytesMax: 1 });
    await log.append([holdOf('dec_1')]);
    renameSync(directory, `${directory}-away`);
    await expect(log.append([holdOf('dec_2')])).rejects.toThrow(DatabaseUnavailable);
    const bystander = openSync(join(place.dataDir, 'bystander'), 'a+');
    await expect(log.append([holdOf('dec_3')])).rejects.toThrow(DatabaseUnavailable);
    expect(fstatSync(bystander).size).toBe(0);
    closeSync(bystander);
    renameSync(`${directory}-away`, directory);
    await log.append([holdOf('dec_4')]);
    log.close();
    const again = openHoldLog(directory, { durability: 'sync' });
    expect(again.restore().map(({ hold }) => hold.id)).toEqual(['dec_1', 'dec_4']);
    again.close();
  });

  /** Fills the file system, except for the rest of the last block of the log. */
  function fill(): void {
    for (let full = false; !full; ) {
      try {
        writeFileSync(join(holds, 'filler'), Buffer.alloc(4_096), { flag: 'a' });
      } catch {
        full = true;
      }
    }
  }
});

describe.runIf(engine === 'embedded')("the database's thread", () => {
  let place: Place;
  beforeAll(async () => {
    place = await makePlace({ migrated: true });
  });
  afterEach(endAllProcesses);
  afterAll(() => place?.remove());

  const deathsMax = rounds(1, 3);
  const title = `dies under load ${deathsMax} times: 503 until it is back, and nothing is lost or posted twice (seed %d)`;
  test.each(seeds)(title, async (seed) => {
    const settings = { ...settingsOf(place), SVC_IDEMPOTENCY_INFLIGHT_TAKEOVER_SECS: '1' };
    const service: FaultyService = await startFaulty(settings);
    const org = await createSpendingOrg(service);
    const through = spending(service, org);
    await through.cap('500');
    const limits = { budget: nanos('400'), customer: nanos('300'), credits: nanos('300') };
    await limitSpenders(through, org.id, limits);
    const other = spending(service, await createSpendingOrg(service));
    await other.cap('1');
    expect((await other.decide({ estimated_cost_usd: '0.1' })).status).toBe(200);
    const spenders = startSpenders({ org, clients: 8, seed, services: () => [service] });

    for (let deaths = 0; deaths < deathsMax; deaths += 1) {
      const before = spenders.answers();
      await eventually(() => expect(spenders.answers()).toBeGreaterThan(before + 50));
      const { backAgain } = await service.endDatabaseThread();
      const asked = await Promise.all([
        other.decide({ estimated_cost_usd: '0.01' }),
        other.decide({ estimated_cost_usd: '0.01' }, `away ${deaths}`),
        other.run({ cost_usd: '0.01' }),
        other.run({ estimated_cost_usd: '0.01', status: 'running' }),
        other.send('GET', '/v1/runs?limit=1'),
      ]);
      expect(asked.map(({ status, code }) => ({ status, code }))).toEqual(asked.map(() => unavailable));
      await backAgain;
    }
    const before = spenders.answers();
    await eventually(() => expect(spenders.answers()).toBeGreaterThan(before + 50));
    await spenders.quiet();
    await expectAcknowledged(through, spenders.acknowledged);
    spenders.goOn();
    await spenders.stop();
    await expectAcknowledged(through, spenders.acknowledged);
    await expectRuns(through, spenders.acknowledged);
    expect(countedBy(await other.balanced(), 'spend_cap')).toEqual({ settled: 0n, held: nanos('0.1') });
  });
});
