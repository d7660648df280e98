/**
 * Backups that are taken while money is spent. Each is restored into a new place and compared with what clients know: what was
 * acknowledged before the backup is in it, an ended hold is not open again, and the ledger balances (`purser restore` verifies
 * that, and every table).
 */
import { randomUUID } from 'node:crypto';
import { copyFileSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { afterEach, expect, test } from 'vitest';
import { readStoredHolds } from '../../src/ledger/embedded/stored-holds.ts';
import { endAllProcesses, runPurser } from '../support/child-process.ts';
import { createSpendingOrg, spending } from '../support/money.ts';
import { rounds } from '../support/rounds.ts';
import { type ServiceProcess, settingsOf, startPurser } from '../support/service-process.ts';
import { engine, makePlace, openPlace, type Place } from '../support/test-database.ts';

const backups = rounds(1, 20);
/** Twenty restores take long on a busy machine. */
const timeout = rounds(600_000, 3_600_000);
const clients = 6;

let places: Place[] = [];
afterEach(async () => {
  await endAllProcesses();
  await Promise.all(places.map((place) => place.remove()));
  places = [];
});

async function newPlace(migrated: boolean): Promise<Place> {
  const place = await makePlace({ migrated });
  places.push(place);
  return place;
}

/** What clients know about decisions and runs. */
class Known {
  readonly held = new Set<string>();
  /** Ends that were sent, whatever the answer. */
  readonly endSent = new Set<string>();
  readonly ended = new Set<string>();
  readonly runs = new Set<string>();

  copy() {
    return { held: new Set(this.held), ended: new Set(this.ended), runs: new Set(this.runs) };
  }
}

/** Repeats a request that the service is too busy for, as clients do. By its key it counts once. */
async function acknowledged<Answer extends { readonly status: number }>(
  send: (idempotencyKey: string) => Promise<Answer>,
): Promise<Answer> {
  const key = randomUUID();
  for (;;) {
    const answer = await send(key);
    if (answer.status !== 503) {
      return answer;
    }
    await setTimeout(100);
  }
}

/** Takes holds; settles some, voids some, leaves the rest open. */
async function spend(
  through: ReturnType<typeof spending>,
  known: Known,
  isOver: () => boolean,
  client: number,
): Promise<void> {
  for (let turn = client; !isOver(); turn += 1) {
    const call = {
      estimated_cost_usd: '0.01',
      workflow: `w${turn % 5}`,
      // Longer than the test takes: an expired hold would look lost.
      expires_in_seconds: 86_400,
    };
    const decision = await acknowledged((key) => through.decide(call, key));
    expect(decision.status, decision.text).toBe(200);
    const id = decision.json.decision_id as string;
    known.held.add(id);
    if (turn % 4 === 0) {
      continue;
    }
    known.endSent.add(id);
    if (turn % 4 === 1) {
      expect((await acknowledged((key) => through.void(id, key))).status).toBe(204);
    } else {
      const spent = { workflow: call.workflow, cost_usd: '0.007', input_tokens: 1, output_tokens: 1 };
      const run = await acknowledged((key) => through.run({ decision_id: id, ...spent }, key));
      expect(run.status, run.text).toBe(201);
      known.runs.add(run.json.id as string);
    }
    known.ended.add(id);
  }
}

async function restored(place: Place): Promise<{ runs: Set<string>; holds: Set<string> }> {
  const db = await openPlace(place);
  try {
    const runs = await db.query<{ run_id: string }>('SELECT run_id FROM run_identities', []);
    const holds =
      engine === 'embedded'
        ? (await readStoredHolds(db, join(place.dataDir, 'holds'))).map(({ id }) => id)
        : (await db.query<{ id: string }>('SELECT id FROM holds', [])).map(({ id }) => id);
    return { runs: new Set(runs.map(({ run_id }) => run_id)), holds: new Set(holds) };
  } finally {
    await db.close();
  }
}

async function mustSucceed(args: readonly string[], settings: Record<string, string>): Promise<string> {
  const { code, stdout, stderr } = await runPurser([...args], settings);
  expect(code, stderr).toBe(0);
  return stdout + stderr;
}

test('a backup under load restores to one instant, without drift', { timeout }, async () => {
  const place = await newPlace(true);
  const settings = settingsOf(place);
  const service: ServiceProcess = await startPurser(settings);
  const org = await createSpendingOrg(service);
  const through = spending(service, org);
  expect((await through.cap('100000')).status).toBe(200);
  const known = new Known();
  let over = false;
  const load = Promise.all(
    Array.from({ length: clients }, (_, client) => spend(through, known, () => over, client)),
  );
  load.catch(() => undefined);
  const table: string[] = [];
  for (let round = 1; round <= backups; round += 1) {
    const file = join(place.dataDir, `backup-${round}`);
    const before = known.copy();
    const output = await mustSucceed(['backup', file, '--url', service.url], settings);
    const endSent = new Set(known.endSent);
    const target = await newPlace(false);
    copyFileSync(join(place.dataDir, 'secrets-key'), join(target.dataDir, 'secrets-key'));
    const report = await mustSucceed(['restore', file], settingsOf(target));
    expect(report).toMatch(/tables {6}equal to the source/);
    expect(report).toMatch(/1 organization, .* no drift/);
    const there = await restored(target);
    const lostRuns = [...before.runs].filter((id) => !there.runs.has(id));
    const lostHolds = [...before.held].filter((id) => !endSent.has(id) && !there.holds.has(id));
    const reopened = [...before.ended].filter((id) => there.holds.has(id));
    expect({ lostRuns, lostHolds, reopened }).toEqual({ lostRuns: [], lostHolds: [], reopened: [] });
    const paused = /paused for (\d+) ms/.exec(output)?.[1] ?? '0';
    table.push(
      `${round}/${backups}: ${there.runs.size} runs, ${there.holds.size} open holds, paused ${paused} ms, drift 0, lost 0, reopened 0`,
    );
    await target.remove();
  }
  over = true;
  await load;
  await through.reconcile();
  expect(known.runs.size).toBeGreaterThan(0);
  if (backups > 1) {
    process.stdout.write(`${table.join('\n')}\n`);
  }
  // No copy of the data is left behind.
  const snapshots = join(place.dataDir, 'snapshots');
  expect(existsSync(snapshots) ? readdirSync(snapshots) : []).toEqual([]);
});

test('restore refuses what it must not overwrite or could not use, and changes nothing then', async () => {
  const place = await newPlace(true);
  const settings = settingsOf(place);
  const service = await startPurser(settings);
  await createSpendingOrg(service);
  await service.end('SIGTERM');
  const file = join(place.dataDir, 'backup');
  await mustSucceed(['backup', file], settings);
  const refused = async (args: string[], env: Record<string, string>) => {
    const { code, stderr } = await runPurser(args, env);
    expect(code).toBe(1);
    return stderr;
  };
  expect(await refused(['backup', file], settings)).toMatch(/already exists/);
  expect(await refused(['restore', file], settings)).toMatch(/already has a database|not empty/);

  const target = await newPlace(false);
  const elsewhere = settingsOf(target);
  expect(await refused(['restore', file], elsewhere)).toMatch(/no key to open them/);
  const otherKey = { ...elsewhere, SVC_SECRETS_KEY: Buffer.alloc(32, 5).toString('hex') };
  expect(await refused(['restore', file], otherKey)).toMatch(/SVC_SECRETS_KEY cannot open the secrets/);
  const damaged = join(place.dataDir, 'damaged');
  writeFileSync(damaged, readFileSync(file).subarray(0, -100));
  copyFileSync(join(place.dataDir, 'secrets-key'), join(target.dataDir, 'secrets-key'));
  expect(await refused(['restore', damaged], elsewhere)).toMatch(/SHA-256/);
  expect(existsSync(join(target.dataDir, 'database'))).toBe(false);
  expect(await mustSucceed(['restore', file, '--check'], elsewhere)).toMatch(/backup {6}ok/);
  expect(existsSync(join(target.dataDir, 'database'))).toBe(false);
});
