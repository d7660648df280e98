/**
 * While the database is unavailable, requests that need it promptly get 503. Afterwards the service recovers by itself.
 */
import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { appendDated } from '../../src/capabilities/compliance/audit/audit.ts';
import { lockChain } from '../../src/capabilities/compliance/audit/head-queries.ts';
import type { Database } from '../../src/platform/db/database.ts';
import { generateKey } from '../../src/platform/http/routes/key-format.ts';
import { OverCapacity } from '../../src/platform/service-unavailable.ts';
import { endAllProcesses } from '../support/child-process.ts';
import { expectEachOnce, expectOnlyUnavailability, startLoad } from '../support/client-load.ts';
import { eventually } from '../support/eventually.ts';
import { type FaultyService, startFaulty } from '../support/faulty-service.ts';
import { type Cluster, findPostgres, startCluster } from '../support/postgres-cluster.ts';
import { scratch } from '../support/scratch.ts';
import {
  operatorKey,
  retryWhile,
  type ServiceProcess,
  settingsOf,
  startPurser,
} from '../support/service-process.ts';
import { engine, makePlace, openPlace, type Place } from '../support/test-database.ts';

const unavailable = { status: 503, code: 'service_unavailable' };
const takeoverSoon = { SVC_IDEMPOTENCY_INFLIGHT_TAKEOVER_SECS: '1' };

afterEach(endAllProcesses);

const ready = async (service: ServiceProcess) => (await service.request('GET', '/readyz')).status;

describe.runIf(engine === 'postgres')('PostgreSQL', () => {
  let cluster: Cluster;
  let place: Place;
  beforeAll(async () => {
    cluster = await startCluster(findPostgres() ?? '', scratch);
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
    await eventually(() => expect(load.answers.length).toBeGreaterThan(100));
    await cluster[way]();

    // A cached key, a revoked key and an unknown key: without the database they get the same response.
    for (const key of [good?.secret, revoked?.secret, generateKey('test')]) {
      expect(await askWith(service, key)).toMatchObject(unavailable);
    }
    await eventually(async () => expect(await ready(service)).toBe(503));
    expect((await service.request('GET', '/healthz')).status).toBe(200);
    expect(await service.request('POST', '/v1/admin/orgs', { body: { name: 'Never' } })).toMatchObject(
      unavailable,
    );

    // All clients get a 503 before the database is started again.
    await load.allRefused();
    await cluster.start();
    await eventually(async () => expect(await ready(service)).toBe(200));
    await eventually(() => expect(load.answers.at(-1)?.status).toBe(201));
    names.push(...(await load.stop()));
    expectOnlyUnavailability(load.answers);
    expect(await askWith(service, revoked?.secret)).toMatchObject({ status: 410 });
    await service.end('SIGTERM');
    await expectEachOnce(place, names);
  });

  test('an export breaks off when the database goes away, and goes on by its cursor when it is back', async () => {
    const entries = 3_000;
    const service = await startPurser(settingsOf(place));
    await writeLongLog(entries);
    const path = (cursor: number) =>
      `/v1/admin/audit-log/export?from=2026-01-01T00:00:00Z&to=2026-03-01T00:00:00Z&cursor=${cursor}`;
    const sent = get(service.url + path(0), { headers: { authorization: `Bearer ${operatorKey}` } });
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    expect(response.statusCode).toBe(200);
    // The client has not read the response yet, so most of the log is still in the database.
    await cluster.kill();
    const broken = once(response, 'error');
    let text = '';
    response.setEncoding('utf8').on('data', (chunk) => {
      text += chunk;
    });
    expect(await broken).toMatchObject([{ code: 'ECONNRESET' }]);
    const seqs = (lines: string) =>
      lines
        .slice(0, lines.lastIndexOf('\n'))
        .split('\n')
        .map((line) => JSON.parse(line).seq as number);
    const arrived = seqs(text);
    expect([arrived.length > 0, arrived.length < entries]).toEqual([true, true]);

    await cluster.start();
    await eventually(async () => expect(await ready(service)).toBe(200));
    const rest = await service.request('GET', path(arrived.at(-1) ?? 0));
    const first = arrived[0] ?? 0;
    const all = Array.from({ length: entries }, (_, n) => first + n);
    expect([...arrived, ...seqs(rest.text)]).toEqual(all);
  });

  /** Writes more than fits into the buffers between the database and a client that does not read. */
  async function writeLongLog(entries: number): Promise<void> {
    const db = await openPlace(place);
    const note = 'x'.repeat(10_000);
    await db.transaction(
      async (tx) => {
        const drafts = Array.from({ length: entries }, (_, n) => ({
          id: `aud_${n}`,
          at: '2026-02-01T00:00:00.000Z',
          actorKind: 'operator',
          actorId: 'key_1',
          action: 'plans.create',
          outcome: 'success' as const,
          code: null,
          targetKind: 'plan',
          targetId: `pln_${n}`,
          before: null,
          after: { note },
          detail: null,
          address: null,
          traceId: null,
        }));
        const heads = { isGenuine: () => true, macAfter: () => null };
        await appendDated(tx, heads, 'platform', await lockChain(tx, 'platform'), drafts);
        // Writing this many entries may take longer than the statement timeout of a request.
      },
      { patient: true },
    );
    await db.close();
  }

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
      await eventually(() => expect(load.answers.length).toBeGreaterThan(before + 50));
      const { backAgain } = await service.endDatabaseThread();
      expect(await service.request('GET', '/v1/admin/orgs?name=unseen')).toMatchObject(unavailable);
      await backAgain;
      await eventually(() => expect(load.answers.at(-1)?.status).toBe(201));
    }
    const names = await load.stop();
    expectOnlyUnavailability(load.answers);
    await eventually(async () => expect(await ready(service)).toBe(200));
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
    // The restarted thread does not know the transaction, so the commit must not be sent to it.
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
  /** The embedded engine keeps the last tenth of its places for other tenants (`FairShare`). */
  const waitingMax = engine === 'embedded' ? 900 : 1_000;
  const tooMany = 100;

  test('the queue in front of the database is bounded: those beyond are refused at once, those within are served', async () => {
    const place = await makePlace({ migrated: true });
    const db = await openPlace(place);
    const letGo = await occupy(db, engine === 'postgres' ? 10 : 1);
    let refusals = 0;
    const asked = Array.from({ length: waitingMax + tooMany }, () =>
      db.query('SELECT 1 AS one', []).catch((error: unknown) => {
        expect(error).toBeInstanceOf(OverCapacity);
        refusals += 1;
        return undefined;
      }),
    );
    await eventually(() => expect(refusals).toBe(tooMany));
    expect(db.stats().waiting).toBe(waitingMax);
    await letGo();
    const answers = await Promise.all(asked);
    expect(answers.filter((rows) => rows !== undefined)).toHaveLength(waitingMax);
    expect(refusals).toBe(tooMany);
    await db.close();
    await place.remove();
  });

  /** Holds this many connections in open transactions until the returned function is called. */
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
