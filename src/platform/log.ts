/** Structured logs, one JSON object per line. Secrets are never passed to a log call. */
import { type DestinationStream, type Logger, pino } from 'pino';
import { createLogDestination } from './log-destination.ts';
import { isoInstant } from './time/iso-instant.ts';

export type Log = Logger;

export function createLog(level: string, destination: DestinationStream = createLogDestination()): Log {
  const options = {
    level,
    base: null,
    timestamp: () => `,"time":"${isoInstant(Date.now())}"`,
    formatters: { level: (label: string) => ({ level: label }) },
  };
  return pino(options, destination);
}
