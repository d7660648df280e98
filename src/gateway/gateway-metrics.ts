/** Metrics of the gateway on `/metrics`. Labels never come from the content or the headers of a request. */
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';

export interface GatewayMetrics {
  readonly call: (operation: string, status: number) => void;
  readonly attempt: (outcome: string) => void;
  /** Counts a call that generated faster than its hold assumed. */
  readonly paceExceeded: () => void;
  readonly streamOpened: () => void;
  readonly streamClosed: () => void;
  readonly hasStreams: () => boolean;
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
  const calls = new LabeledCounts(['operation', 'status']);
  const attempts = new LabeledCounts(['outcome']);
  const added = new Histogram({
    name: 'svc_gateway_added_seconds',
    help: 'Time from the receipt of a call until it is sent to the provider: body, estimate and admission.',
    buckets: latencyBuckets,
    registers: [],
  });
  const paceExceeded = new Counter({
    name: 'svc_gateway_pace_exceeded_total',
    help: 'Calls with `hold: paced` whose model generated faster than was assumed. What they cost is charged in full.',
    registers: [],
  });
  let streams = 0;
  return {
    call: (operation, status) => calls.count(`${operation} ${status}`),
    attempt: (outcome) => attempts.count(outcome),
    paceExceeded: () => paceExceeded.inc(),
    streamOpened() {
      streams += 1;
    },
    streamClosed() {
      streams -= 1;
    },
    hasStreams: () => streams > 0,
    addedLatency: (seconds) => added.observe(seconds),
    register(registry, { inProgress, drains, pendingSettlements }) {
      calls.register(
        registry,
        'svc_gateway_calls_total',
        'Calls through the gateway, by operation and the status of the response.',
      );
      attempts.register(
        registry,
        'svc_gateway_attempts_total',
        'Requests to providers, by outcome: success, client_error, retryable, unreachable.',
      );
      registry.registerMetric(added);
      registry.registerMetric(paceExceeded);
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

/** Counts with labels as plain numbers, which are read on each scrape. A counter of the library would hash its labels for each call. */
class LabeledCounts {
  readonly #labelNames: readonly string[];
  /** Counts by label values in order, joined by spaces. Label values have no spaces. */
  readonly #counts = new Map<string, number>();

  constructor(labelNames: readonly string[]) {
    this.#labelNames = labelNames;
  }

  count(values: string): void {
    this.#counts.set(values, (this.#counts.get(values) ?? 0) + 1);
  }

  register(registry: Registry, name: string, help: string): void {
    const labelNames = this.#labelNames;
    const counts = this.#counts;
    new Counter({
      name,
      help,
      labelNames: [...labelNames],
      registers: [registry],
      collect() {
        this.reset();
        for (const [values, count] of counts) {
          const given = values.split(' ');
          this.inc(Object.fromEntries(labelNames.map((label, index) => [label, given[index] ?? ''])), count);
        }
      },
    });
  }
}
