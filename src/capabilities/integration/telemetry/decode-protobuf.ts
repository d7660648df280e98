/**
 * Reads OTLP requests in Protobuf (opentelemetry-proto 1.x). Only the fields and attributes that are used are decoded; the reader
 * passes over the bytes of all others, among them the content of calls.
 */
import { type BinaryReader, WireType } from '@bufbuild/protobuf/wire';
import {
  type Attributes,
  type AttributeValue,
  attributesMax,
  isRead,
  nameBytesMax,
  valueBytesMax,
} from './attributes.ts';
import { eachField, messages, ReadingWork } from './protobuf-fields.ts';
import {
  errorStatus,
  eventNameMax,
  idOf,
  millisecondsOf,
  type RecordContext,
  spanIdLength,
  type TelemetryRecord,
  traceIdLength,
} from './telemetry-record.ts';

/** Attributes in one list, whether they are used or not. SDKs keep 128 of a span. */
const pairsMax = 10_000;

/**
 * Throws if the bytes are not a valid message, or take too long to read between two records. A generator, so that the caller can pause
 * between records.
 */
export function decodeTraces(bytes: Uint8Array): Iterable<TelemetryRecord> {
  return decode(bytes, spanOf);
}

export function decodeLogs(bytes: Uint8Array): Iterable<TelemetryRecord> {
  return decode(bytes, logRecordOf);
}

/** Numbers of the fields; those of traces and of logs are the same. */
const fields = {
  request: { resources: 1 },
  resource: { resource: 1, scopes: 2 },
  scope: { scope: 1, records: 2 },
} as const;

function* decode(
  bytes: Uint8Array,
  recordOf: (record: Uint8Array, work: ReadingWork, context: RecordContext) => TelemetryRecord,
): Generator<TelemetryRecord> {
  const work = new ReadingWork();
  for (const ofResource of messages(bytes, work, fields.request.resources)) {
    work.countSection();
    // Fields may be in any order, so what applies to all records is read first.
    let resource: Attributes = new Map();
    for (const found of messages(ofResource, work, fields.resource.resource)) {
      resource = attributesOf(found, work, 1);
    }
    for (const ofScope of messages(ofResource, work, fields.resource.scopes)) {
      work.countSection();
      let scopeName = '';
      for (const found of messages(ofScope, work, fields.scope.scope)) {
        scopeName = scopeNameOf(found, work);
      }
      for (const found of messages(ofScope, work, fields.scope.records)) {
        const record = recordOf(found, work, { resource, scopeName });
        work.recordRead();
        yield record;
      }
    }
  }
}

function spanOf(bytes: Uint8Array, work: ReadingWork, context: RecordContext): TelemetryRecord {
  let traceId = '';
  let spanId = '';
  let parentSpanId = '';
  let startMs = 0;
  let endMs = 0;
  let isError = false;
  eachField(bytes, work, (field, type, reader) => {
    if (type === WireType.LengthDelimited && field === 1) {
      traceId = hexOf(reader, traceIdLength);
    } else if (type === WireType.LengthDelimited && field === 2) {
      spanId = hexOf(reader, spanIdLength);
    } else if (type === WireType.LengthDelimited && field === 4) {
      parentSpanId = hexOf(reader, spanIdLength);
    } else if (type === WireType.Bit64 && field === 7) {
      startMs = timeOf(reader);
    } else if (type === WireType.Bit64 && field === 8) {
      endMs = timeOf(reader);
    } else if (type === WireType.LengthDelimited && field === 15) {
      isError = isErrorStatus(reader.bytes(), work);
    } else {
      reader.skip(type, field);
    }
  });
  const attributes = attributesOf(bytes, work, 9);
  return { traceId, spanId, parentSpanId, startMs, endMs, isError, eventName: '', attributes, ...context };
}

