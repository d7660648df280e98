/**
 * Writes log lines to a file descriptor. Lines are written in the background, so that a slow reader does not slow down requests,
 * and in batches, because each write wakes a thread. Buffered lines are written when the process exits. Logging never ends or
 * blocks the process: lines that cannot be written (a full disk, a closed pipe, a slow reader) are dropped and counted.
 */
import { write, writeSync } from 'node:fs';
import type { DestinationStream } from 'pino';
import { Counter, type Registry } from 'prom-client';

const flushCharacters = 65_536;
const flushEveryMs = 50;
/** Maximum size of the buffer for a slow reader: about a minute of a busy service. */
const bufferedCharactersMax = 64 * 1_048_576;
/** Pause before retrying a write that would block, because the reader of the pipe is slow. */
const retryAfterMs = 20;
/** Time that a slow reader has for the last lines when the process exits. */
const exitMsMax = 1_000;

let droppedLines = 0;

/** Registers the number of log lines that were dropped since the start of the process. */
export function registerLogMetrics(registry: Registry): void {
  new Counter({
    name: 'svc_log_lines_dropped_total',
    help: 'Log lines that could not be written: the disk was full, the reader was gone or did not keep up.',
    registers: [registry],
    collect() {
      this.reset();
      this.inc(droppedLines);
    },
  });
}

export function createLogDestination(descriptor = 1): DestinationStream {
  let buffered = '';
  /** The bytes that are being written; empty if there are none. */
  let writing: Buffer = Buffer.alloc(0);
  let isInFlight = false;
  let due: NodeJS.Timeout | undefined;

  function flush(): void {
    clearTimeout(due);
    due = undefined;
    if (writing.length === 0 && buffered !== '') {
      writing = Buffer.from(buffered);
      buffered = '';
      writeRest();
    }
  }

  function writeRest(): void {
    isInFlight = true;
    write(descriptor, writing, 0, writing.length, null, (error, written) => {
      isInFlight = false;
      if (error?.code === 'EAGAIN') {
        setTimeout(writeRest, retryAfterMs).unref();
        return;
      }
      if (error !== null) {
        droppedLines += linesIn(writing);
      }
      writing = error === null ? writing.subarray(written) : Buffer.alloc(0);
      if (writing.length > 0) {
        writeRest();
      } else if (buffered.length >= flushCharacters) {
        flush();
      } else if (buffered !== '') {
        due ??= setTimeout(flush, flushEveryMs).unref();
      }
    });
  }

  /** Writes all remaining lines synchronously when the process exits. */
  function writeNow(): void {
    const rest = Buffer.concat([isInFlight ? Buffer.alloc(0) : writing, Buffer.from(buffered)]);
    const deadlineMs = Date.now() + exitMsMax;
    for (let written = 0; written < rest.length; ) {
      try {
        written += writeSync(descriptor, rest, written);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EAGAIN' || Date.now() > deadlineMs) {
          return;
        }
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, retryAfterMs);
      }
    }
  }

  let writesOnExit = false;
  return {
    write(line) {
      if (!writesOnExit) {
        writesOnExit = true;
        process.once('exit', writeNow);
      }
      if (buffered.length + line.length > bufferedCharactersMax) {
        droppedLines += 1;
        return;
      }
      buffered += line;
      if (buffered.length >= flushCharacters) {
        flush();
      } else {
        due ??= setTimeout(flush, flushEveryMs).unref();
      }
    },
  };
}

function linesIn(bytes: Buffer): number {
  let lines = 0;
  for (let at = bytes.indexOf(0x0a); at !== -1; at = bytes.indexOf(0x0a, at + 1)) {
    lines += 1;
  }
  return lines;
}
