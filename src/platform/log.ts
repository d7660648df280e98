/** Structured logs, one JSON object a line. Secrets never reach a log call; the redaction is a second net. */
import { type DestinationStream, type Logger, pino } from 'pino';

export type Log = Logger;

export function createLog(level: string, destination?: DestinationStream): Log {
  const options = {
    level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    redact: { paths: ['secret', '*.secret', 'authorization', '*.authorization'], censor: '[redacted]' },
  };
  return destination === undefined ? pino(options) : pino(options, destination);
}
