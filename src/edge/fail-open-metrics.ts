/** Metrics of fail-open decisions on `/metrics`. */
import { Counter, Gauge, type Registry } from 'prom-client';

export interface FailOpenCounts {
  /** Decisions that were allowed and written to the spool. */
  spooled: number;
  /** Decisions that were added to the ledger, or that a run had settled already. */
  imported: number;
  /** Decisions that the ledger rejected. They are in `rejected.ndjson`. */
  rejected: number;
  /** Requests that were not allowed, because the spool was full or could not be written. */
  refused: number;
}

export interface FailOpenState {
  readonly counts: FailOpenCounts;
  pending(): number;
  bytes(): number;
  oldestSeconds(): number;
}

export function registerFailOpenMetrics(
  registry: Registry,
  { counts, pending, bytes, oldestSeconds }: FailOpenState,
): void {
  new Counter({
    name: 'svc_fail_open_decisions_total',
    help: 'Decisions made while the ledger was unavailable, by outcome: spooled, imported, rejected, refused.',
    labelNames: ['outcome'],
    registers: [registry],
    collect() {
      this.reset();
      for (const [outcome, count] of Object.entries(counts)) {
        this.inc({ outcome }, count);
      }
    },
  });
  const gauge = (name: string, help: string, value: () => number) =>
    new Gauge({
      name,
      help,
      registers: [registry],
      collect() {
        this.set(value());
      },
    });
  gauge('svc_fail_open_pending', 'Fail-open decisions that are not in the ledger yet.', pending);
  gauge(
    'svc_fail_open_spool_bytes',
    'Size of the fail-open decisions that are not in the ledger yet.',
    bytes,
  );
  gauge(
    'svc_fail_open_oldest_seconds',
    'Age of the oldest fail-open decision that is not in the ledger yet.',
    oldestSeconds,
  );
}
