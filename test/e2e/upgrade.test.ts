/**
 * Upgrades and rollbacks under load: processes of two versions side by side on PostgreSQL, one after the other on the
 * embedded engine. No request fails except with a retriable 503, and the ledger stays exact.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, describe, expect, test } from 'vitest';
import { findLastRelease } from '../../scripts/release/last-release.ts';
import { version } from '../../src/config/version.ts';
import { formatUsd } from '../../src/kernel/money.ts';
import { migrate, readMigrations } from '../../src/platform/db/migrate.ts';
import { parseMigration } from '../../src/platform/db/migration-files.ts';
import { endAllProcesses } from '../support/child-process.ts';
import { eventually } from '../support/eventually.ts';
import { createSpendingOrg, nanos, type SpendingOrg, spending } from '../support/money.ts';
import { copyProgram, type Program, unpackProgram } from '../support/programs.ts';
import { type ServiceProcess, settingsOf } from '../support/service-process.ts';
import {
  expectAcknowledged,
  expectRuns,
  limitSpenders,
  type Spenders,
  startSpenders,
} from '../support/spenders.ts';
import { engine, makePlace, openPlace, type Place } from '../support/test-database.ts';

const clients = 8;
const seed = 18;
const answersPerStep = 50;
const plenty = { budget: nanos('1000'), customer: nanos('1000'), credits: nanos('1000') };

/** A later version, with a migration of each phase. Its contract migration removes what only older versions are said to need. */
const laterVersion = '99.0.0';
const laterMigrations = {
  '9001_teapots.sql': `-- phase: expand
-- readable-from: ${version}
ALTER TABLE runs ADD COLUMN IF NOT EXISTS teapot text;
ALTER TABLE orgs ADD COLUMN IF NOT EXISTS teapots int4 NOT NULL DEFAULT 0;
`,
  '9002_teapots_of_orgs.sql': `-- phase: backfill
-- readable-from: ${version}
WITH batch AS (SELECT id FROM orgs WHERE id > $1 ORDER BY id LIMIT 1),
changed AS (UPDATE orgs SET teapots = 1 FROM batch WHERE orgs.id = batch.id)
SELECT max(id) AS next_cursor FROM batch
`,
  '9003_teapots_only.sql': `-- phase: contract
-- readable-from: ${laterVersion}
ALTER TABLE orgs DROP COLUMN IF EXISTS teapots;
`,
};

let place: Place;
let settings: Record<string, string>;
let services: ServiceProcess[] = [];
let org: SpendingOrg;
let spenders: Spenders;
const programs: Program[] = [];

afterEach(async () => {
  await endAllProcesses();
  services = [];
  for (const program of programs.splice(0)) {
    program.remove();
  }
  await place?.remove();
});

function use(program: Program): Program {
  programs.push(program);
  return program;
}

/** The older version creates the database. */
async function begin(older: Program): Promise<void> {
  place = await makePlace({ migrated: false });
  settings = settingsOf(place);
  services = [await older.serve(settings)];
  const [first] = services as [ServiceProcess];
  org = await createSpendingOrg(first);
  const through = spending(first, org);
  await limitSpenders(through, org.id, plenty);
  expect((await through.cap(formatUsd(plenty.budget))).status).toBe(200);
  spenders = startSpenders({ org, clients, seed, services: () => services });
}

async function answersMore(count: number): Promise<void> {
  const enough = spenders.answers() + count;
  // Without a deadline: if responses stop, the timeout of the test ends it.
  while (spenders.answers() < enough) {
    await pause(5);
  }
}

/** Replaces all processes with two of this version, or the one of the embedded engine, while requests continue. */
async function replaceWith(program: Program): Promise<void> {
  if (engine === 'embedded') {
    await stopFirst();
    services = [await program.serve(settings)];
    await answersMore(answersPerStep);
    return;
  }
  const before = services.length;
  for (let added = 0; added < 2; added += 1) {
    services = [...services, await program.serve(settings)];
    await answersMore(answersPerStep);
  }
  for (let left = before; left > 0; left -= 1) {
    await stopFirst();
    await answersMore(answersPerStep);
  }
}

/** Takes the process out of the load balancer, then stops it. */
async function stopFirst(): Promise<void> {
  const [first, ...others] = services as [ServiceProcess, ...ServiceProcess[]];
  services = others;
  expect(await first.end('SIGTERM')).toEqual({ code: 0, signal: null });
}

async function expectExactLedger(): Promise<void> {
  await spenders.quiet();
  const through = spending(services[0] as ServiceProcess, org);
  await expectAcknowledged(through, spenders.acknowledged);
  await expectRuns(through, spenders.acknowledged);
}

async function run(program: Program, ...args: string[]): Promise<{ code: number | null; output: string }> {
  const spawned = program.run(args, settings);
  const { code } = await spawned.ended;
  return { code, output: spawned.stdout() + spawned.stderr() };
}

