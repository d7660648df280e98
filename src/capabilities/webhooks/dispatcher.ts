/**
 * Sends what is due. A process takes lanes (the deliveries of one subscription each) under a lease, works on each until
 * nothing in it is due, and lets go of it. Lanes do not wait for each other: each has few attempts under way at a time,
 * one at a time while its receiver is slow or not known yet, and slow receivers share slots of their own. So receivers
 * that hang keep up themselves and each other, and nobody else.
 *
 * At least once: an attempt counts when its outcome is written. A process that dies in between leaves its lanes, whose
 * leases run out, and what was not written is sent again, with the same event id.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { SharedClock } from '../../platform/clock.ts';
import { agreedNow } from '../../platform/db/agreed-now.ts';
import type { Database } from '../../platform/db/database.ts';
import type { Faults } from '../../platform/faults.ts';
import type { Ids } from '../../platform/ids.ts';
import type { Log } from '../../platform/log.ts';
import type { Secrets } from '../../platform/secrets.ts';
import { type DueDelivery, failWaiting, type Outcome, selectDue } from './delivery-queries.ts';
import { disableSubscription } from './disabling.ts';
import { claimLanes, type Lane, leaveAllLanes, leaveLane, renewLeases } from './lanes.ts';
import { messageOf } from './message.ts';
import type { DeliveryCounts } from './metrics.ts';
import { onWebhooksChange } from './notices.ts';
import { createReceivers, type Receiver } from './receivers.ts';
import { createRecorder } from './recorder.ts';
import { nextAttemptAt } from './retries.ts';
import type { Answer, Sender } from './sender.ts';
import { Slots } from './slots.ts';

export interface DispatcherDependencies {
  readonly db: Database;
  readonly clock: SharedClock;
  readonly ids: Ids;
  readonly log: Log;
  readonly faults: Faults;
  readonly secrets: Secrets;
  readonly sender: Sender;
  readonly counts: DeliveryCounts;
  readonly userAgent: string;
  docsUrl(): string;
  random?(): number;
}

export interface Dispatcher {
  /** Takes lanes that have something to do, and begins to work on them. */
  claim(): Promise<void>;
  /** Says that this process is still at work on its lanes. */
  renew(): Promise<void>;
  /** Something may be due now. Heard once the dispatcher works, that is after the first claim. */
  poke(): void;
  /** Resolves when nothing is under way. */
  idle(): Promise<void>;
  stop(): Promise<void>;
}

const lanesMax = 1_000;
const attemptsPerLane = 8;
const attemptsOverall = 192;
const slowAttemptsOverall = 64;
/** An answer that takes longer makes its receiver a slow one. */
const slowMs = 2_000;
const deliveriesPerPage = { careful: 10, usual: 200 };
const givenUpPerBatch = 1_000;
const failingMsMax = 5 * 24 * 3_600_000;
const slowRememberedMax = 10_000;
const stopWaitMs = 5_000;

/** How a receiver answered last: in time, late or not at all; or not yet since this process works on it. */
type Pace = 'quick' | 'slow' | 'unknown';

/** A lane in hand, and what is known of its receiver. */
interface Work {
  readonly lane: Lane;
  pace: Pace;
}

/** Which receivers were slow when their lanes were left. */
class SlowReceivers {
  readonly #names = new Set<string>();

  paceOf({ org_id, subscription_id }: Lane): Pace {
    return this.#names.has(`${org_id} ${subscription_id}`) ? 'slow' : 'unknown';
  }

  note({ lane: { org_id, subscription_id }, pace }: Work): void {
    const name = `${org_id} ${subscription_id}`;
    if (pace !== 'slow') {
      this.#names.delete(name);
    } else if (this.#names.size < slowRememberedMax) {
      this.#names.add(name);
    }
  }
}

