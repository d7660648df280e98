/**
 * Webhooks on the embedded engine: the rate of deliveries, and whether past deliveries slow down new ones. The subscriptions
 * are paused between the turns of the service, so that the floor is not disturbed.
 */
import { performance } from 'node:perf_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import type { Database } from '../../src/platform/db/database.ts';
import type { BenchOrg } from '../bench-org.ts';
import type { PairsRow, RowOptions, Sample } from '../measure.ts';
import { type Helper, type ServiceProcess, startHelper, startService } from '../processes.ts';
import { patiently, seededDirectory, seedOrgs } from '../seed.ts';
import type { Asked, Count, Posted } from '../webhook-peers.ts';

const size = {
  events: 10_000,
  /** Slightly below the maximum of a paused subscription: no queue may be empty before the last turn. */
  eventsOfOne: 48_000,
  smallEvents: 500,
  delivered: 200_000,
  smallDelivered: 5_000,
};
const manySubscriptions = 20;
/** The service's concurrency for the same number of fast receivers. */
const floorConnections = 160;

export const webhooks: PairsRow = {
  kind: 'pairs',
  name: 'webhooks',
  what: `deliveries of ${size.events} events to ${manySubscriptions} subscriptions of one org, signed, recorded; embedded engine`,
  floor: `bare http.request posts of the same body to the same receiver, ${floorConnections} connections`,
  toReach: {},
  shrinks: true,
  async prepare(options) {
    const events = options.small ? size.smallEvents : size.events;
    const receiver = await startReceiver();
    const poster = startHelper('./webhook-peers.ts');
    const sender = await startSender(options, receiver, {
      events,
      subscriptions: manySubscriptions,
      delivered: 0,
    });
    return {
      service: (seconds) => deliverFor(sender, receiver, seconds),
      async floor(seconds) {
        const { port } = receiver;
        const order: Asked = {
          kind: 'post',
          port,
          body: exampleBody,
          connections: floorConnections,
          seconds,
        };
        const { posts, elapsedMs } = await poster.ask<Posted>(order);
        return { 'deliveries/s': (posts * 1_000) / elapsedMs };
      },
      notes: async () => [sender.fanOut, await deliverTheRest(sender, receiver, events * manySubscriptions)],
      close: async () => {
        await Promise.all([sender.service.stop(), receiver.helper.stop(), poster.stop()]);
      },
    };
  },
};

export const webhooksGrowth: PairsRow = {
  kind: 'pairs',
  name: 'webhooks-growth',
  what: `deliveries of one subscription that has ${size.delivered} behind it; embedded engine`,
  floor: 'the same of a subscription that has none, in another service',
  toReach: { 'deliveries/s': { atLeast: 0.8 } },
  shrinks: true,
  async prepare(options) {
    const events = options.small ? size.smallEvents : size.eventsOfOne;
    const delivered = options.small ? size.smallDelivered : size.delivered;
    const receiver = await startReceiver();
    const old = await startSender(options, receiver, { events, subscriptions: 1, delivered });
    const fresh = await startSender(options, receiver, { events, subscriptions: 1, delivered: 0 });
    // Half of each turn: on a fast machine the whole ones would empty the queues.
    return {
      service: (seconds) => deliverFor(old, receiver, seconds / 2),
      floor: (seconds) => deliverFor(fresh, receiver, seconds / 2),
      close: async () => {
        await Promise.all([old.service.stop(), fresh.service.stop(), receiver.helper.stop()]);
      },
    };
  },
};

interface Receiver {
  readonly helper: Helper;
  readonly port: number;
}

async function startReceiver(): Promise<Receiver> {
  const helper = startHelper('./webhook-peers.ts');
  const { port } = await helper.ask<{ port: number }>({ kind: 'receive' } satisfies Asked);
  return { helper, port };
}

async function countOf({ helper }: Receiver): Promise<Count> {
  return helper.ask<Count>({ kind: 'count' } satisfies Asked);
}

interface Sender {
  readonly service: ServiceProcess;
  /** The time until every event had a delivery for every subscription, as text. */
  readonly fanOut: string;
  change(action: 'pause' | 'resume'): Promise<void>;
}

interface Backlog {
  readonly events: number;
  readonly subscriptions: number;
  readonly delivered: number;
}

async function startSender({ progress }: RowOptions, { port }: Receiver, backlog: Backlog): Promise<Sender> {
  progress(`writing ${backlog.events} events and ${backlog.delivered} old deliveries`);
  const { dataDir, seeded: org } = await seededDirectory((db) => fill(db, port, backlog));
  const service = await startService({
    settings: { SVC_DATA_DIR: dataDir, SVC_WEBHOOK_ALLOW_PRIVATE_NETWORKS: 'true' },
  });
  const paths = idsOf(backlog.subscriptions).map((id) => `/v1/orgs/${org.id}/webhooks/${id}`);
  return {
    service,
    fanOut: await untilFannedOut(service, org, paths, backlog),
    async change(action) {
      await Promise.all(paths.map((path) => service.call('POST', `${path}/${action}`, undefined, org.key)));
    },
  };
}

