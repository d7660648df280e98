/** A streamed response on its way to the SDK: its events are passed on unchanged, and read for their usage. */
import { type ByteOperations, eventOf, SseReader } from '../../../src/kernel/providers/sse-reader.ts';
import { dataOf, type StreamUsage } from '../../../src/kernel/providers/stream-usage.ts';

/** The end of a stream: complete, broken off by the provider, or left by its reader. */
export type StreamEnd = 'complete' | 'broken' | 'left';

export interface MeteredStreamOptions {
  readonly source: ReadableStream<Uint8Array>;
  readonly usage: StreamUsage;
  /** Leaves out the chunk with the usage, which the SDK did not request. */
  readonly dropUsageChunk: boolean;
  /** The signal of the SDK. */
  readonly signal: AbortSignal | undefined;
  /** Returns true if the rest is read for its usage after the reader has left. */
  mayDrain(): boolean;
  /** Called once, before the reader sees the end. */
  onEnd(end: StreamEnd): Promise<void>;
  /** Closes the connection to the provider. */
  close(): void;
}

const decoder = new TextDecoder();
const byteOperations: ByteOperations<Uint8Array> = {
  concat(parts) {
    const whole = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
    let at = 0;
    for (const part of parts) {
      whole.set(part, at);
      at += part.length;
    }
    return whole;
  },
  decode: (bytes) => decoder.decode(bytes),
};

export function meteredStream(options: MeteredStreamOptions): ReadableStream<Uint8Array> {
  const { usage, dropUsageChunk, signal, mayDrain, onEnd, close } = options;
  const source = options.source.getReader();
  const events = new SseReader<Uint8Array>(byteOperations);
  let hasLeft = false;

  /** Returns the bytes to pass on. */
  function read(chunk: Uint8Array): Uint8Array[] {
    if (events.isOverlong) {
      return [chunk];
    }
    const kept = events
      .push(chunk)
      .filter((event) => !(usage.read(dataOf(event)) && dropUsageChunk))
      .map(({ raw }) => raw);
    return events.isOverlong ? [...kept, events.rest()] : kept;
  }

  function readRest(): Uint8Array[] {
    const rest = events.rest();
    const isUsageChunk = rest.length > 0 && usage.read(dataOf(eventOf(rest, decoder.decode(rest))));
    return rest.length === 0 || (isUsageChunk && dropUsageChunk) ? [] : [rest];
  }

  /** Reads and parses one chunk. Chunks are parsed in their order, also if the reader leaves in between. */
  async function readNext(): Promise<Step> {
    try {
      const { done, value } = await source.read();
      return done ? { kind: 'done', parts: readRest() } : { kind: 'chunk', parts: read(value) };
    } catch (error) {
      return { kind: 'error', error };
    }
  }
  let last: Promise<Step> | undefined;
  const step = () => {
    last = last === undefined ? readNext() : last.then(readNext);
    return last;
  };

  let isEnded = false;
  async function end(how: StreamEnd): Promise<void> {
    if (!isEnded) {
      isEnded = true;
      await onEnd(how);
    }
  }

  /** The reader has left. Whatever else arrives counts for the usage only. */
  async function leave(): Promise<void> {
    if (hasLeft || isEnded) {
      return;
    }
    hasLeft = true;
    if (!mayDrain()) {
      close();
    }
    let next = await step();
    while (next.kind === 'chunk') {
      next = await step();
    }
    await end(next.kind === 'done' ? 'complete' : 'left');
  }

  return new ReadableStream<Uint8Array>({
    start(controller) {
      const abort = () => {
        if (!hasLeft && !isEnded) {
          void leave();
          controller.error(signal?.reason);
        }
      };
      // The caller may have left before the first byte arrived.
      if (signal?.aborted) {
        abort();
      }
      signal?.addEventListener('abort', abort, { once: true });
    },
    async pull(controller) {
      let next = await step();
      while (next.kind === 'chunk' && next.parts.length === 0 && !hasLeft) {
        next = await step();
      }
      if (hasLeft) {
        // The stream may have ended before `leave` could read from it.
        await (next.kind === 'chunk' ? undefined : end(next.kind === 'done' ? 'complete' : 'left'));
        return;
      }
      if (next.kind === 'error') {
        await end('broken');
        controller.error(next.error);
        return;
      }
      if (next.kind === 'done') {
        await end('complete');
      }
      for (const part of next.parts) {
        controller.enqueue(part);
      }
      if (next.kind === 'done') {
        controller.close();
      }
    },
    cancel: () => void leave(),
  });
}

type Step =
  | { readonly kind: 'chunk' | 'done'; readonly parts: readonly Uint8Array[] }
  | { readonly kind: 'error'; readonly error: unknown };
