/**
 * Structured logs, one JSON object a line. Secrets never reach a log call. Lines are written in the background, so
 * that a slow reader of the log does not slow down requests; what is still buffered is written when the process exits.
 */
import { type DestinationStream, type Logger, pino } from 'pino';

export type Log = Logger;

export function createLog(level: string, destination?: DestinationStream): Log {
  const options = {
    level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
  };
  return pino(options, destination ?? pino.destination({ sync: false }));
}
