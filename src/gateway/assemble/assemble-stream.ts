/** Reads a stream that the gateway has requested for a plain call, and puts it together. */
import type { Readable } from 'node:stream';
import { eventOf, SseReader } from '../../kernel/providers/sse-reader.ts';
import type { AssembledStream, AssemblyFormat } from '../../kernel/providers/stream-assembly.ts';
import { dataOf } from '../../kernel/providers/stream-usage.ts';
import { bufferOperations } from '../stream/framings.ts';

type Assembled = Extract<AssembledStream, { readonly body: object }>;

export type ReadAssembly =
  | (Omit<Extract<Assembled, { kind: 'response' }>, 'body'> & Serialized)
  | (Omit<Extract<Assembled, { kind: 'error' }>, 'body'> & Serialized)
  | Exclude<AssembledStream, Assembled>
  /** The stream is larger than a response may be. */
  | { readonly kind: 'overlong' };

interface Serialized {
  readonly text: string;
}

/** A stream may have more bytes than a response by this factor: each token has an event of its own. */
const streamFactor = 4;

/** Rejects if the stream is destroyed. A stream that is too large is read to its end, so that its usage is charged. */
export async function assembleStream(
  body: Readable,
  format: AssemblyFormat,
  bytesMax: number,
): Promise<ReadAssembly> {
  const assembly = format.start();
  const events = new SseReader(bufferOperations);
  let size = 0;
  let isOverlong = false;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    size += chunk.length;
    isOverlong ||= events.isOverlong || size > bytesMax * streamFactor;
    if (!isOverlong) {
      for (const event of events.push(chunk)) {
        assembly.read(dataOf(event));
      }
    }
  }
  const rest = events.rest();
  if (rest.length > 0) {
    assembly.read(dataOf(eventOf(rest, rest.toString('utf8'))));
  }
  return isOverlong || events.isOverlong ? { kind: 'overlong' } : serialized(assembly.result());
}

function serialized(result: AssembledStream): ReadAssembly {
  if (!('body' in result)) {
    return result;
  }
  const { body, ...rest } = result;
  try {
    return { ...rest, text: JSON.stringify(body) };
  } catch {
    // JSON may be nested deeper than it can be written.
    return { kind: 'unknown', part: 'a value that is nested too deeply' };
  }
}
