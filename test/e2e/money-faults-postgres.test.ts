/**
 * Money while PostgreSQL is disconnected, killed or frozen: 503 with the error envelope, never an allow that is missing
 * in the ledger, and one effect for a request that is retried.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { endAllProcesses } from '../support/child-process.ts';
import { eventually } from '../support/eventually.ts';
import { freezePostgres } from '../support/frozen-postgres.ts';
import {
  countedBy,
  createSpendingOrg,
  nanos,
  type Spending,
  type SpendingOrg,
  spending,
} from '../support/money.ts';
import { type Cluster, findPostgres, startCluster } from '../support/postgres-cluster.ts';
import { type PostgresProxy, startPostgresProxy } from '../support/postgres-proxy.ts';
import { isSoak } from '../support/rounds.ts';
import { scratch } from '../support/scratch.ts';
import { seedsOf } from '../support/seeds.ts';
import {
  retryWhile,
  type ServiceAnswer,
  type ServiceProcess,
  settingsOf,
  startPurser,
} from '../support/service-process.ts';
import { expectAcknowledged, expectRuns, limitSpenders, startSpenders } from '../support/spenders.ts';
import { engine, makePlace, type Place } from '../support/test-database.ts';

const { seeds } = seedsOf('money-faults-postgres');

const unavailable = { status: 503, code: 'service_unavailable' };

describe.runIf(engine === 'postgres')('PostgreSQL', () => {
  let cluster: Cluster;
  let proxy: PostgresProxy;
  let place: Place;
  let service: ServiceProcess;
  let org: SpendingOrg;
  let through: Spending;
  let thaw = () => {};
  beforeAll(async () => {
    cluster = await startCluster(findPostgres() ?? '', scratch);
    proxy = await startPostgresProxy(cluster.url);
    const { dataDir, remove } = await makePlace({ migrated: true });
    place = { dataDir, remove, databaseUrl: proxy.url };
    service = await startPurser({ ...settingsOf(place), SVC_IDEMPOTENCY_INFLIGHT_TAKEOVER_SECS: '1' });
    org = await createSpendingOrg(service);
    through = spending(service, org);
    expect((await through.cap('100')).status).toBe(200);
  });
  afterAll(async () => {
    await endAllProcesses();
    thaw();
    await proxy?.close();
    await cluster?.remove();
    await place?.remove();
  });

  describe.each([
    ['reached the server', true],
    ['did not reach it', false],
  ])('a connection lost at a COMMIT that %s', (_, reaches) => {
    /** Sends a request, cuts the connection, and retries the request. Returns the second response. */
    async function cut(text: string, ask: () => Promise<ServiceAnswer>): Promise<ServiceAnswer> {
      const gone = proxy.cutCommit({ text, reaches });
      expect(await ask()).toMatchObject(unavailable);
      await gone;
      return retryWhile(['idempotency_key_processing', 'service_unavailable'], ask);
    }
    const counted = async () => countedBy(await through.balanced(), 'spend_cap');
    /** Returns the amounts that the work adds to the cap's counter. */
    async function added(work: () => Promise<unknown>) {
      const before = await counted();
      await work();
      const after = await counted();
      return { settled: after.settled - before.settled, held: after.held - before.held };
    }
    const name = (what: string) => `${what} ${reaches ? 'reached' : 'lost'}`;

    test('a decision with a key holds once', async () => {
      const model = name('decision');
      let answer: ServiceAnswer | undefined;
      const ask = () => through.decide({ model, estimated_cost_usd: '0.5' }, model);
      expect(
        await added(async () => {
          answer = await cut(model, ask);
        }),
      ).toEqual({ settled: 0n, held: nanos('0.5') });
      expect(answer?.status).toBe(200);
      expect((await ask()).json.decision_id).toBe(answer?.json.decision_id);
      expect((await through.holds()).filter((hold) => 'model' in hold && hold.model === model)).toHaveLength(
        1,
      );
    });

    test.each(['external_id', 'Idempotency-Key'])('a run with an %s is charged once', async (by) => {
      const id = name(`run by ${by}`);
      const body = { model: id, cost_usd: '0.25', ...(by === 'external_id' && { external_id: id }) };
      const ask = () => through.run(body, by === 'external_id' ? undefined : id);
      const first = await added(async () => {
        const answer = await cut(id, ask);
        expect(answer).toMatchObject({ status: 201, replayed: reaches && by !== 'external_id' });
        expect((await ask()).json.id).toBe(answer.json.id);
      });
      expect(first).toEqual({ settled: nanos('0.25'), held: 0n });
    });

    test('an increase with a key raises the hold once', async () => {
      const { json } = await through.decide({ estimated_cost_usd: '0.5' });
      const path = `/v1/decisions/${json.decision_id}/increase`;
      const increase = () => through.send('POST', path, { cost_usd: '0.3' }, name('increase'));
      const increased = await added(async () => {
        expect(await cut(json.decision_id, increase)).toMatchObject({
          status: 200,
          json: { held_usd: '0.8' },
        });
        expect(await increase()).toMatchObject({ status: 200, replayed: true });
      });
      expect(increased).toEqual({ settled: 0n, held: nanos('0.3') });
    });

    test('a hold is settled once', async () => {
      const id = name('settle');
      const { json } = await through.decide({ estimated_cost_usd: '0.5' });
      const body = { decision_id: json.decision_id, external_id: id, cost_usd: '0.4' };
      const settled = await added(async () => {
        const answer = await cut(id, () => through.run(body));
        expect(answer.json).toMatchObject({ cost_usd: '0.4', marks: [] });
      });
      expect(settled).toEqual({ settled: nanos('0.4'), held: -nanos('0.5') });
      expect(await through.run({ ...body, external_id: `${id}, another` })).toMatchObject({ status: 409 });
    });

    test('a run that goes on is opened once, and completed once', async () => {
      const id = name('open');
      const body = { external_id: id, status: 'running', estimated_cost_usd: '0.3' };
      let runId = '';
      const opened = await added(async () => {
        runId = (await cut(id, () => through.run(body))).json.id;
      });
      expect(opened).toEqual({ settled: 0n, held: nanos('0.3') });
      const completed = await added(async () => {
        const complete = () => through.complete(runId, { cost_usd: '0.2' }, name('complete'));
        expect(await cut(runId, complete)).toMatchObject({ status: 200, replayed: reaches });
      });
      expect(completed).toEqual({ settled: nanos('0.2'), held: -nanos('0.3') });
    });

    test('a hold is prolonged, and voided once', async () => {
      const { json } = await through.decide({ estimated_cost_usd: '0.6' });
      const id = json.decision_id;
      const ended = await added(async () => {
        expect(await cut(id, () => through.extend(id, 3_600, name('extend')))).toMatchObject({ status: 200 });
        expect(await cut(id, () => through.void(id, name('void')))).toMatchObject({ status: 204 });
      });
      expect(ended).toEqual({ settled: 0n, held: -nanos('0.6') });
    });
  });

  // A frozen server is detected by timeouts, for which only the soak run waits.
  const kinds: readonly ('killed' | 'frozen')[] = isSoak ? ['killed', 'frozen'] : ['killed'];
  const faults = seeds.flatMap((seed) => kinds.map((how) => [how, seed] as const));
  test.each(faults)('the server is %s under load, and comes back (seed %d)', async (how, seed) => {
    const other = await createSpendingOrg(service);
    const spend = spending(service, other);
    expect((await spend.cap('500')).status).toBe(200);
    const limits = { budget: nanos('400'), customer: nanos('300'), credits: nanos('300') };
    await limitSpenders(spend, other.id, limits);
    const spenders = startSpenders({ org: other, clients: 8, seed, services: () => [service] });
    await eventually(() => expect(spenders.answers()).toBeGreaterThan(100));

    if (how === 'killed') {
      await cluster.kill();
    } else {
      thaw = await freezePostgres(cluster.url);
    }
    // Requests in flight may still succeed, later requests must not.
    await spenders.allRefused();
    const before = spenders.answers();
    // From another org, because the outcome of requests that are not retried is unknown.
    const asked = await Promise.all([
      through.decide({ estimated_cost_usd: '0.01' }),
      through.decide({ estimated_cost_usd: '0.01' }, `away, ${how}`),
      through.run({ cost_usd: '0.01' }),
      through.run({ estimated_cost_usd: '0.01', status: 'running' }),
      through.complete('run_unknown', { cost_usd: '0.01' }),
      through.extend('dec_unknown', 10),
      through.void('dec_unknown'),
      through.send('GET', '/v1/runs?limit=1'),
    ]);
    expect(asked.map(({ status, code }) => ({ status, code }))).toEqual(asked.map(() => unavailable));
    expect(spenders.answers(), 'what was answered meanwhile').toBe(before);
    // Retried, because a connection that was idle for all that time may just be closing.
    const healthy = async () => expect((await service.request('GET', '/healthz')).status).toBe(200);
    await eventually(healthy);

    await (how === 'killed' ? cluster.start() : thaw());
    await eventually(() => expect(spenders.answers()).toBeGreaterThan(before + 20));
    await spenders.quiet();
    await expectAcknowledged(spend, spenders.acknowledged);
    spenders.goOn();
    await spenders.stop();
    await expectAcknowledged(spend, spenders.acknowledged);
    await expectRuns(spend, spenders.acknowledged);
    await through.balanced();
  });
});
