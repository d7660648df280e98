/**
 * Relays a streamed response to the client: chunk by chunk, at the pace of the client, and through a filter that reads the usage.
 * The stream ends for the client once its call is settled.
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
  /** The client has left, and the rest was not read to its end. */
  | 'left'
  /** The process stops. */
  | 'cut'
  /** The hold could not be increased, so the rest of the output was not passed on. */
  | 'truncated';

export interface RelayOptions {
  readonly source: BodySource;
  readonly filter: RelayFilter;
  /** Maximum duration of the whole response. */
  readonly totalMs: number;
  /** Returns true if the rest may be read after the client has left, and takes one of the places for that. */
  mayDrain(): boolean;
  readonly drainMs: number;
  /** Called after each chunk. Resolves to false if no more output can be held: the stream is then ended. */
  cover?(): Promise<boolean> | undefined;
  /**
   * Returns the bytes that the gateway adds at an end that is not the provider's. `isBehind`: the client was slower than the
   * provider, so the provider may have sent any number of bytes more.
   */
  endingOf(end: StreamEnd, isBehind: boolean): string;
  /** Called once. The client sees the end of the stream when this has resolved, and a broken one if it has not. */
  onEnd(end: StreamEnd, isBehind: boolean): Promise<void>;
}

export interface Relay {
  readonly body: Readable;
  /** Ends the stream now, because the process stops. Resolves once the call is settled. */
  cut(): Promise<void>;
  /** Handles a client that has closed its sending side like one that has left. */
  leave(): void;
}

/** Turns of the event loop without data after which nothing more has arrived, and the most that are waited for that. */
const quietTurns = 4;
const catchUpTurnsMax = 1_000;

export function relayStream(options: RelayOptions): Relay {
  const { source, filter } = options;
  let ended: Promise<void> | undefined;
  let isEnding = false;
  let isReading = false;
  let hasClient = true;
  /** True while the hold is being increased: nothing more may be received. */
  let isHeldBack = false;
  /** True once no more can be held: what has arrived is read for its usage, and not passed on. */
  let isTruncating = false;
  let hasReceived = false;
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

  /** Ends once; later calls resolve with the first one. */
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
        pass(Buffer.from(options.endingOf(kind, isBehind)));
      }
    } catch (error) {
      // Whatever a provider sends, its call is settled.
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

  /** Data flows only once the client reads. */
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

  /** The provider charges for what it has sent while the hold was being increased, so that is read first. */
  async function truncate(): Promise<void> {
    isTruncating = true;
    filter.stopPassing();
    source.resume();
    for (let turn = 0, quiet = 0; turn < catchUpTurnsMax && quiet < quietTurns && !isEnding; turn += 1) {
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
      const covered = isTruncating ? undefined : options.cover?.();
      if (covered !== undefined) {
        holdBack(covered);
      }
    },
    end: () => sourceEnded('complete'),
    broken: () => sourceEnded('broken'),
  };

  /** A stream that is being truncated has parts that the client did not get. */
  function sourceEnded(kind: StreamEnd): void {
    hasReceived = false;
    void end(isTruncating ? 'truncated' : kind);
  }

  return {
    body,
    cut: async () => end(hasClient ? 'cut' : 'left'),
    leave: () => void body.destroy(new Error('the client has left')),
  };
}
