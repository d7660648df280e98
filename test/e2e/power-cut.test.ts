/**
 * Power cuts under load on the embedded engine. The next process starts from a copy that contains only what was synced: every
 * acknowledged effect is in it exactly once, holds stay held, no limit is exceeded, and the ledger balances.
 */
import { rmSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, describe, expect, test } from 'vitest';
import { type Administrators, startAdministrators } from '../support/administrators.ts';
import { endAllProcesses } from '../support/child-process.ts';
import { Random } from '../support/ledger-values.ts';
import { createSpendingOrg, nanos, type SpendingOrg, spending } from '../support/money.ts';
import { materialize, startRecorded } from '../support/power-cut.ts';
import { rounds } from '../support/rounds.ts';
import { seedsOf } from '../support/seeds.ts';
import { type ServiceProcess, settingsOf } from '../support/service-process.ts';
import { expectAcknowledged, expectRuns, limitSpenders, startSpenders } from '../support/spenders.ts';
import { engine, makePlace, type Place } from '../support/test-database.ts';

const cuts = rounds(2, 12);
const { seeds } = seedsOf('power-cut');
const limits = { budget: nanos('400'), customer: nanos('300'), credits: nanos('300') };

let places: Place[] = [];
afterEach(async () => {
  await endAllProcesses();
  for (const place of places) {
    rmSync(recordOf(place), { recursive: true, force: true });
    await place.remove();
  }
  places = [];
});

const recordOf = ({ dataDir }: Place) => `${dataDir}-record`;

async function newPlace(options: { migrated: boolean }): Promise<Place> {
  const place = await makePlace(options);
  places.push(place);
  return place;
}

function start(place: Place, settings: Record<string, string> = {}): Promise<ServiceProcess> {
  return startRecorded({ ...settingsOf(place), ...settings }, recordOf(place));
}

/** Ends the process as a power cut does, and returns a place with what is left. */
async function cut(place: Place, service: ServiceProcess): Promise<Place> {
  await service.end('SIGKILL');
  const left = await newPlace({ migrated: false });
  materialize(recordOf(place), place.dataDir, left.dataDir);
  return left;
}

async function spendingOrg(service: ServiceProcess): Promise<SpendingOrg> {
  const org = await createSpendingOrg(service);
  const through = spending(service, org);
  expect((await through.cap('500')).status).toBe(200);
  await limitSpenders(through, org.id, limits);
  return org;
}

describe.runIf(engine === 'embedded')('a power cut', () => {
  const settings = { SVC_IDEMPOTENCY_INFLIGHT_TAKEOVER_SECS: '1' };

  const title = `loses nothing that was acknowledged, ${cuts} times in a row under load (seed %d)`;
  test.each(seeds)(title, async (seed) => {
    const random = new Random(seed);
    let place = await newPlace({ migrated: true });
    let services = [await start(place, settings)];
    const org = await spendingOrg(services[0] as ServiceProcess);
    const spenders = startSpenders({ org, clients: 8, seed, services: () => services });
    const administrators: Administrators = startAdministrators(2, () => services);
    for (let round = 0; round < cuts; round += 1) {
      const enough = spenders.answers() + 40 + random.int(60);
      while (spenders.answers() < enough) {
        await pause(2);
      }
      const [service] = services as [ServiceProcess];
      services = [];
      place = await cut(place, service);
      const isQuiet = Promise.all([spenders.quiet(), administrators.quiet()]);
      services = [await start(place, settings)];
      await isQuiet;
      const through = spending(services[0] as ServiceProcess, org);
      await expectAcknowledged(through, spenders.acknowledged);
      await expectRuns(through, spenders.acknowledged);
      await administrators.expectAcknowledged(services[0] as ServiceProcess);
      spenders.goOn();
      administrators.goOn();
    }
    expect(spenders.cutOff(), 'requests that a cut interrupted').toBeGreaterThanOrEqual(cuts);
    await Promise.all([spenders.stop(), administrators.stop()]);
  });

  test('loses acknowledged data with SVC_DURABILITY=os', async () => {
    const place = await newPlace({ migrated: true });
    const service = await start(place, { SVC_DURABILITY: 'os' });
    const org = await createSpendingOrg(service);
    const left = await cut(place, service);
    const { status } = await spending(await start(left), org).decide({ estimated_cost_usd: '1' });
    expect(status).toBe(401);
  });

  test.runIf(cuts > 2)('right after the first start loses neither the keys nor the database', async () => {
    const place = await newPlace({ migrated: false });
    const service = await start(place);
    const org = await createSpendingOrg(service);
    const through = spending(service, org);
    await through.cap('10');
    const { json } = await through.decide({ estimated_cost_usd: '1' });
    const left = await cut(place, service);
    const after = spending(await start(left), org);
    expect((await after.run({ decision_id: json.decision_id, cost_usd: '0.5' })).status).toBe(201);
    await after.balanced();
  });
});
