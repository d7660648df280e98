/** Metrics of the circuit breakers of this process. */
import { Counter, Gauge, type Registry } from 'prom-client';
import type { Breakers } from './breakers.ts';

/** Bounds the number of time series. */
const connectionsShownMax = 100;

export function registerConnectionMetrics(registry: Registry, breakers: Breakers): void {
  new Gauge({
    name: 'svc_gateway_breakers',
    help: 'Connections to providers whose circuit breaker is not closed in this process, by state.',
    labelNames: ['state'],
    registers: [registry],
    collect() {
      const phases = breakers.notClosed().map(({ phase }) => phase);
      for (const state of ['open', 'half_open'] as const) {
        this.set({ state }, phases.filter((phase) => phase === state).length);
      }
    },
  });
  new Gauge({
    name: 'svc_gateway_breaker_open',
    help: 'Circuit breakers that are not closed: 1 if open, 0.5 if half-open. At most 100 connections.',
    labelNames: ['connection_id'],
    registers: [registry],
    collect() {
      this.reset();
      for (const { connectionId, phase } of breakers.notClosed().slice(0, connectionsShownMax)) {
        this.set({ connection_id: connectionId }, phase === 'open' ? 1 : 0.5);
      }
    },
  });
  new Counter({
    name: 'svc_gateway_breaker_openings_total',
    help: 'How often a circuit breaker of a connection was opened.',
    registers: [registry],
    collect() {
      this.reset();
      this.inc(breakers.opened());
    },
  });
}