export function createDispatcher(deps: DispatcherDependencies): Dispatcher {
  const { db, clock, ids, log, faults, sender, counts, random = Math.random } = deps;
  const owner = randomUUID();
  const receivers = createReceivers(deps);
  const recorder = createRecorder(db, async (failing) => {
    for (const { failing_since, ...lane } of failing) {
      const now = clock.now();
      if (now.getTime() - failing_since.getTime() >= failingMsMax) {
        await disableSubscription(db, ids, lane, 'failing', now);
      }
    }
  });
  const slots = { quick: new Slots(attemptsOverall), slow: new Slots(slowAttemptsOverall) };
  const slowReceivers = new SlowReceivers();
  const inHand = new Map<Lane, Promise<void>>();
  let works = false;
  let stopped = false;
  let aborted = false;
  let poked = false;

  onWebhooksChange(db, () => poke());

  function poke(): void {
    if (works && !stopped && !poked) {
      poked = true;
      setImmediate(() => {
        poked = false;
        claim().catch((err) => log.warn({ err }, 'webhooks wait: what is due could not be read'));
      });
    }
  }

  async function claim(): Promise<void> {
    works = true;
    const room = lanesMax - inHand.size;
    if (stopped || room === 0) {
      return;
    }
    for (const lane of await claimLanes(db, owner, await agreedNow(db, clock), room)) {
      inHand.set(
        lane,
        work({ lane, pace: slowReceivers.paceOf(lane) })
          .catch((err) => log.warn({ ...lane, err }, 'webhooks of a subscription wait until its lease ends'))
          .finally(() => inHand.delete(lane)),
      );
    }
  }

  async function work(one: Work): Promise<void> {
    while (!stopped && (await workOnce(one))) {
      slowReceivers.note(one);
    }
    if (!aborted) {
      await db.transaction((tx) => leaveLane(tx, owner, one.lane));
    }
  }

  /** True when there may be more. */
  async function workOnce(one: Work): Promise<boolean> {
    const { lane } = one;
    const receiver = await receivers.find(lane);
    const now = await agreedNow(db, clock);
    if (receiver === undefined || receiver.status === 'disabled') {
      return (await failWaiting(db, lane, now, givenUpPerBatch)) > 0;
    }
    if (receiver.status === 'paused') {
      return false;
    }
    const limit = one.pace === 'quick' ? deliveriesPerPage.usual : deliveriesPerPage.careful;
    const due = await selectDue(db, lane, now, limit);
    await sendAll(one, due);
    return due.length > 0;
  }

  async function sendAll(one: Work, due: readonly DueDelivery[]): Promise<void> {
    const queue = due.values();
    const recorded: Promise<void>[] = [];
    const sendOneAfterTheOther = async (isFirst: boolean) => {
      for (const delivery of queue) {
        const receiver = await receivers.find(one.lane);
        if (stopped || receiver?.status !== 'active') {
          return;
        }
        recorded.push(...(await attempt(one, receiver, delivery)));
        if (!isFirst && one.pace !== 'quick') {
          return;
        }
      }
    };
    const width = one.pace === 'quick' ? attemptsPerLane : 1;
    await Promise.all(Array.from({ length: width }, (_, index) => sendOneAfterTheOther(index === 0)));
    await Promise.all(recorded);
  }

  /** Sends it, and returns the promise that what became of it is written. */
  async function attempt(one: Work, receiver: Receiver, delivery: DueDelivery): Promise<Promise<void>[]> {
    const { lane } = one;
    const { type, created_at, data } = delivery;
    if (type === null || created_at === null || data === null) {
      const outcome = { state: 'failed', failure: 'event_gone', due_at: null, attempt: null } as const;
      return [recorder.add({ ...lane, ...outcome, id: delivery.id, at: clock.now() })];
    }
    const event = { id: delivery.event_id, type, createdAt: created_at, orgId: lane.org_id, data };
    const pool = one.pace === 'slow' ? slots.slow : slots.quick;
    const { at, answer } = await pool.use(async () => {
      const startedAt = clock.now();
      const message = messageOf(receiver, event, startedAt, {
        docsUrl: deps.docsUrl(),
        userAgent: deps.userAgent,
      });
      return { at: startedAt, answer: await sender.send(message) };
    });
    if (aborted) {
      return [];
    }
    await faults('webhook.after_send', type);
    one.pace = paceOf(answer);
    const outcome = outcomeOf(lane, delivery, at, answer);
    counts.count(outcome.state === 'waiting' ? 'retried' : outcome.state);
    const recorded = recorder.add(outcome);
    if (answer.status === 410) {
      await recorded;
      await disableSubscription(db, ids, lane, 'gone', at);
    }
    return [recorded];
  }

  function outcomeOf(lane: Lane, delivery: DueDelivery, at: Date, answer: Answer): Outcome {
    const { status, error, latencyMs, response, retryAfter } = answer;
    const arrived = status !== null && status >= 200 && status < 300;
    const attempts = delivery.attempt_count + 1;
    const next = arrived || status === 410 ? undefined : nextAttemptAt({ attempts, at, retryAfter }, random);
    return {
      ...lane,
      id: delivery.id,
      state: arrived ? 'delivered' : next === undefined ? 'failed' : 'waiting',
      failure: arrived || next !== undefined ? null : status === 410 ? 'gone' : 'attempts_exhausted',
      due_at: next ?? null,
      attempt: { at: at.toISOString(), status, latency_ms: latencyMs, error, response },
      at,
    };
  }

  async function idle(): Promise<void> {
    while (inHand.size > 0) {
      await Promise.all(inHand.values());
    }
  }

  return {
    claim,
    poke,
    idle,
    async renew() {
      if (inHand.size > 0) {
        await renewLeases(db, owner, [...inHand.keys()]);
      }
    },
    async stop() {
      stopped = true;
      await Promise.race([idle(), pause(stopWaitMs, undefined, { ref: false })]);
      // Whatever is still under way is left as if it had not been sent.
      aborted = true;
      recorder.stop();
      sender.close();
      await idle();
      await leaveAllLanes(db, owner).catch(() => undefined);
    },
  };
}

/** Whoever asks for patience gets it. */
function paceOf({ status, latencyMs, retryAfter }: Answer): Pace {
  return status !== null && latencyMs < slowMs && retryAfter === undefined ? 'quick' : 'slow';
}
