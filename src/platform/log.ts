/**
 * Structured logs, one JSON object a line. Secrets never reach a log call. Lines are written in the background, so
 * that a slow reader of the log does not slow down requests, and many at once, as each write wakes a thread. What is
 * still buffered is written when the process exits.
 */
import { type DestinationStream, type Logger, pino } from 'pino';

export type Log = Logger;

const writtenBytesMin = 65_536;
const writtenEveryMs = 50;

export function createLog(level: string, destination?: DestinationStream): Log {
  const options = {
    level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
  };
  return pino(
    options,
    destination ??
      pino.destination({
        sync: false,
        minLength: writtenBytesMin,
        maxWrite: 2 * writtenBytesMin,
        periodicFlush: writtenEveryMs,
      }),
  );
}
