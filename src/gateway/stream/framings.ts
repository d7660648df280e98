/** Readers and writers of the framings of streams. In the gateway, an event is its data as text; that of server-sent events. */
import { type Fields, fieldsOf } from '../../kernel/providers/fields.ts';
import { parsed } from '../../kernel/providers/received-text.ts';
import { type ByteOperations, type SseEvent, SseReader } from '../../kernel/providers/sse-reader.ts';
import type { StreamFraming } from '../../kernel/providers/stream-framing.ts';
import { type EventReader, FrameReader, type StreamFrame, textOf, writeFrame } from './event-stream.ts';

export interface Framing {
  readonly contentType: string;
  createReader(): EventReader;
  /** Returns the bytes of an event with this data. */
  write(data: string): Buffer;
}

export const bufferOperations: ByteOperations<Buffer> = {
  concat: (parts) => Buffer.concat(parts),
  decode: (bytes) => bytes.toString('utf8'),
};

const awsStream = 'application/vnd.amazon.eventstream';

export const framings: Readonly<Record<StreamFraming, Framing>> = {
  sse: {
    contentType: 'text/event-stream',
    createReader: () => new SseEvents(),
    write: (data) => Buffer.from(eventText(data)),
  },
  aws_events: {
    contentType: awsStream,
    createReader: () => new FrameReader(eventData),
    write(data) {
      const [[name, value] = ['chunk', {}]] = Object.entries(fieldsOf(parsed(data)));
      return name.endsWith(exceptionSuffix)
        ? exceptionFrame(name, fieldsOf(value))
        : eventFrame(name, JSON.stringify(value));
    },
  },
  aws_chunks: {
    contentType: awsStream,
    createReader: () => new FrameReader(chunkData),
    write(data) {
      const { type, error } = fieldsOf(parsed(data));
      if (type === 'error') {
        const { type: errorType, message } = fieldsOf(error);
        return exceptionFrame(exceptionOf.get(errorType) ?? 'internalServerException', { message });
      }
      return eventFrame('chunk', JSON.stringify({ bytes: Buffer.from(data).toString('base64') }));
    },
  },
};

/** Returns true if a response is a stream of this framing. */
export function isFramed(framing: StreamFraming, contentType: unknown): boolean {
  const [type = ''] = String(contentType ?? '').split(';', 1);
  return type.trim().toLowerCase() === framings[framing].contentType;
}

/** Returns the data of server-sent events. */
export function dataInEvents(text: string): string[] {
  const reader = new SseReader(bufferOperations);
  return reader.push(Buffer.from(text)).map(({ data }) => data);
}

class SseEvents implements EventReader {
  readonly #reader = new SseReader(bufferOperations);

  get isBroken(): boolean {
    return this.#reader.isOverlong;
  }

  push(chunk: Buffer): SseEvent<Buffer>[] {
    return this.#reader.push(chunk);
  }
}

/** Events of APIs that name their type have it twice. */
function eventText(data: string): string {
  const { type } = fieldsOf(parsed(data));
  return typeof type === 'string' ? `event: ${type}\ndata: ${data}\n\n` : `data: ${data}\n\n`;
}

const exceptionSuffix = 'Exception';

function eventFrame(type: string, payload: string): Buffer {
  return writeFrame(
    { ':event-type': type, ':content-type': 'application/json', ':message-type': 'event' },
    Buffer.from(payload),
  );
}

function exceptionFrame(type: string, { message = '' }: Fields): Buffer {
  return writeFrame(
    { ':exception-type': type, ':content-type': 'application/json', ':message-type': 'exception' },
    Buffer.from(JSON.stringify({ message })),
  );
}

/** Returns the exception of a frame; undefined for other events. Errors without a type of the API have a code and a text as headers. */
function exceptionIn(frame: StreamFrame): { readonly type: string; readonly body: string } | undefined {
  const { headers } = frame;
  const kind = headers.get(':message-type');
  if (kind === 'error') {
    const message = headers.get(':error-message') ?? '';
    return { type: 'internalServerException', body: JSON.stringify({ message }) };
  }
  return kind === 'exception'
    ? { type: headers.get(':exception-type') ?? 'internalServerException', body: textOf(frame) }
    : undefined;
}

function eventData(frame: StreamFrame): string {
  const exception = exceptionIn(frame);
  const type = exception?.type ?? frame.headers.get(':event-type') ?? 'unknown';
  return `{${JSON.stringify(type)}:${exception?.body ?? textOf(frame)}}`;
}

/** The types of errors of Anthropic by exception. */
const errorTypes: readonly (readonly [exception: string, type: string])[] = [
  ['throttlingException', 'rate_limit_error'],
  ['serviceUnavailableException', 'overloaded_error'],
  ['validationException', 'invalid_request_error'],
  ['modelTimeoutException', 'timeout_error'],
  ['internalServerException', 'api_error'],
  ['modelStreamErrorException', 'api_error'],
];
const errorTypeOf = new Map<unknown, string>(errorTypes);
const exceptionOf = new Map<unknown, string>(errorTypes.map(([exception, type]) => [type, exception]));
exceptionOf.set('api_error', 'internalServerException');

function chunkData(frame: StreamFrame): string {
  const exception = exceptionIn(frame);
  if (exception !== undefined) {
    const { message } = fieldsOf(parsed(exception.body));
    const type = errorTypeOf.get(exception.type) ?? 'api_error';
    return JSON.stringify({ type: 'error', error: { type, message } });
  }
  const { bytes } = fieldsOf(parsed(textOf(frame)));
  // Anything else is read as output.
  return typeof bytes === 'string' ? Buffer.from(bytes, 'base64').toString('utf8') : textOf(frame);
}
