/**
 * Structured logs, one JSON object a line. Secrets never reach a log call. Lines are written in the background, so
 * that a slow reader of the log does not slow down requests, and many at once, as each write wakes a thread. What is
 * still buffered is written when the process exits.
 */
import { type DestinationStream, type Logger, pino } from 'pino';
import { isoInstant } from './time/iso-instant.ts';

export type Log = Logger;

const writtenCharactersMin = 65_536;
const writtenEveryMs = 50;

export function createLog(level: string, destination?: DestinationStream): Log {
  const options = {
    level,
    base: null,
    timestamp: () => `,"time":"${isoInstant(Date.now())}"`,
    formatters: { level: (label: string) => ({ level: label }) },
  };
  return pino(options, destination ?? gathered());
}

/**
 * Gathers lines before the destination sees them. It can gather too (`minLength`), but measures all that it has with every
 * line, which copied 26 KB a line and was a third of all garbage of a request.
 */
function gathered(): DestinationStream {
  const destination = pino.destination({ sync: false });
  let lines = '';
  let due: NodeJS.Timeout | undefined;
  const pass = () => {
    clearTimeout(due);
    due = undefined;
    const written = lines;
    lines = '';
    if (written !== '') {
      destination.write(written);
    }
  };
  let isExitHeard = false;
  return {
    write(line) {
      if (!isExitHeard) {
        isExitHeard = true;
        // Before the destination's own listener, which writes what has been passed on.
        process.prependListener('exit', pass);
      }
      lines += line;
      if (lines.length >= writtenCharactersMin) {
        pass();
      } else {
        due ??= setTimeout(pass, writtenEveryMs).unref();
      }
    },
  };
}
