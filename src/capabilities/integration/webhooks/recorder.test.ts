/** Outcomes that cannot be stored. */
import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type TestOrg, useWorld } from '../../../../test/harness.ts';
import { subscribe } from '../../../../test/support/webhooks.ts';
import { createLog } from '../../../platform/log.ts';
import type { DeliveryOutcome } from './delivery-queries.ts';
import { createRecorder, type OnFailing } from './recorder.ts';

const world = useWorld({ SVC_WEBHOOK_ALLOW_PRIVATE_NETWORKS: 'true' });
const unhandled: unknown[] = [];
const noteUnhandled = (error: unknown) => void unhandled.push(error);

beforeEach(() => {
  unhandled.length = 0;
  process.on('unhandledRejection', noteUnhandled);
});
afterEach(() => void process.off('unhandledRejection', noteUnhandled));

const recorderOf = (onFailing: OnFailing = async () => undefined) =>
  createRecorder(world.db, createLog('silent'), onFailing);

async function outcomeFor(org: TestOrg, response: string | null): Promise<DeliveryOutcome> {
  const id = await subscribe(world, org, 'http://127.0.0.1:1/');
  await world.request('POST', `/v1/orgs/${org.id}/webhooks/${id}/test`, { key: org.ownerKey });
  const [delivery] = await world.db.query<DeliveryOutcome['delivery']>(
    'SELECT id, attempt_count, due_at FROM webhook_deliveries WHERE org_id = $1 AND subscription_id = $2',
    [org.id, id],
  );
  if (delivery === undefined) {
    throw new Error('the delivery is missing');
  }
  const at = world.clock.now();
  return {
    org_id: org.id,
    subscription_id: id,
    delivery,
    state: 'waiting',
    failure: null,
    due_at: new Date(at.getTime() + 5_000),
    attempt: { at: at.toISOString(), status: 500, latency_ms: 1, error: null, response },
    at,
  };
}

async function attemptsOf({ org_id, subscription_id }: DeliveryOutcome): Promise<number | undefined> {
  const [row] = await world.db.query<{ attempt_count: number }>(
    'SELECT attempt_count FROM webhook_deliveries WHERE org_id = $1 AND subscription_id = $2',
    [org_id, subscription_id],
  );
  return row?.attempt_count;
}

/** The database rejects half of a character. */
const unstorable = '\ud83d';

describe('an outcome that cannot be stored', () => {
  test('does not end the process if its promise is awaited late', async () => {
    const bad = await outcomeFor(await world.createOrg(), unstorable);
    const recorder = recorderOf();
    const rejected = recorder.add(bad);
    await expect(recorder.add(bad)).rejects.toThrow();
    await turn();
    expect(unhandled).toEqual([]);
    await expect(rejected).rejects.toThrow();
  });

  test('does not reject the outcomes of others that are written at the same time', async () => {
    const [org, other] = [await world.createOrg(), await world.createOrg()];
    const outcomes = [
      await outcomeFor(org, 'first'),
      await outcomeFor(org, unstorable),
      await outcomeFor(other, 'last'),
    ];
    const recorder = recorderOf();
    const results = await Promise.allSettled(outcomes.map((outcome) => recorder.add(outcome)));
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(await Promise.all(outcomes.map(attemptsOf))).toEqual([1, 0, 1]);
  });
});

test('an outcome that is written is not rejected if a failing subscription cannot be disabled', async () => {
  const [org, other] = [await world.createOrg(), await world.createOrg()];
  const outcomes = [await outcomeFor(org, null), await outcomeFor(other, null)];
  const reported: string[] = [];
  const recorder = recorderOf(async ({ org_id }) => {
    reported.push(org_id);
    throw new Error('the subscription cannot be disabled');
  });
  await Promise.all(outcomes.map((outcome) => recorder.add(outcome)));
  expect(reported.sort()).toEqual([org.id, other.id].sort());
  expect(await Promise.all(outcomes.map(attemptsOf))).toEqual([1, 1]);
});
