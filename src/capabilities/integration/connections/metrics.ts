/** Metrics of the circuit breakers and of the credentials of connections in this process. */
import { Counter, Gauge, type Registry } from 'prom-client';
import type { TokenCache } from '../../../platform/cloud-credentials/token-cache.ts';
import type { Breakers } from './breakers.ts';

/** Bounds the number of time series. */
const connectionsShownMax = 100;

export function registerConnectionMetrics(registry: Registry, breakers: Breakers, tokens: TokenCache): void {
  registerBreakers(registry, breakers);
  registerCredentials(registry, tokens);
}

function registerCredentials(registry: Registry, tokens: TokenCache): void {
  new Gauge({
    name: 'svc_gateway_credentials_failing',
    help: 'Credentials of clouds whose last renewal has failed in this process.',
    registers: [registry],
    collect() {
      this.set(tokens.counts().failing);
    },
  });
  new Counter({
    name: 'svc_gateway_credential_renewals_total',
    help: 'Acquisitions and renewals of credentials of clouds, by result.',
    labelNames: ['result'],
    registers: [registry],
    collect() {
      const { succeeded, failed } = tokens.totals();
      this.reset();
      this.inc({ result: 'success' }, succeeded);
      this.inc({ result: 'failure' }, failed);
    },
  });
}

function registerBreakers(registry: Registry, breakers: Breakers): void {
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
