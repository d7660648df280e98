/** State of receivers (slow, failing), and changes during an attempt. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { useOrgPerTest, useWorld } from '../../../../test/harness.ts';
import { eventually } from '../../../../test/support/eventually.ts';
import { type Receiver, startReceiver } from '../../../../test/support/webhook-receiver.ts';
import { controlWebhooks, makeBudget, subscribe, type Webhooks } from '../../../../test/support/webhooks.ts';
import { DatabaseUnavailable } from '../../../platform/db/database.ts';
import { createLog } from '../../../platform/log.ts';
import { createRecorder } from './recorder.ts';
import { attemptDelaysSeconds } from './retries.ts';
import { claimQueues, freeAllQueues } from './subscription-queues.ts';

const world = useWorld({ SVC_WEBHOOK_ALLOW_PRIVATE_NETWORKS: 'true' });
const org = useOrgPerTest(world);
let webhooks: Webhooks;
const receivers: Receiver[] = [];
const day = 24 * 3_600;

beforeEach(() => {
  // Nothing runs before the first delivery, so a test without deliveries can use the dispatcher alone. Latency and
  // clock are fixed: a busy machine must not make a receiver slow.
  webhooks = controlWebhooks(world, { latencyMs: 1, nowMs: () => 0 });
});
afterEach(async () => {
  await webhooks.stop();
  for (const receiver of receivers.splice(0)) {
    await receiver.close();
  }
  // Makes no queue due any more, so that the next test uses only its own subscriptions.
  await world.db.query('UPDATE webhook_lanes SET next_due_at = NULL', []);
});

const receiver = async (...args: Parameters<typeof startReceiver>) => {
  const started = await startReceiver(...args);
  receivers.push(started);
  return started;
};
const call = async (method: string, path: string, body?: object) =>
  (
    await world.request(method, `/v1/orgs/${org.id}/webhooks/${path}`, {
      key: org.ownerKey,
      ...(body !== undefined && { body }),
    })
  ).json;
const queue = async (id: string) => {
  const [row] = await world.db.query<{
    owner: string | null;
    slow_at: Date | null;
    failing_since: Date | null;
  }>('SELECT owner, slow_at, failing_since FROM webhook_lanes WHERE org_id = $1 AND subscription_id = $2', [
    org.id,
    id,
  ]);
  return row;
};
const failing = () => receiver((response) => void response.writeHead(500).end());

describe('a slow receiver', () => {
  test('a slow receiver is released after a round with deliveries still due, until it is quick again', async () => {
    let isDown = true;
    const there = await receiver((response, _, socket) => {
      if (isDown) {
        socket.resetAndDestroy();
      } else {
        response.writeHead(204).end();
      }
    });
    const id = await subscribe(world, org, there.url);
    for (let i = 0; i < 12; i += 1) {
      await makeBudget(world, org, `budget ${i}`);
    }
    await webhooks.deliver();
    expect(there.received).toHaveLength(10);
    expect(await queue(id)).toMatchObject({ owner: null, slow_at: world.clock.now() });
    await webhooks.deliver();
    expect(there.received).toHaveLength(12);
    isDown = false;
    world.clock.advanceSeconds(10);
    await webhooks.deliver();
    expect(await queue(id)).toMatchObject({ slow_at: null });
  });

  test('uses no places of the others, and the one that has waited longest is next', async () => {
    const [late, later, quick] = await Promise.all(
      ['late', 'later', 'quick'].map((path) => subscribe(world, org, `http://127.0.0.1:1/${path}`)),
    );
    const now = world.clock.now();
    await world.db.query('UPDATE webhook_lanes SET next_due_at = $2 WHERE org_id = $1', [org.id, now]);
    const slowAt = (id: string | undefined, ms: number) =>
      world.db.query('UPDATE webhook_lanes SET slow_at = $2, next_due_at = $3 WHERE subscription_id = $1', [
        id,
        new Date(now.getTime() - ms),
        new Date(now.getTime() - 1_000),
      ]);
    await slowAt(late, 20);
    await slowAt(later, 10);
    const claim = async (room: { quick: number; slow: number }) =>
      (await claimQueues(world.db, 'test', now, room)).map(({ subscription_id, is_slow }) => [
        subscription_id,
        is_slow,
      ]);
    expect(await claim({ quick: 1, slow: 0 })).toEqual([[quick, false]]);
    expect(await claim({ quick: 1, slow: 1 })).toEqual([[late, true]]);
    expect(await claim({ quick: 1, slow: 1 })).toEqual([[later, true]]);
    await freeAllQueues(world.db, 'http');
  });
});

describe('a subscription is not disabled', () => {
  const status = async (id: string) => (await call('GET', id)).status;

  test('a subscription is not disabled for one failure long after the previous attempts', async () => {
    const there = await failing();
    const id = await subscribe(world, org, there.url);
    await makeBudget(world, org);
    for (const delay of attemptDelaysSeconds) {
      world.clock.advanceSeconds(delay);
      await webhooks.deliver();
    }
    expect(there.received).toHaveLength(attemptDelaysSeconds.length);
    expect(await queue(id)).toMatchObject({ failing_since: null });
    // So soon after the last failure that the elapsed time alone would not restart the count.
    world.clock.advanceSeconds(1.9 * day);
    await makeBudget(world, org);
    await webhooks.deliver();
    expect(await status(id)).toBe('active');
    expect(await queue(id)).toMatchObject({ failing_since: world.clock.now() });
  });

  test('a subscription is not disabled for two failures with days without attempts in between', async () => {
    const there = await failing();
    const id = await subscribe(world, org, there.url);
    await makeBudget(world, org);
    await webhooks.deliver();
    world.clock.advanceSeconds(6 * day);
    await webhooks.deliver();
    expect(there.received).toHaveLength(2);
    expect(await status(id)).toBe('active');
  });

  test('a subscription is not disabled for failures at another URL', async () => {
    const there = await failing();
    const id = await subscribe(world, org, there.url);
    const tryForDays = async (days: number) => {
      for (let i = 0; i < days; i += 1) {
        await makeBudget(world, org);
        await webhooks.deliver();
        world.clock.advanceSeconds(day);
      }
    };
    await tryForDays(4);
    await call('PATCH', id, { url: `${there.url}/moved` });
    await tryForDays(5);
    expect(await status(id)).toBe('active');
    await tryForDays(1);
    expect(await status(id)).toBe('disabled');
  });
});

describe('an attempt in flight', () => {
  test('does not undo a concurrent redelivery, and is recorded', async () => {
    let answer = () => undefined as unknown;
    const there = await receiver((response) => {
      answer = () => response.writeHead(500).end();
    });
    const id = await subscribe(world, org, there.url);
    await makeBudget(world, org);
    await webhooks.begin();
    await eventually(() => expect(there.received).toHaveLength(1));
    world.clock.advanceSeconds(1);
    const [{ id: deliveryId }] = (await call('GET', `${id}/deliveries`)).data;
    const asked = await call('POST', `${id}/deliveries/${deliveryId}/redeliver`);
    answer();
    await eventually(async () =>
      expect((await call('GET', `${id}/deliveries/${deliveryId}`)).attempts).toHaveLength(1),
    );
    const now = await call('GET', `${id}/deliveries/${deliveryId}`);
    expect(now).toMatchObject({ state: 'waiting', next_attempt_at: asked.next_attempt_at });
    await eventually(() => expect(there.received, 'as it was asked for').toHaveLength(2));
    answer();
    await webhooks.idle();
  });

  test('an attempt in flight is recorded once, also if the following step must be repeated', async () => {
    const id = await subscribe(world, org, 'http://127.0.0.1:1/');
    await call('POST', `${id}/test`);
    const select =
      'SELECT id, attempt_count, due_at, attempts FROM webhook_deliveries WHERE subscription_id = $1';
    const read = async () => {
      const [row] = await world.db.query<{
        id: string;
        attempt_count: number;
        due_at: Date;
        attempts: object[];
      }>(select, [id]);
      if (row === undefined) {
        throw new Error('the delivery is missing');
      }
      return row;
    };
    let calls = 0;
    const recorder = createRecorder(world.db, createLog('silent'), async () => {
      calls += 1;
      if (calls === 1) {
        throw new DatabaseUnavailable('away');
      }
    });
    const at = world.clock.now();
    const outcome = {
      org_id: org.id,
      subscription_id: id,
      delivery: await read(),
      state: 'waiting',
      failure: null,
      due_at: new Date(at.getTime() + 5_000),
      attempt: { at: at.toISOString(), status: 500, latency_ms: 1, error: null, response: null },
      at,
    } as const;
    await recorder.add(outcome);
    expect(calls).toBe(2);
    expect(await read()).toMatchObject({ attempt_count: 1, attempts: [outcome.attempt] });
    // Added again, as after a commit with an unknown outcome.
    await recorder.add(outcome);
    expect(await read()).toMatchObject({ attempt_count: 1, attempts: [outcome.attempt] });
  });

  test('uses the database clock for its time and signature, whatever the clock of the process says', async () => {
    const agreed = world.clock.now();
    const clock = { now: () => new Date(world.clock.now().getTime() + 3_600_000), agreed: () => agreed };
    const ahead = controlWebhooks(world, { clock });
    const there = await failing();
    const id = await subscribe(world, org, there.url);
    await call('POST', `${id}/signing/rotate`);
    await call('POST', `${id}/test`);
    await ahead.deliver();
    await ahead.stop();
    const t = Number(/^t=(\d+),/.exec(String(there.received[0]?.headers['x-svc-signature']))?.[1]);
    expect(t).toBe(Math.floor(agreed.getTime() / 1_000));
    const [delivery] = (await call('GET', `${id}/deliveries`)).data;
    expect(Date.parse(delivery.next_attempt_at) - agreed.getTime()).toBe(5_000);
  });

  test('an attempt in flight is not sent a second time by the same process after its lease expired', async () => {
    const waiting: (() => void)[] = [];
    const there = await receiver((response) => void waiting.push(() => response.writeHead(204).end()));
    const id = await subscribe(world, org, there.url);
    await makeBudget(world, org);
    await webhooks.begin();
    await eventually(() => expect(waiting).toHaveLength(1));
    // The lease has expired, as after a pause of the process or while the database was unavailable.
    await world.db.query("UPDATE webhook_lanes SET leased_until = now() - interval '1 second'", []);
    await webhooks.begin();
    const other = await receiver();
    await subscribe(world, org, other.url);
    await makeBudget(world, org);
    await webhooks.begin();
    // A duplicate of the delivery would be sent before this later one.
    await eventually(() => expect(other.received).toHaveLength(1));
    expect(waiting).toHaveLength(1);
    waiting[0]?.();
    await eventually(() => expect(waiting).toHaveLength(2));
    waiting[1]?.();
    await webhooks.idle();
    expect(await queue(id)).toMatchObject({ owner: null });
  });

  test('an attempt in flight that never ends does not prevent the process from ending', async () => {
    const there = await receiver();
    await subscribe(world, org, there.url);
    await makeBudget(world, org);
    let isSent = false;
    const stuck = controlWebhooks(world, {
      stopWaitMs: 50,
      faults: () => {
        isSent = true;
        return new Promise(() => undefined);
      },
    });
    await stuck.begin();
    await eventually(() => expect(isSent).toBe(true));
    await stuck.stop();
    const [row] = await world.db.query<{ owner: string | null }>(
      'SELECT owner FROM webhook_lanes WHERE org_id = $1',
      [org.id],
    );
    expect(row).toEqual({ owner: null });
  });
});
