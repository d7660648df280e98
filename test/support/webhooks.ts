/**
 * Webhooks under the control of a test: deliveries are sent only on request, and the test can wait until all are
 * recorded.
 */
import { createChatMessages, createMessages } from '../../src/capabilities/integration/alerts/index.ts';
import {
  createDispatcher,
  type DispatcherDependencies,
} from '../../src/capabilities/integration/webhooks/dispatcher.ts';
import { fanOut } from '../../src/capabilities/integration/webhooks/fan-out.ts';
import { createHttpTransport } from '../../src/capabilities/integration/webhooks/http-transport.ts';
import { createDeliveryCounts } from '../../src/capabilities/integration/webhooks/metrics.ts';
import { createSender, type SenderOptions } from '../../src/capabilities/integration/webhooks/sender.ts';
import { WaitingRoom } from '../../src/capabilities/integration/webhooks/waiting-room.ts';
import { noFaults } from '../../src/platform/faults.ts';
import { createIds } from '../../src/platform/ids.ts';
import { createLog } from '../../src/platform/log.ts';
import type { TestOrg, World } from '../harness.ts';
import { createNotificationsReceived } from './notifications-received.ts';

export interface Webhooks {
  /** Queues events for their subscriptions, sends the due deliveries, and waits until their outcomes are stored. */
  deliver(): Promise<void>;
  /** Starts the same work, without waiting for its end. */
  begin(): Promise<void>;
  idle(): Promise<void>;
  stop(): Promise<void>;
}

export function controlWebhooks(
  world: World,
  options: Partial<SenderOptions> &
    Partial<Pick<DispatcherDependencies, 'faults' | 'random' | 'clock' | 'nowMs' | 'stopWaitMs'>> & {
      /** Replaces the measured latency of each response. */
      readonly latencyMs?: number;
    } = {},
): Webhooks {
  const { db, services } = world;
  const {
    faults = noFaults,
    random = () => 0.5,
    clock = world.clock,
    stopWaitMs = 5_000,
    latencyMs,
    nowMs = () => performance.now(),
    ...sending
  } = options;
  const sender = createSender({ allowPrivateNetworks: true, ...sending });
  const ids = createIds(clock);
  const dispatcher = createDispatcher({
    // On a busy machine a late ping says that notifications may have been missed: that too would start another round.
    db: {
      ...db,
      listen: (channel, listener) => db.listen(channel, (payload) => payload !== null && listener(payload)),
    },
    clock,
    ids,
    heads: services.auditHeads,
    faults,
    random,
    nowMs,
    stopWaitMs,
    log: createLog('silent'),
    secrets: services.secrets,
    counts: createDeliveryCounts(),
    transport: createHttpTransport({
      sender: {
        ...sender,
        async send(message) {
          const answer = await sender.send(message);
          return { ...answer, latencyMs: latencyMs ?? answer.latencyMs };
        },
      },
      chat: createChatMessages(createMessages({ db, baseUrl: () => world.baseUrl })),
      userAgent: 'Purser/test',
      docsUrl: () => 'https://docs.example',
    }),
  });
  const room = new WaitingRoom();
  /** A late notification would start another round of deliveries. */
  const notificationsReceived = createNotificationsReceived(db);
  async function begin(): Promise<void> {
    while (await fanOut({ db, clock, ids, room })) {
      // Continue with the next batch.
    }
    await dispatcher.claim();
  }
  return {
    begin,
    idle: () => dispatcher.idle(),
    stop: () => dispatcher.stop(),
    async deliver() {
      await notificationsReceived();
      // A queue whose lease is just being released cannot be claimed yet.
      await dispatcher.idle();
      await begin();
      await dispatcher.idle();
    },
  };
}

export async function subscribe(
  world: World,
  org: TestOrg,
  url: string,
  events: readonly string[] = ['budget.*'],
): Promise<string> {
  const path = `/v1/orgs/${org.id}/webhooks`;
  const { status, json } = await world.request('POST', path, { key: org.ownerKey, body: { url, events } });
  if (status !== 201) {
    throw new Error(JSON.stringify(json));
  }
  return json.id;
}

/** Creates a budget, which emits exactly one event. */
export async function makeBudget(world: World, org: TestOrg, name = 'a'): Promise<void> {
  await world.request('POST', `/v1/orgs/${org.id}/budgets`, {
    key: org.ownerKey,
    body: { name, scope_kind: 'org', period: 'day', limit_usd: '1' },
  });
}
