/**
 * Relays a streamed response to the client: chunk by chunk, at the pace of the client, through a filter that reads the usage. For
 * the client, the stream ends once the call is settled.
 */
import { Readable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import type { BodySink, BodySource } from '../forward/response-body.ts';
import type { RelayFilter } from './relay-filter.ts';

export type StreamEnd =
  /** The provider has sent everything. */
  | 'complete'
  /** The provider's stream broke off or timed out. */
  | 'broken'
  /** The client has left, and the rest was not read. */
  | 'left'
  /** The process is stopping. */
  | 'cut'
  /** The hold could not be increased, so the rest of the output was not sent to the client. */
  | 'truncated';

export interface RelayOptions {
  readonly source: BodySource;
  readonly filter: RelayFilter;
  /** Maximum duration of the whole response. */
  readonly totalMs: number;
  /** Returns true if the rest may be read after the client has left, and takes a drain place for it. */
  mayDrain(): boolean;
  readonly drainMs: number;
  /**
   * Maximum time to read what has arrived before the stream is ended early, because the provider generates meanwhile. Output that is
   * not read must be bounded otherwise.
   */
  readonly catchUpMsMax?: number;
  /** Called after each chunk. Resolves to false if no more output can be held. The stream is then ended. */
  cover?(): Promise<boolean> | undefined;
  /**
   * Returns the bytes that the gateway adds if it ends the stream itself. `isBehind` is true if the client was slower than the
   * provider, which may have sent any number of further bytes.
   */
  endingOf(end: StreamEnd, isBehind: boolean): Buffer;
  /** Called once. The client sees the end of the stream when the promise resolves, and a broken stream if it does not. */
  onEnd(end: StreamEnd, isBehind: boolean): Promise<void>;
}

export interface Relay {
  /** True if the provider had to wait for the client or the ledger, so that the duration says little about its pace. */
  readonly hasWaited: boolean;
  readonly body: Readable;
  /** Ends the stream when the process stops. Resolves once the call is settled. */
  cut(): Promise<void>;
  /** Ends the stream as if the maximum output had been reached, because no more can be held. */
  truncate(): void;
  /** Treats a client that has closed its sending side as one that has left. */
  leave(): void;
}

/** Number of turns of the event loop without data after which no more is expected, and the maximum number of turns to wait. */
const quietTurns = 4;
const catchUpTurnsMax = 1_000;

export function relayStream(options: RelayOptions): Relay {
  const { source, filter } = options;
  let ended: Promise<void> | undefined;
  let isEnding = false;
  let isReading = false;
  let hasClient = true;
  /** True while the hold is being increased. No more is received then. */
  let isHeldBack = false;
  /** True once no more can be held. Data that has arrived is read for its usage but not forwarded. */
  let isTruncating = false;
  let hasReceived = false;
  let hasWaited = false;
  let drainTimer: NodeJS.Timeout | undefined;

  const body = new Readable({
    read() {
      resume();
    },
    destroy(error, callback) {
      clientLeft();
      callback(error);
    },
  });
  const totalTimer = setTimeout(() => source.destroy(), options.totalMs);

  /** Ends the stream once. Later calls resolve together with the first one. */
  function end(kind: StreamEnd): Promise<void> | undefined {
    if (!isEnding) {
      isEnding = true;
      ended = finish(kind);
    }
    return ended;
  }

  async function finish(kind: StreamEnd): Promise<void> {
    clearTimeout(totalTimer);
    clearTimeout(drainTimer);
    const isBehind = source.isPaused || !isReading || (kind === 'truncated' && hasReceived);
    try {
      const rest = filter.end(hasClient && kind === 'complete');
      if (hasClient) {
        pass(rest);
        pass(options.endingOf(kind, isBehind));
      }
    } catch (error) {
      // The call must be settled whatever the provider sends.
      body.destroy(error as Error);
    }
    if (kind !== 'complete') {
      source.destroy();
    }
    try {
      await options.onEnd(kind, isBehind);
    } catch (error) {
      body.destroy(error as Error);
      return;
    }
    if (hasClient) {
      body.push(null);
    }
  }

  function pass(bytes: Buffer): void {
    if (bytes.length > 0 && hasClient && !body.push(bytes)) {
      hasWaited = true;
      source.pause();
    }
  }

  function clientLeft(): void {
    hasClient = false;
    if (isEnding) {
      return;
    }
    if (!options.mayDrain()) {
      void end('left');
      return;
    }
    drainTimer = setTimeout(() => void end('left'), options.drainMs);
    resume();
  }

  /** Lets data flow when the client reads. */
  function resume(): void {
    if (isHeldBack || isTruncating) {
      return;
    }
    if (isReading) {
      source.resume();
    } else {
      isReading = true;
      source.read(sink);
    }
  }

  function holdBack(covered: Promise<boolean>): void {
    isHeldBack = true;
    hasWaited = true;
    source.pause();
    covered.then(
      (isCovered) => {
        isHeldBack = false;
        if (isCovered) {
          source.resume();
        } else {
          void truncate();
        }
      },
      () => void truncate(),
    );
  }

  /** Ends the stream. What the provider sent while the hold was being increased is read first, because it is charged. */
  async function truncate(): Promise<void> {
    isTruncating = true;
    filter.stopPassing();
    source.resume();
    const untilMs = performance.now() + (options.catchUpMsMax ?? Number.POSITIVE_INFINITY);
    const mayWait = () => !isEnding && performance.now() < untilMs;
    for (let turn = 0, quiet = 0; turn < catchUpTurnsMax && quiet < quietTurns && mayWait(); turn += 1) {
      hasReceived = false;
      await setImmediate();
      quiet = hasReceived ? 0 : quiet + 1;
    }
    void end('truncated');
  }

  const sink: BodySink = {
    data(chunk) {
      if (isEnding) {
        return;
      }
      try {
        pass(filter.push(chunk));
      } catch {
        void end('broken');
        return;
      }
      hasReceived = true;
      if (filter.isBroken === true) {
        void end('broken');
        return;
      }
      const covered = isTruncating ? undefined : options.cover?.();
      if (covered !== undefined) {
        holdBack(covered);
      }
    },
    end: () => sourceEnded('complete'),
    broken: () => sourceEnded('broken'),
  };

  /** Ends the stream when the provider has. During a truncation, the client has not got all of it. */
  function sourceEnded(kind: StreamEnd): void {
    hasReceived = false;
    void end(isTruncating ? 'truncated' : kind);
  }

  return {
    body,
    get hasWaited() {
      return hasWaited;
    },
    cut: async () => end(hasClient ? 'cut' : 'left'),
    truncate() {
      if (!isTruncating) {
        void truncate();
      }
    },
    leave: () => void body.destroy(new Error('the client has left')),
  };
}
