/** One effect per `Idempotency-Key`, also when the process dies or stalls at the worst moments. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { FaultPoint } from '../../src/platform/faults.ts';
import { endAllProcesses } from '../support/child-process.ts';
import {
  type Effects,
  inspectDatabase,
  oneEffect,
  orgEffects,
  verifyChains,
} from '../support/database-inspection.ts';
import { type FaultyService, startFaulty } from '../support/faulty-service.ts';
import { createSpendingOrg, spending } from '../support/money.ts';
import {
  retryWhile,
  type ServiceAnswer,
  type ServiceProcess,
  settingsOf,
} from '../support/service-process.ts';
import { engine, makePlace, type Place } from '../support/test-database.ts';

afterAll(endAllProcesses);

const body = { name: 'Once' };
const create = (service: ServiceProcess, other = body, idempotencyKey = 'once') =>
  service.request('POST', '/v1/admin/orgs', { body: other, idempotencyKey });
const takeover = (seconds: number) => ({ SVC_IDEMPOTENCY_INFLIGHT_TAKEOVER_SECS: String(seconds) });
/** Far beyond the duration of a test: whatever is taken over here is not taken over because of its age. */
const byDeathAlone = takeover(3_600);

/** Stops the services and returns the effects on each org. The audit chains must be intact in every case. */
async function effectsAfterStopping(
  place: Place,
  ...services: ServiceProcess[]
): Promise<Map<string, Effects>> {
  for (const service of services) {
    expect(await service.end('SIGTERM')).toEqual({ code: 0, signal: null });
  }
  return inspectDatabase(place, async (db) => {
    expect((await verifyChains(db)).faults).toEqual([]);
    return orgEffects(db);
  });
}

/**
 * On the embedded engine a process knows from its start that all earlier ones are dead, so its first response is final. On
 * PostgreSQL the dead process must be silent for a while.
 */
const onceKnownDead = (ask: () => Promise<ServiceAnswer>) =>
  engine === 'embedded' ? ask() : retryWhile(['idempotency_key_processing'], ask);

/** One kill for all points, because starting a process takes longer than everything else here. */
test('killed at four points at once: each request has one effect, as soon as the process is known to be dead', async () => {
  const place = await makePlace({ migrated: true });
  const settings = { ...settingsOf(place), ...byDeathAlone };
  const killed = await startFaulty(settings);
  const org = await createSpendingOrg(killed);
  const decide = async () =>
    (await spending(killed, org).decide({ estimated_cost_usd: '0.5' })).json.decision_id as string;
  const [settled, voided] = [await decide(), await decide()];
  const settle = (service: ServiceProcess) =>
    spending(service, org).run({ decision_id: settled, cost_usd: '0.4' }, 'settle');
  const release = (service: ServiceProcess) => spending(service, org).void(voided, 'void');
  const committed = (service: ServiceProcess) => create(service, { name: 'Committed' }, 'committed');

  const unanswered: Promise<unknown>[] = [];
  async function holdAt(point: FaultPoint, routeId: string, send: () => Promise<unknown>): Promise<void> {
    const held = await killed.holdAt(point, routeId);
    unanswered.push(send().catch(() => 'unanswered'));
    await held.reached;
  }
  await holdAt('handler', 'runs.create', () => settle(killed));
  await holdAt('handler', 'holds.void', () => release(killed));
  await holdAt('write.after_commit', 'orgs.create', () => committed(killed));
  // Comes last: its transaction keeps the only connection of the embedded engine.
  await holdAt('write.before_commit', 'orgs.create', () => create(killed));
  await killed.end('SIGKILL');
  expect(await Promise.all(unanswered)).toEqual(new Array(4).fill('unanswered'));

  const service = await startFaulty(settings);
  // Between commit and answer: the retry replays what was committed.
  const replay = await committed(service);
  expect(replay).toMatchObject({ status: 201, replayed: true });
  expect(await committed(service)).toMatchObject({ status: 201, replayed: true, text: replay.text });
  const stored = await service.request('GET', `/v1/admin/orgs/${replay.json.id}`);
  expect(stored.json).toEqual(replay.json);
  // Before the commit: the retry takes the key over.
  expect(await create(service, { name: 'Other' })).toMatchObject({
    status: 409,
    code: 'idempotency_key_conflict',
  });
  const answer = await onceKnownDead(() => create(service));
  expect(answer).toMatchObject({ status: 201, replayed: false });
  expect(await create(service)).toMatchObject({ status: 201, replayed: true, text: answer.text });
  // Before the ends of two holds: the retries end them.
  expect(await onceKnownDead(() => settle(service))).toMatchObject({ status: 201, replayed: false });
  expect(await onceKnownDead(() => release(service))).toMatchObject({ status: 204, replayed: false });
  const after = spending(service, org);
  expect(await after.holds()).toEqual([]);
  expect((await after.balanced()).totals.cost_usd.entries).toBe('0.4');

  const effects = await effectsAfterStopping(place, service);
  expect(Object.fromEntries(effects)).toEqual({ Spender: oneEffect, Committed: oneEffect, Once: oneEffect });
  await place.remove();
});

