/**
 * Structured logs, one JSON object per line. Secrets are never passed to a log call. Lines are written in the background, so
 * that a slow reader of the log does not slow down requests, and in batches, since each write wakes a thread. Buffered lines
 * are written when the process exits.
 */
import { type DestinationStream, type Logger, pino } from 'pino';
import { isoInstant } from './time/iso-instant.ts';

export type Log = Logger;

const flushCharacters = 65_536;
const flushEveryMs = 50;

export function createLog(level: string, destination?: DestinationStream): Log {
  const options = {
    level,
    base: null,
    timestamp: () => `,"time":"${isoInstant(Date.now())}"`,
    formatters: { level: (label: string) => ({ level: label }) },
  };
  return pino(options, destination ?? buffered());
}

/**
 * Buffers lines in front of pino's destination. The destination can buffer too (`minLength`), but measures its whole buffer
 * with every line, which copied 26 KB per line and was a third of all garbage of a request.
 */
function buffered(): DestinationStream {
  const destination = pino.destination({ sync: false });
  let lines = '';
  let due: NodeJS.Timeout | undefined;
  const flush = () => {
    clearTimeout(due);
    due = undefined;
    const flushed = lines;
    lines = '';
    if (flushed !== '') {
      destination.write(flushed);
    }
  };
  let flushesOnExit = false;
  return {
    write(line) {
      if (!flushesOnExit) {
        flushesOnExit = true;
        // Before the destination's own listener, which writes what was flushed.
        process.prependListener('exit', flush);
      }
      lines += line;
      if (lines.length >= flushCharacters) {
        flush();
      } else {
        due ??= setTimeout(flush, flushEveryMs).unref();
      }
    },
  };
}
