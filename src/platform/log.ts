/** Structured logs, one JSON object per line. Secrets are never passed to a log call. */
import { type DestinationStream, type Logger, pino, stdSerializers } from 'pino';
import { createLogDestination } from './log-destination.ts';
import { ServiceUnavailable } from './service-unavailable.ts';
import { isoInstant } from './time/iso-instant.ts';

export type Log = Logger;

export function createLog(level: string, destination: DestinationStream = createLogDestination()): Log {
  const options = {
    level,
    base: null,
    timestamp: () => `,"time":"${isoInstant(Date.now())}"`,
    formatters: { level: (label: string) => ({ level: label }) },
    serializers: { err: level === 'debug' || level === 'trace' ? stdSerializers.err : withoutExpectedStacks },
  };
  return pino(options, destination);
}

/**
 * Serializes an error. Errors of an outage lose their stacks: they always show the same places, and with the stacks of its causes a
 * line has about two kilobytes. The message includes the messages of the causes.
 */
function withoutExpectedStacks(error: Error): object {
  const serialized = stdSerializers.err(error);
  if (!isExpected(error)) {
    return serialized;
  }
  const { type, message } = serialized;
  return { type, message, ...(code(error) !== undefined && { code: code(error) }) };
}

/** Returns true for errors of an unavailable dependency, including network errors. */
function isExpected(error: unknown): boolean {
  return (
    error instanceof ServiceUnavailable ||
    /^E(CONN|PIPE|TIMEDOUT|HOST|NET|NOTFOUND|AI_AGAIN|NOSPC)/.test(code(error) ?? '') ||
    (error instanceof AggregateError && error.errors.length > 0 && error.errors.every(isExpected))
  );
}

function code(error: unknown): string | undefined {
  const { code: found } = (error ?? {}) as NodeJS.ErrnoException;
  return typeof found === 'string' ? found : undefined;
}
