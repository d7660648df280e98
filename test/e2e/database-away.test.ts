/** While the database is away every answer is 503, soon; when it is back the service needs no help. */
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { type Database, DatabaseUnavailable } from '../../src/platform/db/database.ts';
import { generateKey } from '../../src/platform/http/key-format.ts';
import { endAllProcesses, processTimeouts } from '../support/child-process.ts';
import { expectEachOnce, expectOnlyUnavailability, startLoad } from '../support/client-load.ts';
import { type FaultyService, startFaulty } from '../support/faulty-service.ts';
import { type Cluster, findPostgres, startCluster } from '../support/postgres-cluster.ts';
import { retryWhile, type ServiceProcess, settingsOf } from '../support/service-process.ts';
import { engine, makePlace, openPlace, type Place } from '../support/test-database.ts';

vi.setConfig(processTimeouts);

const boundMs = 10_000;
const unavailable = { status: 503, code: 'service_unavailable' };
const takeoverSoon = { SVC_IDEMPOTENCY_INFLIGHT_TAKEOVER_SECS: '1' };
const recovery = { timeout: 30_000, interval: 50 };

afterEach(endAllProcesses);

const ready = async (service: ServiceProcess) => (await service.request('GET', '/readyz')).status;

describe.runIf(engine === 'postgres')('PostgreSQL', () => {
  let cluster: Cluster;
  let place: Place;
  beforeAll(async () => {
    cluster = await startCluster(findPostgres() ?? '');
    const { dataDir, remove } = await makePlace({ migrated: true });
    place = { dataDir, remove, databaseUrl: cluster.url };
  });
  afterAll(async () => {
    await cluster?.remove();
    await place?.remove();
  });

  const names: string[] = [];
  test.each(['stop', 'kill'] as const)('after a %s under load', async (way) => {
    const service = await startFaulty({ ...settingsOf(place), ...takeoverSoon });
    const [good, revoked] = await Promise.all(['good', 'revoked'].map((name) => mintOperator(service, name)));
    expect((await service.request('DELETE', `/v1/admin/keys/${revoked?.id}`)).status).toBe(204);
    expect(await askWith(service, revoked?.secret)).toMatchObject({ status: 410 });
    expect(await askWith(service, good?.secret)).toMatchObject({ status: 200 });

    const load = startLoad(service, way);
    await vi.waitFor(() => expect(load.answers.length).toBeGreaterThan(100), recovery);
    await cluster[way]();

    // A key that was remembered, one that was revoked, one that never was: nobody can tell them apart now.
    for (const key of [good?.secret, revoked?.secret, generateKey('test')]) {
      const answer = await askWith(service, key);
      expect(answer).toMatchObject(unavailable);
      expect(answer.tookMs).toBeLessThan(boundMs);
    }
    expect(await ready(service)).toBe(503);
    expect((await service.request('GET', '/healthz')).status).toBe(200);
    expect(await service.request('POST', '/v1/admin/orgs', { body: { name: 'Never' } })).toMatchObject(
      unavailable,
    );

    await cluster.start();
    await vi.waitFor(async () => expect(await ready(service)).toBe(200), recovery);
    await vi.waitFor(() => expect(load.answers.at(-1)?.status).toBe(201), recovery);
    names.push(...(await load.stop()));
    expectOnlyUnavailability(load.answers, boundMs);
    expect(await askWith(service, revoked?.secret)).toMatchObject({ status: 410 });
    await service.end('SIGTERM');
    await expectEachOnce(place, names);
  });

  async function mintOperator(service: ServiceProcess, name: string) {
    const { status, json } = await service.request('POST', '/v1/admin/keys', { body: { name } });
    expect(status).toBe(201);
    return json as { id: string; secret: string };
  }
  const askWith = (service: ServiceProcess, key: string | undefined) =>
    service.request('GET', '/v1/admin/orgs?limit=1', { key: key ?? null });
});

describe.runIf(engine === 'embedded')("the embedded engine's thread", () => {
  let place: Place;
  let service: FaultyService;
  beforeAll(async () => {
    place = await makePlace({ migrated: true });
  });
  afterAll(() => place?.remove());

  test('dies under load, twice', async () => {
    service = await startFaulty({ ...settingsOf(place), ...takeoverSoon });
    const load = startLoad(service, 'thread');
    for (let deaths = 0; deaths < 2; deaths += 1) {
      const before = load.answers.length;
      await vi.waitFor(() => expect(load.answers.length).toBeGreaterThan(before + 50), recovery);
      const { backAgain } = await service.endDatabaseThread();
      expect(await service.request('GET', '/v1/admin/orgs?name=unseen')).toMatchObject(unavailable);
      expect(await ready(service)).toBe(503);
      await backAgain;
      await vi.waitFor(() => expect(load.answers.at(-1)?.status).toBe(201), recovery);
    }
    const names = await load.stop();
    expectOnlyUnavailability(load.answers, boundMs);
    expect(await ready(service)).toBe(200);
    await service.end('SIGTERM');
    await expectEachOnce(place, names);
  });

  test('dies in the middle of a transaction: no part of it is kept or acknowledged', async () => {
    const whole = await makePlace({ migrated: true });
    service = await startFaulty({ ...settingsOf(whole), ...takeoverSoon });
    const create = () =>
      service.request('POST', '/v1/admin/orgs', { body: { name: 'Whole' }, idempotencyKey: 'whole' });
    const held = await service.holdAt('write.before_commit', 'orgs.create');
    const cutOff = create();
    await held.reached;
    const { backAgain } = await service.endDatabaseThread();
    await backAgain;
    // The thread that is back knows nothing of the transaction, so it must not be asked to commit it.
    held.goOn();
    expect(await cutOff).toMatchObject(unavailable);
    const answer = await retryWhile(['idempotency_key_processing', 'service_unavailable'], create);
    expect(answer).toMatchObject({ status: 201, replayed: false });
    await service.end('SIGTERM');
    await expectEachOnce(whole, ['Whole']);
    await whole.remove();
  });
});

describe('the queue in front of the database', () => {
  const waitingMax = 1_000;
  const tooMany = 100;

  test('is bounded: those beyond are refused at once, those within are served', async () => {
    const place = await makePlace({ migrated: true });
    const db = await openPlace(place);
    const letGo = await occupy(db, engine === 'postgres' ? 10 : 1);
    let refusals = 0;
    const asked = Array.from({ length: waitingMax + tooMany }, () =>
      db.query('SELECT 1 AS one', []).catch((error: unknown) => {
        expect(error).toBeInstanceOf(DatabaseUnavailable);
        refusals += 1;
        return undefined;
      }),
    );
    await vi.waitFor(() => expect(refusals).toBe(tooMany));
    expect(db.stats().waiting).toBe(waitingMax);
    await letGo();
    const answers = await Promise.all(asked);
    expect(answers.filter((rows) => rows !== undefined)).toHaveLength(waitingMax);
    expect(refusals).toBe(tooMany);
    await db.close();
    await place.remove();
  });

  /** Holds so many connections in transactions, until the returned function is called. */
  async function occupy(db: Database, connections: number): Promise<() => Promise<unknown>> {
    let release = () => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    const held: Promise<void>[] = [];
    for (let n = 0; n < connections; n += 1) {
      await new Promise<void>((holding) => {
        const transaction = db.transaction(async () => {
          holding();
          await released;
        });
        held.push(transaction);
      });
    }
    return () => {
      release();
      return Promise.all(held);
    };
  }
});