function logRecordOf(bytes: Uint8Array, work: ReadingWork, context: RecordContext): TelemetryRecord {
  let traceId = '';
  let spanId = '';
  let timeMs = 0;
  let observedMs = 0;
  let eventName = '';
  let body = '';
  eachField(bytes, work, (field, type, reader) => {
    if (type === WireType.Bit64 && field === 1) {
      timeMs = timeOf(reader);
    } else if (type === WireType.Bit64 && field === 11) {
      observedMs = timeOf(reader);
    } else if (type === WireType.LengthDelimited && field === 5) {
      // The body of an event is its name. Any other is longer, or not text, and is not decoded.
      const value = scalarOf(reader.bytes(), work, eventNameMax);
      body = typeof value === 'string' ? value : '';
    } else if (type === WireType.LengthDelimited && field === 9) {
      traceId = hexOf(reader, traceIdLength);
    } else if (type === WireType.LengthDelimited && field === 10) {
      spanId = hexOf(reader, spanIdLength);
    } else if (type === WireType.LengthDelimited && field === 12) {
      eventName = shortText(reader.bytes(), eventNameMax) ?? '';
    } else {
      reader.skip(type, field);
    }
  });
  const attributes = attributesOf(bytes, work, 6);
  const startMs = timeMs === 0 ? observedMs : timeMs;
  return {
    ...{ traceId, spanId, parentSpanId: '', startMs, endMs: startMs, isError: false },
    eventName: body === '' ? eventName : body,
    attributes,
    ...context,
  };
}

/** Reads the list of attributes in a message. */
function attributesOf(bytes: Uint8Array, work: ReadingWork, listField: number): Attributes {
  const attributes = new Map<string, AttributeValue>();
  let pairs = 0;
  for (const pair of messages(bytes, work, listField)) {
    pairs += 1;
    if (pairs > pairsMax) {
      throw new Error(`more than ${pairsMax} attributes`);
    }
    const name = attributeName(pair, work);
    if (name === undefined || !isRead(name) || attributes.size >= attributesMax) {
      continue;
    }
    for (const found of messages(pair, work, 2)) {
      const value = scalarOf(found, work, valueBytesMax) ?? onlyTextOf(found, work);
      if (value !== undefined) {
        attributes.set(name, value);
      }
    }
  }
  return attributes;
}

function attributeName(pair: Uint8Array, work: ReadingWork): string | undefined {
  let name: string | undefined;
  for (const found of messages(pair, work, 1)) {
    name = shortText(found, nameBytesMax);
  }
  return name;
}

/** Returns undefined for lists, maps, bytes and long texts. */
function scalarOf(bytes: Uint8Array, work: ReadingWork, bytesMax: number): AttributeValue | undefined {
  let value: AttributeValue | undefined;
  eachField(bytes, work, (field, type, reader) => {
    if (field === 1 && type === WireType.LengthDelimited) {
      value = shortText(reader.bytes(), bytesMax);
    } else if (field === 2 && type === WireType.Varint) {
      value = reader.bool();
    } else if (field === 3 && type === WireType.Varint) {
      value = Number(reader.int64());
    } else if (field === 4 && type === WireType.Bit64) {
      value = reader.double();
    } else {
      reader.skip(type, field);
    }
  });
  return value;
}

/** Captured headers are lists. Returns the text of a list that has only one. */
function onlyTextOf(bytes: Uint8Array, work: ReadingWork): string | undefined {
  let values = 0;
  let text: string | undefined;
  for (const list of messages(bytes, work, 5)) {
    for (const value of messages(list, work, 1)) {
      values += 1;
      for (const found of messages(value, work, 1)) {
        text = shortText(found, valueBytesMax);
      }
    }
  }
  return values === 1 ? text : undefined;
}

function scopeNameOf(bytes: Uint8Array, work: ReadingWork): string {
  let name = '';
  for (const found of messages(bytes, work, 1)) {
    name = shortText(found, nameBytesMax) ?? '';
  }
  return name;
}

function isErrorStatus(bytes: Uint8Array, work: ReadingWork): boolean {
  let code = 0;
  eachField(bytes, work, (field, type, reader) => {
    if (field === 3 && type === WireType.Varint) {
      code = reader.int32();
    } else {
      reader.skip(type, field);
    }
  });
  return code === errorStatus;
}

function hexOf(reader: BinaryReader, length: number): string {
  const bytes = reader.bytes();
  return bytes.length * 2 === length ? idOf(Buffer.from(bytes).toString('hex'), length) : '';
}

function timeOf(reader: BinaryReader): number {
  return millisecondsOf(BigInt(reader.fixed64()));
}

function shortText(bytes: Uint8Array, bytesMax: number): string | undefined {
  return bytes.length <= bytesMax ? Buffer.from(bytes).toString('utf8') : undefined;
}
