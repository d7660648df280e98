/** The response of a plain call that is sent as a stream, so that its hold can follow it. */
import type { CallFormat } from '../../../src/kernel/providers/call-format.ts';
import { eventOf, SseReader } from '../../../src/kernel/providers/sse-reader.ts';
import type { AssembledStream, AssemblyFormat } from '../../../src/kernel/providers/stream-assembly.ts';
import { dataOf } from '../../../src/kernel/providers/stream-usage.ts';
import { byteOperations } from './metered-stream.ts';

/** Formats whose streams contain everything that plain responses have, by provider. */
const wholeStreams: Readonly<Record<string, readonly string[]>> = {
  openai: ['chat', 'responses'],
  azure_openai: ['responses'],
  anthropic: ['messages'],
};

export function hasWholeStreams(provider: string | null | undefined, { name }: CallFormat): boolean {
  return wholeStreams[provider ?? '']?.includes(name) === true;
}

/** Rejects if the stream breaks off. */
export async function assembledStream(
  body: ReadableStream<Uint8Array>,
  format: AssemblyFormat,
): Promise<AssembledStream> {
  const assembly = format.start();
  const events = new SseReader<Uint8Array>(byteOperations);
  const reader = body.getReader();
  for (let next = await reader.read(); !next.done; next = await reader.read()) {
    for (const event of events.push(next.value)) {
      assembly.read(dataOf(event));
    }
  }
  const rest = events.rest();
  if (rest.length > 0) {
    assembly.read(dataOf(eventOf(rest, byteOperations.decode(rest))));
  }
  return events.isOverlong ? { kind: 'unended' } : assembly.result();
}
