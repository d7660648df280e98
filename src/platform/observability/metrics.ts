/** Prometheus metrics of the process. Labels are route templates, never paths, so their number is bounded. */
import { collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import { coalesced } from '../cache/coalesce.ts';
import type { Database } from '../db/database.ts';
import { RequestCounts, type RouteCounts } from './request-counts.ts';

export interface RequestMetrics {
  observe(method: string, route: string, status: number, seconds: number): void;
}

export interface Metrics extends RequestMetrics {
  /** Returns the counts of a route that counts its requests itself. */
  countsOf(route: string): RouteCounts;
  text(): Promise<string>;
  /** Returns the current value of a metric, summed over its labels; undefined if there is no such metric. */
  value(name: string): Promise<number | undefined>;
  /** Registry for the metrics of components that are created later. */
  readonly registry: Registry;
  readonly contentType: string;
}

export interface MetricsOptions {
  readonly db: Database;
  /** Minimum time between two renderings. Each takes several statements, and `/metrics` needs no key. */
  readonly renderEveryMs: number;
  /** Registers the metrics of other components. */
  registerMore(registry: Registry): void;
}

export function createMetrics({ db, renderEveryMs, registerMore }: MetricsOptions): Metrics {
  const registry = new Registry();
  registerMore(registry);
  // Event loop lag, memory, handles, garbage collection.
  collectDefaultMetrics({ register: registry });

  const requests = new RequestCounts();
  requests.register(registry);
  new Gauge({
    name: 'svc_database_connections',
    help: 'Database connections in use and idle, and callers waiting for one.',
    labelNames: ['state'],
    registers: [registry],
    collect() {
      const { connections, idle, waiting } = db.stats();
      this.set({ state: 'used' }, connections - idle);
      this.set({ state: 'idle' }, idle);
      this.set({ state: 'waiting' }, waiting);
    },
  });

  new Gauge({
    name: 'svc_notifications_healthy',
    help: '1 while change notifications arrive; 0 while caches are bypassed because they may be missing.',
    registers: [registry],
    collect() {
      this.set(db.notificationsHealthy() ? 1 : 0);
    },
  });
  new Gauge({
    name: 'svc_database_timeline',
    help: 'Newest timeline of PostgreSQL that this process has seen; raised by every failover. 0 if unknown.',
    registers: [registry],
    collect() {
      this.set(db.stats().timeline ?? 0);
    },
  });
  new Gauge({
    name: 'svc_database_former_primaries',
    help: 'Hosts of the connection string that accept writes on an older timeline, and must be shut down.',
    registers: [registry],
    collect() {
      this.set(db.stats().formerPrimaries?.length ?? 0);
    },
  });

  return {
    registry,
    contentType: registry.contentType,
    text: coalesced(() => registry.metrics(), { everyMs: renderEveryMs }),
    async value(name) {
      const metric = await registry.getSingleMetric(name)?.get();
      return metric?.values.reduce((sum, { value }) => sum + value, 0);
    },
    countsOf: (route) => requests.of(route),
    observe(method, route, status, seconds) {
      requests.of(route).answered(knownMethods.has(method) ? method : 'other', status, seconds);
    },
  };
}

/** Methods with a label of their own. A client can send any method, so all others share one label. */
const knownMethods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);
