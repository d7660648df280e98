/**
 * Logs a repeated failure, such as that of a job while the database is unavailable. The first failure is logged immediately, then a
 * summary with their number once a minute, and one line when a success ends them. A failure of another kind is also logged
 * immediately. At level debug, every failure is logged.
 */
import { performance } from 'node:perf_hooks';
import type { Log } from './log.ts';
import { ServiceUnavailable } from './service-unavailable.ts';

export interface FailureLogOptions {
  readonly log: Log;
  /** Fields of every line. They name the failing part, such as the id of a job. */
  readonly fields: object;
  readonly messages: {
    readonly failed: string;
    readonly stillFails: string;
    readonly recovered: string;
  };
  nowMs?(): number;
}

export interface FailureLog {
  /** Counts a failure. `fields` are added to the line that logs it, such as a trace id. */
  failed(error: unknown, fields?: object): void;
  succeeded(): void;
}

export const summaryEveryMs = 60_000;

export function createFailureLog(options: FailureLogOptions): FailureLog {
  const { log, fields: shared, messages, nowMs = () => performance.now() } = options;
  let failures = 0;
  let firstMs = 0;
  let loggedMs = 0;
  let kind = '';

  const counted = () => ({ failures, forSeconds: Math.round((nowMs() - firstMs) / 1_000) });

  return {
    failed(error, fields = {}) {
      const now = nowMs();
      const isFirst = failures === 0;
      failures += 1;
      if (isFirst) {
        firstMs = now;
      }
      if (isFirst || kindOf(error) !== kind) {
        log.warn({ ...shared, ...fields, err: error }, messages.failed);
      } else if (now - loggedMs >= summaryEveryMs) {
        log.warn({ ...shared, ...counted(), err: error }, messages.stillFails);
      } else {
        log.debug({ ...shared, ...fields, err: error }, messages.failed);
        return;
      }
      loggedMs = now;
      kind = kindOf(error);
    },
    succeeded() {
      if (failures > 0) {
        log.info({ ...shared, ...counted() }, messages.recovered);
        failures = 0;
      }
    },
  };
}

/** Returns the kind of an error. The message is not used, because it may be different each time. */
function kindOf(error: unknown): string {
  if (error instanceof ServiceUnavailable) {
    return 'unavailable';
  }
  return error instanceof Error
    ? `${error.name} ${(error as NodeJS.ErrnoException).code ?? ''}`
    : typeof error;
}
