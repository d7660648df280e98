/** Metrics of the gateway on `/metrics`. No label comes from the content or the headers of a request. */
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';

export interface GatewayMetrics {
  readonly call: (operation: string, status: number) => void;
  readonly attempt: (outcome: string) => void;
  readonly streamOpened: () => void;
  readonly streamClosed: () => void;
  /** Seconds from the receipt of a call until it is sent to the provider. */
  readonly addedLatency: (seconds: number) => void;
  register(registry: Registry, state: GatewayGauges): void;
}

export interface GatewayGauges {
  inProgress(): number;
  drains(): number;
  pendingSettlements(): number;
}

const latencyBuckets = [0.000_5, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 1];

export function createGatewayMetrics(): GatewayMetrics {
  const calls = new Counter({
    name: 'svc_gateway_calls_total',
    help: 'Calls through the gateway, by operation and the status of the response.',
    labelNames: ['operation', 'status'],
    registers: [],
  });
  const attempts = new Counter({
    name: 'svc_gateway_attempts_total',
    help: 'Requests to providers, by outcome: success, client_error, retryable, unreachable.',
    labelNames: ['outcome'],
    registers: [],
  });
  const added = new Histogram({
    name: 'svc_gateway_added_seconds',
    help: 'Time from the receipt of a call until it is sent to the provider: body, estimate and admission.',
    buckets: latencyBuckets,
    registers: [],
  });
  let streams = 0;
  return {
    call: (operation, status) => calls.inc({ operation, status: String(status) }),
    attempt: (outcome) => attempts.inc({ outcome }),
    streamOpened() {
      streams += 1;
    },
    streamClosed() {
      streams -= 1;
    },
    addedLatency: (seconds) => added.observe(seconds),
    register(registry, { inProgress, drains, pendingSettlements }) {
      registry.registerMetric(calls);
      registry.registerMetric(attempts);
      registry.registerMetric(added);
      const gauge = (name: string, help: string, value: () => number) =>
        new Gauge({
          name,
          help,
          registers: [registry],
          collect() {
            this.set(value());
          },
        });
      gauge('svc_gateway_calls_in_progress', 'Calls that are not settled yet.', inProgress);
      gauge('svc_gateway_streams_open', 'Streamed responses in progress.', () => streams);
      gauge(
        'svc_gateway_drains',
        'Responses that are read to their end after their client has left.',
        drains,
      );
      gauge('svc_gateway_settlements_pending', 'Settlements that wait for the ledger.', pendingSettlements);
    },
  };
}
