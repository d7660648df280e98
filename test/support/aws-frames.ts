/** Frames of event streams of AWS, written and read independently of the gateway. */
import { crc32 } from 'node:zlib';

const textType = 7;

export function awsFrame(headers: Readonly<Record<string, string>>, payload: string | Buffer): Buffer {
  const head = Buffer.concat(
    Object.entries(headers).map(([name, value]) => {
      const start = Buffer.from([name.length, ...Buffer.from(name), textType, 0, 0]);
      start.writeUInt16BE(Buffer.byteLength(value), start.length - 2);
      return Buffer.concat([start, Buffer.from(value)]);
    }),
  );
  const body = Buffer.from(payload as string);
  const prelude = Buffer.alloc(8);
  prelude.writeUInt32BE(head.length + body.length + 16, 0);
  prelude.writeUInt32BE(head.length, 4);
  const whole = Buffer.concat([prelude, word(crc32(prelude)), head, body]);
  return Buffer.concat([whole, word(crc32(whole))]);
}

function word(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

export const awsEvent = (type: string, payload: object) =>
  awsFrame(
    { ':event-type': type, ':content-type': 'application/json', ':message-type': 'event' },
    JSON.stringify(payload),
  );

export const awsException = (type: string, message: string) =>
  awsFrame(
    { ':exception-type': type, ':content-type': 'application/json', ':message-type': 'exception' },
    JSON.stringify({ message }),
  );

/** An event of another API, as the stream of a direct call has it. */
export const awsChunk = (data: string) =>
  awsEvent('chunk', { bytes: Buffer.from(data).toString('base64'), p: 'abcd' });

export interface ReadFrame {
  /** Of the event or the exception. */
  readonly type: string;
  readonly isException: boolean;
  readonly payload: Readonly<Record<string, unknown>>;
}

/** Reads whole frames. Throws at one that is damaged or incomplete. */
export function readFrames(bytes: Buffer): ReadFrame[] {
  const frames: ReadFrame[] = [];
  for (let at = 0; at < bytes.length; ) {
    const length = bytes.readUInt32BE(at);
    const frame = bytes.subarray(at, at + length);
    const end = length - 4;
    if (frame.length !== length || crc32(frame.subarray(0, end)) !== frame.readUInt32BE(end)) {
      throw new Error('a damaged frame');
    }
    const bodyStart = 12 + frame.readUInt32BE(4);
    const headers = headersIn(frame.subarray(12, bodyStart));
    const exception = headers.get(':exception-type');
    frames.push({
      type: exception ?? headers.get(':event-type') ?? '',
      isException: exception !== undefined,
      payload: JSON.parse(frame.toString('utf8', bodyStart, end)),
    });
    at += length;
  }
  return frames;
}

function headersIn(bytes: Buffer): Map<string, string> {
  const headers = new Map<string, string>();
  for (let at = 0; at < bytes.length; ) {
    const nameEnd = at + 1 + (bytes[at] as number);
    const start = nameEnd + 3;
    const end = start + bytes.readUInt16BE(nameEnd + 1);
    headers.set(bytes.toString('utf8', at + 1, nameEnd), bytes.toString('utf8', start, end));
    at = end;
  }
  return headers;
}
