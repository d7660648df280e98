/** The body of a provider's response. Chunks are forwarded without a Node stream, which would cost more than all other work for a chunk. */
import type { Transform } from 'node:stream';
import type { Gunzip } from 'node:zlib';

/** Receives the chunks of a body, then either `end` or `broken` once. */
export interface BodySink {
  data(chunk: Buffer): void;
  end(): void;
  /** The body broke off, was silent for too long, or was destroyed. */
  broken(): void;
}

export interface BodySource {
  /** Starts the flow. Must be called once. */
  read(sink: BodySink): void;
  pause(): void;
  resume(): void;
  readonly isPaused: boolean;
  /** True if some bytes could not be decoded. */
  readonly isUndecodable: boolean;
  /** Closes the connection unless the body has ended. */
  destroy(): void;
}

/** Controls the connection from which a body is received. */
export interface BodyControl {
  pause(): void;
  resume(): void;
  abort(reason: Error): void;
}

/** Maximum number of bytes that are buffered before `read`. Beyond it, the connection is paused. */
const unreadBytesMax = 65_536;

/** A body that is being received. Chunks before `read` are buffered. */
export class ReceivedBody implements BodySource {
  readonly isUndecodable = false;
  readonly #control: BodyControl;
  #sink: BodySink | undefined;
  #unread: Buffer[] | undefined;
  #unreadBytes = 0;
  #isPaused = false;
  #state: 'open' | 'ended' | 'broken' = 'open';

  constructor(control: BodyControl) {
    this.#control = control;
  }

  get isPaused(): boolean {
    return this.#isPaused;
  }

  read(sink: BodySink): void {
    const isComplete = this.#state !== 'open';
    const unread = this.#unread;
    this.#sink = sink;
    this.#unread = undefined;
    for (const chunk of unread ?? []) {
      sink.data(chunk);
    }
    if (isComplete) {
      this.#notify();
    } else if (!this.#isPaused && this.#unreadBytes > unreadBytesMax) {
      this.#control.resume();
    }
  }

  pause(): void {
    if (!this.#isPaused) {
      this.#isPaused = true;
      this.#control.pause();
    }
  }

  resume(): void {
    if (this.#isPaused) {
      this.#isPaused = false;
      this.#control.resume();
    }
  }

  destroy(): void {
    if (this.#state === 'open') {
      this.broken();
      this.#control.abort(new Error('the response is not needed'));
    }
  }

  /** Called for each received chunk. */
  data(chunk: Buffer): void {
    if (this.#state !== 'open') {
      return;
    }
    if (this.#sink !== undefined) {
      this.#sink.data(chunk);
      return;
    }
    this.#unread ??= [];
    this.#unread.push(chunk);
    this.#unreadBytes += chunk.length;
    if (this.#unreadBytes > unreadBytesMax) {
      this.#control.pause();
    }
  }

  end(): void {
    this.#finish('ended');
  }

  broken(): void {
    this.#finish('broken');
  }

  #finish(state: 'ended' | 'broken'): void {
    if (this.#state === 'open') {
      this.#state = state;
      this.#notify();
    }
  }

  #notify(): void {
    const sink = this.#sink;
    if (this.#state === 'ended') {
      sink?.end();
    } else {
      sink?.broken();
    }
  }
}

/** Returns a body whose bytes were received before. */
export function receivedBody(bytes: Buffer, isWhole: boolean): BodySource {
  return {
    read(sink) {
      sink.data(bytes);
      if (isWhole) {
        sink.end();
      } else {
        sink.broken();
      }
    },
    pause: () => undefined,
    resume: () => undefined,
    isPaused: false,
    isUndecodable: false,
    destroy: () => undefined,
  };
}

/** A decoder of `node:zlib`. */
export type Decoder = Transform & Pick<Gunzip, 'bytesWritten' | 'flush'>;

/** Returns the decompressed body. It ends when both the compressed data and the source have ended. */
export function decodedBody(source: BodySource, decoder: Decoder): BodySource {
  decoder.pause();
  decoder.on('drain', () => source.resume());
  let givenBytes = 0;
  let isSourceEnded = false;
  let isDecoded = false;
  let isDone = false;
  let hasFailed = false;
  return {
    read(sink) {
      const broken = () => {
        if (!isDone) {
          isDone = true;
          source.destroy();
          sink.broken();
        }
      };
      const endIfComplete = () => {
        if (isSourceEnded && isDecoded && !isDone) {
          isDone = true;
          sink.end();
        }
      };
      decoder.on('data', (chunk: Buffer) => sink.data(chunk));
      decoder.once('end', () => {
        isDecoded = true;
        source.resume();
        endIfComplete();
      });
      decoder.on('error', () => {
        hasFailed = true;
        broken();
      });
      decoder.once('close', () => {
        if (!isDecoded) {
          broken();
        }
      });
      source.read({
        data(chunk) {
          givenBytes += chunk.length;
          if (!isDecoded && !decoder.destroyed && !decoder.write(chunk)) {
            source.pause();
          }
        },
        end() {
          isSourceEnded = true;
          decoder.end();
          endIfComplete();
        },
        broken() {
          if (isDecoded || decoder.destroyed) {
            broken();
          } else {
            // Data received so far is decoded before the error is forwarded.
            decoder.flush(() => decoder.destroy());
          }
        },
      });
      decoder.resume();
    },
    pause: () => decoder.pause(),
    resume: () => decoder.resume(),
    get isPaused() {
      return decoder.isPaused();
    },
    get isUndecodable() {
      // The decoder ignores bytes after the end of the compressed data.
      return hasFailed || source.isUndecodable || (isDecoded && givenBytes > decoder.bytesWritten);
    },
    destroy() {
      decoder.destroy();
      source.destroy();
    },
  };
}
