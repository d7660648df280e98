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
}

export async function readBacklog(db: Queryable): Promise<Backlog> {
  const [row] = await db.query<{ waiting: number; overdue: number }>(
    `SELECT (SELECT count(*) FROM webhook_deliveries WHERE state = 'waiting')::float8 AS waiting,
            (SELECT greatest(coalesce(extract(epoch FROM now() - min(next_due_at)), 0), 0)
               FROM webhook_lanes WHERE next_due_at IS NOT NULL)::float8 AS overdue`,
  );
  return { waiting: row?.waiting ?? 0, overdueSeconds: row?.overdue ?? 0 };
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

function backlogOf(db: Database): () => Promise<Backlog> {
  let last: Backlog = { waiting: 0, overdueSeconds: 0 };
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
