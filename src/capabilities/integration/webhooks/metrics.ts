/** Metrics of deliveries. */
import { Counter, Gauge, type Registry } from 'prom-client';
import type { Database, Queryable } from '../../../platform/db/database.ts';

/** `retried`: the attempt failed and another will follow. `failed`: it was the last one. */
export const attemptOutcomes = ['delivered', 'retried', 'failed'] as const;
export type AttemptOutcome = (typeof attemptOutcomes)[number];

export interface DeliveryCounts {
  count(outcome: AttemptOutcome): void;
  totals(): Readonly<Record<AttemptOutcome, number>>;
}

export function createDeliveryCounts(): DeliveryCounts {
  const totals = { delivered: 0, retried: 0, failed: 0 };
  return {
    count(outcome) {
      totals[outcome] += 1;
    },
    totals: () => totals,
  };
}

export interface Backlog {
  readonly waiting: number;
  readonly overdueSeconds: number;
  /** Events that were not fanned out yet. */
  readonly events: number;
  readonly oldestEventSeconds: number;
}

const emptyBacklog: Backlog = { waiting: 0, overdueSeconds: 0, events: 0, oldestEventSeconds: 0 };

export async function readBacklog(db: Queryable): Promise<Backlog> {
  const [row] = await db.query<Backlog>(
    `SELECT (SELECT count(*) FROM webhook_deliveries WHERE state = 'waiting')::float8 AS waiting,
            (SELECT greatest(coalesce(extract(epoch FROM now() - min(next_due_at)), 0), 0)
               FROM webhook_lanes WHERE next_due_at IS NOT NULL)::float8 AS "overdueSeconds",
            events.count::float8 AS events,
            greatest(coalesce(extract(epoch FROM now() - events.oldest), 0), 0)::float8 AS "oldestEventSeconds"
       FROM (SELECT count(*) AS count, min(created_at) AS oldest FROM outbox WHERE fanned_out_at IS NULL) AS events`,
  );
  return row ?? emptyBacklog;
}

/** Maximum age of the cached backlog. Counting the backlog reads all of it, so it is not done for every scrape. */
const backlogAgeMs = 10_000;

export function registerWebhookMetrics(registry: Registry, db: Database, counts: DeliveryCounts): void {
  new Counter({
    name: 'svc_webhook_deliveries_total',
    help: 'Delivery attempts by outcome.',
    labelNames: ['outcome'],
    registers: [registry],
    collect() {
      this.reset();
      const totals = counts.totals();
      for (const outcome of attemptOutcomes) {
        this.inc({ outcome }, totals[outcome]);
      }
    },
  });
  const backlog = backlogOf(db);
  registerEventMetrics(registry, backlog);
  new Gauge({
    name: 'svc_webhook_deliveries_waiting',
    help: 'Deliveries that wait for an attempt, including those of paused subscriptions.',
    registers: [registry],
    async collect() {
      this.set((await backlog()).waiting);
    },
  });
  new Gauge({
    name: 'svc_webhook_oldest_overdue_seconds',
    help: 'Time that the most overdue delivery has waited for its attempt.',
    registers: [registry],
    async collect() {
      this.set((await backlog()).overdueSeconds);
    },
  });
}

function registerEventMetrics(registry: Registry, backlog: () => Promise<Backlog>): void {
  new Gauge({
    name: 'svc_events_waiting',
    help: 'Events that were not queued for their subscriptions yet.',
    registers: [registry],
    async collect() {
      this.set((await backlog()).events);
    },
  });
  new Gauge({
    name: 'svc_oldest_event_seconds',
    help: 'Age of the oldest event that was not queued for its subscriptions yet.',
    registers: [registry],
    async collect() {
      this.set((await backlog()).oldestEventSeconds);
    },
  });
}

function backlogOf(db: Database): () => Promise<Backlog> {
  let last = emptyBacklog;
  let reading: Promise<Backlog> | undefined;
  let readAtMs = Number.NEGATIVE_INFINITY;

  async function read(): Promise<Backlog> {
    try {
      last = await readBacklog(db);
      readAtMs = Date.now();
    } catch {
      // The previous value is kept: the scrape must not fail, and database problems are reported elsewhere.
    } finally {
      reading = undefined;
    }
    return last;
  }

  return async () => {
    if (Date.now() - readAtMs < backlogAgeMs) {
      return last;
    }
    reading ??= read();
    return reading;
  };
}
