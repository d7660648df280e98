/** A streamed response on its way to the SDK: its events are passed on unchanged, and read for their usage. */
import type { StreamCoverage } from '../../../src/growing-holds/stream-coverage.ts';
import type { OpenStream } from '../../../src/kernel/providers/open-stream.ts';
import { type ByteOperations, eventOf, SseReader } from '../../../src/kernel/providers/sse-reader.ts';
import { dataOf, type StreamUsage } from '../../../src/kernel/providers/stream-usage.ts';

/** The end of a stream: complete, broken off by the provider, left by its reader, or ended because no more can be held. */
export type StreamEnd = 'complete' | 'broken' | 'left' | 'truncated';

export interface StreamTiming {
  /** True if the provider may have sent any number of bytes that were not read. */
  readonly isBehind: boolean;
  /** True if the provider had to wait for the reader, so that the duration says little about its pace. */
  readonly hasWaited: boolean;
}

export interface MeteredStreamOptions {
  readonly source: ReadableStream<Uint8Array>;
  readonly usage: StreamUsage;
  /** Follows what the reader gets, so that the stream can be ended early. */
  readonly open: OpenStream;
  /** Set if the hold of the call grows. */
  readonly coverage: StreamCoverage | undefined;
  /** Leaves out the chunk with the usage, which the SDK did not request. */
  readonly dropUsageChunk: boolean;
  /** The signal of the SDK. */
  readonly signal: AbortSignal | undefined;
  /** Called after each chunk that was read. */
  onRead(): void;
  /** Returns true if the rest is read for its usage after the reader has left. */
  mayDrain(): boolean;
  /** Called once, before the reader sees the end. */
  onEnd(end: StreamEnd, timing: StreamTiming): Promise<void>;
  /** Returns the events that end the stream as if its maximum were reached. */
  endingOf(isBehind: boolean): string;
  /** Closes the connection to the provider. */
  close(): void;
}

const decoder = new TextDecoder();
export const byteOperations: ByteOperations<Uint8Array> = {
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

export interface MeteredStream {
  readonly body: ReadableStream<Uint8Array>;
  /** Ends the stream as if its maximum were reached, because no more can be held. */
  truncate(): void;
}

/** Time without a read after which the provider may have had to wait. */
const waitedMs = 250;
/** Time without data after which no more is expected, and the number of reads for which it is awaited. */
const quietMs = 5;
const catchUpReadsMax = 1_000;

export function meteredStream(options: MeteredStreamOptions): MeteredStream {
  const { usage, open, coverage, dropUsageChunk, signal, onRead, mayDrain, onEnd, endingOf, close } = options;
  const source = options.source.getReader();
  const events = new SseReader<Uint8Array>(byteOperations);
  let hasLeft = false;
  let lastReadMs = performance.now();
  let hasWaited = false;
  /** Set once the stream is being ended because its hold cannot grow: the events that end it. */
  let truncation: Promise<string> | undefined;

  /** Returns the bytes to pass on. */
  function read(chunk: Uint8Array): Uint8Array[] {
    if (events.isOverlong) {
      return [chunk];
    }
    const kept: Uint8Array[] = [];
    for (const event of events.push(chunk)) {
      const data = dataOf(event);
      const isUsageChunk = usage.read(data);
      if (truncation === undefined && !(isUsageChunk && dropUsageChunk)) {
        open.read(data);
        kept.push(event.raw);
      }
    }
    onRead();
    return events.isOverlong ? [...kept, events.rest()] : kept;
  }

  function readRest(): Uint8Array[] {
    const rest = events.rest();
    const isUsageChunk = rest.length > 0 && usage.read(dataOf(eventOf(rest, decoder.decode(rest))));
    return rest.length === 0 || (isUsageChunk && dropUsageChunk) ? [] : [rest];
  }

  /** Reads and parses one chunk. Chunks are parsed in their order, also if the reader leaves in between. */
  async function readNext(): Promise<Step> {
    hasWaited ||= performance.now() - lastReadMs > waitedMs;
    try {
      const { done, value } = await source.read();
      return done ? { kind: 'done', parts: readRest() } : { kind: 'chunk', parts: read(value) };
    } catch (error) {
      return { kind: 'error', error };
    } finally {
      lastReadMs = performance.now();
    }
  }
  let last: Promise<Step> | undefined;
  const step = () => {
    last = last === undefined ? readNext() : last.then(readNext);
    return last;
  };

  let isEnded = false;
  let ended: Promise<void> | undefined;
  function end(how: StreamEnd, isBehind = false): Promise<void> {
    isEnded = true;
    ended ??= onEnd(how, { isBehind, hasWaited });
    return ended;
  }

  function truncate(): void {
    if (hasLeft) {
      close();
    } else if (!isEnded) {
      truncation ??= endEarly();
    }
  }

  /** Ends the stream. What the provider sent while the hold was being increased is read first, because it is charged. */
  async function endEarly(): Promise<string> {
    let isQuiet = false;
    for (let reads = 0; reads < catchUpReadsMax && !isQuiet; reads += 1) {
      const quiet = new Promise<undefined>((resolve) => setTimeout(resolve, quietMs, undefined));
      const next = await Promise.race([step(), quiet]);
      isQuiet = next?.kind !== 'chunk';
    }
    const ending = endingOf(!isQuiet);
    const settled = end('truncated', !isQuiet);
    close();
    source.cancel().catch(() => undefined);
    await settled;
    return ending;
  }

  /** Ends the stream if its hold cannot cover what was received. */
  async function cover(): Promise<void> {
    const covered = open.isOutputEnded ? undefined : coverage?.cover();
    if (covered !== undefined && !(await covered)) {
      truncate();
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
      await cover();
      next = await step();
    }
    await end(next.kind === 'done' ? 'complete' : 'left');
  }

  const body = new ReadableStream<Uint8Array>({
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
      let next: Step = truncation === undefined ? await step() : { kind: 'done', parts: [] };
      while (next.kind === 'chunk' && next.parts.length === 0 && !hasLeft && truncation === undefined) {
        await cover();
        next = await step();
      }
      if (hasLeft) {
        // The stream may have ended before `leave` could read from it.
        await (next.kind === 'chunk' ? undefined : end(next.kind === 'done' ? 'complete' : 'left'));
        return;
      }
      if (truncation !== undefined) {
        const ending = await truncation;
        if (!hasLeft) {
          controller.enqueue(new TextEncoder().encode(ending));
          controller.close();
        }
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
      } else {
        await cover();
      }
    },
    cancel: () => void leave(),
  });
  return { body, truncate };
}

type Step =
  | { readonly kind: 'chunk' | 'done'; readonly parts: readonly Uint8Array[] }
  | { readonly kind: 'error'; readonly error: unknown };