describe.runIf(engine === 'postgres')('a process frozen past the takeover time', () => {
  let place: Place;
  let services: [stalled: FaultyService, other: FaultyService];
  const names = new Set<string>();

  async function start(settings: Record<string, string>): Promise<void> {
    services = [await startFaulty(settings), await startFaulty(settings)];
  }
  beforeAll(async () => {
    place = await makePlace({ migrated: true });
  });
  afterAll(async () => {
    await endAllProcesses();
    await place?.remove();
  });

  /** Returns a request that creates an org, with its own name and key, so that tests can share the processes. */
  function request(name: string): (service: ServiceProcess) => Promise<ServiceAnswer> {
    names.add(name);
    return (service) => create(service, { name }, name);
  }

  /** Freezes one process at this point, lets another process take over the key, and thaws the first. */
  async function freezeAt(point: 'handler' | 'write.before_commit', send: ReturnType<typeof request>) {
    const [stalled, other] = services;
    const held = await stalled.holdAt(point, 'orgs.create');
    const late = send(stalled);
    await held.reached;
    stalled.freeze();
    const answer = await retryWhile(['idempotency_key_processing', 'service_unavailable'], () => send(other));
    expect(answer).toMatchObject({ status: 201, replayed: false });
    stalled.thaw();
    held.goOn();
    return { answer, late: await late };
  }
  async function expectReplay(send: ReturnType<typeof request>, text: string) {
    expect(await send(services[0])).toMatchObject({ status: 201, replayed: true, text });
  }

  describe('longer than `SVC_IDEMPOTENCY_INFLIGHT_TAKEOVER_SECS`', () => {
    beforeAll(async () => {
      // The locks of the frozen process block other requests until this timeout. Purser's default is 30 seconds; the URL
      // overrides it.
      const url = `${place.databaseUrl}?idle_in_transaction_session_timeout=1500`;
      await start({ ...settingsOf(place), ...takeover(1), SVC_DATABASE_URL: url });
    });

    test('before its transaction: the fence has moved, so its commit fails', async () => {
      const send = request('before');
      const { answer, late } = await freezeAt('handler', send);
      expect(late).toMatchObject({ status: 409, code: 'idempotency_key_processing' });
      await expectReplay(send, answer.text);
    });

    test('while the process that took over is still at work: the key is no longer its own', async () => {
      const [stalled, other] = services;
      const send = request('at work');
      const held = await stalled.holdAt('handler', 'orgs.create');
      const late = send(stalled);
      await held.reached;
      stalled.freeze();
      const heldToo = await other.holdAt('handler', 'orgs.create');
      const taking = retryWhile(['idempotency_key_processing'], () => send(other));
      await heldToo.reached;
      stalled.thaw();
      held.goOn();
      expect(await late).toMatchObject({ status: 409, code: 'idempotency_key_processing' });
      heldToo.goOn();
      const answer = await taking;
      expect(answer).toMatchObject({ status: 201, replayed: false });
      await expectReplay(send, answer.text);
    });

    test('inside its transaction: the database has ended that, so its commit fails', async () => {
      const send = request('inside');
      const { answer, late } = await freezeAt('write.before_commit', send);
      expect(late).toMatchObject({ status: 503, code: 'service_unavailable' });
      await expectReplay(send, answer.text);
    });

    afterAll(async () => {
      for (const service of services) {
        expect(await service.end('SIGTERM')).toEqual({ code: 0, signal: null });
      }
    });
  });

  test('found dead by its silence: its fence has moved, so its commit fails', async () => {
    await start({ ...settingsOf(place), ...byDeathAlone });
    const send = request('silent');
    const { answer, late } = await freezeAt('handler', send);
    expect(late).toMatchObject({ status: 409, code: 'idempotency_key_processing' });
    await expectReplay(send, answer.text);
    // All tests of this group: every request had one effect.
    const effects = await effectsAfterStopping(place, ...services);
    expect(Object.fromEntries(effects)).toEqual(
      Object.fromEntries([...names].map((name) => [name, oneEffect])),
    );
  });
});
