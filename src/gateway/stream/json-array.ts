/** Writes the events of a stream as the elements of a JSON array, for clients of Gemini that do not request events. */
import { eventOf, SseReader } from '../../kernel/providers/sse-reader.ts';
import type { KeyFilter } from '../forward/key-redaction.ts';
import { bufferOperations } from './framings.ts';

export interface JsonArray {
  /** Returns a filter whose output has elements in place of events. */
  filter(inner: KeyFilter): KeyFilter;
  /** Returns the end of the array, with these events as its last elements. */
  ending(events: string): string;
}

export function createJsonArray(): JsonArray {
  const reader = new SseReader(bufferOperations);
  let isEmpty = true;

  function elementOf(data: string): string {
    if (!isJson(data)) {
      return '';
    }
    const separator = isEmpty ? '[' : ',\r\n';
    isEmpty = false;
    return separator + data;
  }

  const elementsIn = (events: Buffer) =>
    reader
      .push(events)
      .map(({ data }) => elementOf(data))
      .join('');

  return {
    filter: (inner) => ({
      stopPassing: () => inner.stopPassing(),
      push: (chunk) => Buffer.from(elementsIn(inner.push(chunk))),
      end(isComplete) {
        const elements = elementsIn(inner.end(isComplete));
        const rest = reader.rest();
        return Buffer.from(elements + elementOf(eventOf(rest, rest.toString('utf8')).data));
      },
    }),
    ending: (events) => `${elementsIn(Buffer.from(events))}${isEmpty ? '[]' : '\r\n]'}`,
  };
}

/** Any other data, such as the `[DONE]` of other formats, would make the whole array unreadable. */
function isJson(data: string): boolean {
  try {
    return typeof JSON.parse(data) === 'object';
  } catch {
    return false;
  }
}