/** Up, back, up again, and on: `contracted` runs once the older version is gone for good. */
async function upgradeAndBack(
  older: Program,
  newer: Program,
  contracted: () => Promise<void>,
): Promise<void> {
  await begin(older);
  await answersMore(answersPerStep);
  await replaceWith(newer);
  await replaceWith(older);
  await expectExactLedger();
  spenders.goOn();
  await replaceWith(newer);
  if (engine === 'embedded') {
    // The command needs the database for itself.
    await stopFirst();
    await contracted();
    services = [await newer.serve(settings)];
  } else {
    await contracted();
  }
  await answersMore(answersPerStep);
  await spenders.stop();
  const { runs, holds } = spenders.acknowledged;
  process.stdout.write(
    `upgrade ${older.version} to ${newer.version} on ${engine}: ${spenders.answers()} responses, ${runs.size} runs, ` +
      `${holds.size} open holds, ${spenders.cutOff()} requests cut off\n`,
  );
  await expectExactLedger();
  expect(spenders.cutOff(), 'requests that a stop cut off').toBe(0);
}

test('a later version runs beside this one and back, until its contract migration', async () => {
  const older = use(copyProgram());
  const newer = use(copyProgram({ version: laterVersion, migrations: laterMigrations }));
  await upgradeAndBack(older, newer, async () => {
    if (engine === 'postgres') {
      // An older process keeps running, so nothing may be removed yet.
      services = [...services, await older.serve(settings)];
      expect(await run(newer, 'migrate', '--contract')).toEqual({
        code: 1,
        output: expect.stringMatching(new RegExp(`older processes are running: 1 of ${version}`)),
      });
      services = services.toReversed();
      await stopFirst();
    }
    expect((await run(newer, 'migrate', '--dry-run')).output).toContain('postponed 9003_teapots_only.sql');
    const { code, output } = await run(newer, 'migrate', '--contract');
    expect([code, output]).toEqual([0, expect.stringContaining('applied 9003_teapots_only.sql')]);
    expect(await run(older, 'serve')).toEqual({
      code: 1,
      output: expect.stringContaining(
        `9003_teapots_only.sql, which Purser ${version} cannot read; run ${laterVersion} or newer`,
      ),
    });
  });
});

const released = process.env.PURSER_TEST_RELEASE ?? findLastRelease()?.file;
if (released === undefined) {
  process.stdout.write('There is no release yet, so the upgrade from the last release is not tested.\n');
}
test.runIf(released !== undefined)('this version runs beside the last release, and back', async () => {
  const older = use(unpackProgram(released as string));
  const newer = use(copyProgram());
  await upgradeAndBack(older, newer, async () => {
    expect((await run(newer, 'migrate', '--contract')).code).toBe(0);
  });
});

describe.runIf(engine === 'postgres')('a process that meets a schema it cannot read', () => {
  const contract = parseMigration(
    '9001_holds_without_record.sql',
    `-- phase: contract\n-- readable-from: ${laterVersion}\nALTER TABLE holds RENAME COLUMN record TO body_text;\n`,
  );

  test('answers 503, never 500, and is not ready', async () => {
    const older = use(copyProgram());
    place = await makePlace({ migrated: true });
    settings = settingsOf(place);
    const service = await older.serve(settings);
    const decisions = startDecisions(service, await createSpendingOrg(service));
    await eventually(() => expect(decisions.seen.has('200')).toBe(true));
    const db = await openPlace(place);
    const migrations = [...(await readMigrations()), contract];
    // The process is alive. Its missing heartbeat is that of a process that was stalled for ten seconds.
    await eventually(async () => {
      await db.query('DELETE FROM processes', []);
      await migrate(db, migrations, { build: laterVersion, contract: true });
    });
    await db.close();
    await eventually(() => expect(decisions.seen.has('503 service_unavailable')).toBe(true));
    // Readiness follows with the next write probe.
    await eventually(async () =>
      expect((await service.request('GET', '/readyz', { key: null })).status).toBe(503),
    );
    expect((await service.request('GET', '/healthz', { key: null })).status).toBe(200);
    await decisions.stop();
    expect(decisions.seen).toEqual(new Set(['200', '503 service_unavailable']));
    const fatal = service.log().filter(({ level }) => level === 'fatal');
    expect(fatal).toHaveLength(1);
    expect(JSON.stringify(fatal)).toContain(`cannot read; run ${laterVersion} or newer`);
    expect(await service.end('SIGTERM')).toEqual({ code: 0, signal: null });
  });
});

/** Clients that ask for decisions continuously, whatever the responses are. */
function startDecisions(service: ServiceProcess, of: SpendingOrg) {
  const seen = new Set<string>();
  let stopped = false;
  const client = async () => {
    while (!stopped) {
      const { status, code } = await spending(service, of).decide({ estimated_cost_usd: '0.01' });
      seen.add([status, code].filter((part) => part !== undefined).join(' '));
    }
  };
  const done = Promise.all(Array.from({ length: clients }, client));
  return {
    seen,
    async stop() {
      stopped = true;
      await done;
    },
  };
}
