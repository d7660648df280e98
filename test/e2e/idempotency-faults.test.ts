/** One effect per `Idempotency-Key`, also when the process dies or stalls at the worst moments. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
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

afterEach(endAllProcesses);

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
  beforeEach(async () => {
    place = await makePlace({ migrated: true });
  });
  afterEach(async () => {
    await endAllProcesses();
    await place.remove();
  });

  /** Freezes one process at this point, lets another process take over the key, and thaws the first. */
  async function freezeAt(point: 'handler' | 'write.before_commit', settings: Record<string, string>) {
    const stalled = await startFaulty(settings);
    const other = await startFaulty(settings);
    const held = await stalled.holdAt(point, 'orgs.create');
    const late = create(stalled);
    await held.reached;
    stalled.freeze();
    const answer = await retryWhile(['idempotency_key_processing', 'service_unavailable'], () =>
      create(other),
    );
    expect(answer).toMatchObject({ status: 201, replayed: false });
    stalled.thaw();
    held.goOn();
    return { stalled, other, answer, late: await late };
  }
  async function expectOneEffect(stalled: FaultyService, other: FaultyService, text: string) {
    expect(await create(stalled)).toMatchObject({ status: 201, replayed: true, text });
    expect(await effectsAfterStopping(place, stalled, other)).toEqual(new Map([['Once', oneEffect]]));
  }

  test('before its transaction: the fence has moved, so its commit fails', async () => {
    const settings = { ...settingsOf(place), ...takeover(1) };
    const { stalled, other, answer, late } = await freezeAt('handler', settings);
    expect(late).toMatchObject({ status: 409, code: 'idempotency_key_processing' });
    await expectOneEffect(stalled, other, answer.text);
  });

  test('also when the one that took over is still at work: the key is no longer its own', async () => {
    const settings = { ...settingsOf(place), ...takeover(1) };
    const stalled = await startFaulty(settings);
    const other = await startFaulty(settings);
    const held = await stalled.holdAt('handler', 'orgs.create');
    const late = create(stalled);
    await held.reached;
    stalled.freeze();
    const heldToo = await other.holdAt('handler', 'orgs.create');
    const taking = retryWhile(['idempotency_key_processing'], () => create(other));
    await heldToo.reached;
    stalled.thaw();
    held.goOn();
    expect(await late).toMatchObject({ status: 409, code: 'idempotency_key_processing' });
    heldToo.goOn();
    const answer = await taking;
    expect(answer).toMatchObject({ status: 201, replayed: false });
    await expectOneEffect(stalled, other, answer.text);
  });

  test('and found dead by its silence: the fence has moved as well', async () => {
    const settings = { ...settingsOf(place), ...byDeathAlone };
    const { stalled, other, answer, late } = await freezeAt('handler', settings);
    expect(late).toMatchObject({ status: 409, code: 'idempotency_key_processing' });
    await expectOneEffect(stalled, other, answer.text);
  });

  test('inside its transaction: the database has ended that, so its commit fails', async () => {
    // The locks of the frozen process block other requests until this timeout. Purser's default is 30 seconds; the URL
    // overrides it.
    const url = `${place.databaseUrl}?idle_in_transaction_session_timeout=1500`;
    const settings = { ...settingsOf(place), ...takeover(1), SVC_DATABASE_URL: url };
    const { stalled, other, answer, late } = await freezeAt('write.before_commit', settings);
    expect(late).toMatchObject({ status: 503, code: 'service_unavailable' });
    await expectOneEffect(stalled, other, answer.text);
  });
});