const idsOf = (subscriptions: number) =>
  Array.from({ length: subscriptions }, (_, index) => `whk_${String(index).padStart(26, '0')}`);

const exampleData = {
  name: 'Support',
  scope_kind: 'workflow',
  scope_id: 'support',
  limit_usd: '100',
  period: 'month',
};
const exampleBody = JSON.stringify({
  id: `evt_${'0'.repeat(26)}`,
  type: 'budget.updated',
  created_at: '2026-11-15T12:00:00.000Z',
  org_id: `org_${'0'.repeat(26)}`,
  data: exampleData,
});

/** The newest event is marked: when its delivery exists, all deliveries exist. */
async function fill(
  db: Database,
  port: number,
  { events, subscriptions, delivered }: Backlog,
): Promise<BenchOrg> {
  const [org] = await seedOrgs(db, 1);
  if (org === undefined) {
    throw new Error('an org is needed');
  }
  const ids = idsOf(subscriptions);
  await db.transaction(async (tx) => {
    await tx.query(
      `INSERT INTO webhook_subscriptions (org_id, id, url, events, status, created_at, updated_at)
       SELECT $1, id, 'http://127.0.0.1:' || $3::text || '/' || id, '{*}', 'paused', now() - interval '1 day', now()
         FROM unnest($2::text[]) AS id`,
      [org.id, ids, port],
    );
    await tx.query('INSERT INTO webhook_lanes (org_id, subscription_id) SELECT $1, unnest($2::text[])', [
      org.id,
      ids,
    ]);
    await tx.query(
      `INSERT INTO webhook_deliveries (org_id, subscription_id, id, event_id, event_type, state, due_at, attempt_count,
                                       attempts, created_at, ended_at)
       SELECT $1, $2, 'dlv_' || lpad(n::text, 26, '0'), 'evt_' || lpad(n::text, 26, '0'), 'budget.updated', 'delivered',
              now() - interval '1 hour', 1, $4::jsonb, now() - interval '1 hour', now() - interval '1 hour'
         FROM generate_series(1, $3::int4) AS n`,
      [
        org.id,
        ids[0],
        delivered,
        JSON.stringify([
          { at: '2026-11-15T12:00:00.000Z', status: 204, latency_ms: 2, error: null, response: null },
        ]),
      ],
    );
    await tx.query(
      `INSERT INTO outbox (tenant_id, id, type, created_at, data)
       SELECT $1, 'evt_z' || lpad(n::text, 25, '0'), 'budget.updated', now(), $3::jsonb
         FROM generate_series(1, $2::int4) AS n`,
      [org.id, events, JSON.stringify(exampleData)],
    );
  }, patiently);
  return org;
}

async function untilFannedOut(
  service: ServiceProcess,
  { key }: BenchOrg,
  paths: readonly string[],
  { events, subscriptions }: Backlog,
): Promise<string> {
  const startedMs = performance.now();
  const newest = `evt_z${String(events).padStart(25, '0')}`;
  const isThere = async (path: string) => {
    const query = `${path}/deliveries?event_id=${newest}`;
    return (await service.call<{ data: object[] }>('GET', query, undefined, key)).data.length > 0;
  };
  while (!(await isThere(paths.at(-1) ?? ''))) {
    await pause(500);
  }
  const seconds = (performance.now() - startedMs) / 1_000;
  const rate = Math.round((events * subscriptions) / seconds);
  return `${events} events became ${events * subscriptions} deliveries in ${seconds.toFixed(1)} s (${rate}/s)`;
}

async function deliverFor(sender: Sender, receiver: Receiver, seconds: number): Promise<Sample> {
  await sender.change('resume');
  const before = await countOf(receiver);
  const startedMs = performance.now();
  await pause(seconds * 1_000);
  const { received } = await countOf(receiver);
  const elapsedMs = performance.now() - startedMs;
  await sender.change('pause');
  return { 'deliveries/s': ((received - before.received) * 1_000) / elapsedMs };
}

const restWithinMs = 600_000;

async function deliverTheRest(sender: Sender, receiver: Receiver, total: number): Promise<string> {
  await sender.change('resume');
  const startedMs = performance.now();
  const first = await countOf(receiver);
  // All posts of the floor have the same path and id, so they count as one distinct delivery.
  const arrived = ({ distinct }: Count) => distinct - 1;
  let last = first;
  while (arrived(last) < total && performance.now() - startedMs < restWithinMs) {
    await pause(100);
    last = await countOf(receiver);
  }
  const seconds = (performance.now() - startedMs) / 1_000;
  const rate = Math.round((last.distinct - first.distinct) / seconds);
  return `${arrived(last)} of ${total} deliveries arrived; the last ${last.distinct - first.distinct} at ${rate}/s`;
}
