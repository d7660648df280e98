/** Prometheus metrics of the process. Labels are route templates, never paths, so their number is bounded. */
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { Database } from './db/database.ts';

export interface RequestMetrics {
  observe(method: string, route: string, status: number, seconds: number): void;
}

export interface Metrics extends RequestMetrics {
  text(): Promise<string>;
  readonly contentType: string;
}

export function createMetrics(db: Database): Metrics {
  const registry = new Registry();
  // The event loop's lag, memory, handles, garbage collection.
  collectDefaultMetrics({ register: registry });

  const requests = new Counter({
    name: 'svc_http_requests_total',
    help: 'Requests answered, by route template, method and status.',
    labelNames: ['method', 'route', 'status'],
    registers: [registry],
  });
  const durations = new Histogram({
    name: 'svc_http_request_duration_seconds',
    help: 'Time from the first byte read to the answer being handed to the socket.',
    labelNames: ['route'],
    buckets: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers: [registry],
  });
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

  return {
    contentType: registry.contentType,
    text: () => registry.metrics(),
    observe(method, route, status, seconds) {
      requests.inc({ method: knownMethods.has(method) ? method : 'other', route, status });
      durations.observe({ route }, seconds);
    },
  };
}

/** A client can make up any number of methods; the label must not follow. */
const knownMethods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);
