/** Requests of OTLP: as JSON, and encoded as Protobuf from the same values. */
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';

type Value = string | number | boolean | readonly string[];
type Attributes = Readonly<Record<string, Value>>;

export interface SpanShape {
  readonly traceId?: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly startMs: number;
  readonly endMs: number;
  /** 2: the call has failed. */
  readonly statusCode?: number;
  readonly attributes: Attributes;
}

export interface EventShape {
  readonly timeMs: number;
  readonly body?: string;
  readonly eventName?: string;
  readonly attributes: Attributes;
}

export interface Batch<Record> {
  readonly resource?: Attributes;
  readonly scope?: string;
  readonly records: readonly Record[];
}

export const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';

/** Returns a span id by its number. */
export function spanId(number: number): string {
  return number.toString(16).padStart(16, '0');
}

const nanos = (ms: number) => `${BigInt(ms) * 1_000_000n}`;

export function tracesJson({ resource = {}, scope = '', records }: Batch<SpanShape>): object {
  const spans = records.map((span) => ({
    traceId: span.traceId ?? traceId,
    spanId: span.spanId,
    ...(span.parentSpanId !== undefined && { parentSpanId: span.parentSpanId }),
    name: 'a call',
    kind: 3,
    startTimeUnixNano: nanos(span.startMs),
    endTimeUnixNano: nanos(span.endMs),
    attributes: attributesJson(span.attributes),
    status: { code: span.statusCode ?? 0 },
  }));
  return {
    resourceSpans: [
      { resource: { attributes: attributesJson(resource) }, scopeSpans: [{ scope: { name: scope }, spans }] },
    ],
  };
}

export function logsJson({ resource = {}, scope = '', records }: Batch<EventShape>): object {
  const logRecords = records.map(({ timeMs, body, eventName, attributes }) => ({
    timeUnixNano: nanos(timeMs),
    ...(body !== undefined && { body: { stringValue: body } }),
    ...(eventName !== undefined && { eventName }),
    attributes: attributesJson(attributes),
  }));
  return {
    resourceLogs: [
      {
        resource: { attributes: attributesJson(resource) },
        scopeLogs: [{ scope: { name: scope }, logRecords }],
      },
    ],
  };
}

function attributesJson(attributes: Attributes): object[] {
  return Object.entries(attributes).map(([key, value]) => ({ key, value: valueJson(value) }));
}

function valueJson(value: Value): object {
  if (typeof value === 'string') {
    return { stringValue: value };
  }
  if (typeof value === 'boolean') {
    return { boolValue: value };
  }
  if (typeof value === 'number') {
    return Number.isInteger(value) ? { intValue: String(value) } : { doubleValue: value };
  }
  return { arrayValue: { values: value.map((text) => ({ stringValue: text })) } };
}

export function tracesProtobuf({ resource = {}, scope = '', records }: Batch<SpanShape>): Buffer {
  return inResource(resource, scope, records, (writer, span) => {
    writer.tag(1, WireType.LengthDelimited).bytes(Buffer.from(span.traceId ?? traceId, 'hex'));
    writer.tag(2, WireType.LengthDelimited).bytes(Buffer.from(span.spanId, 'hex'));
    if (span.parentSpanId !== undefined) {
      writer.tag(4, WireType.LengthDelimited).bytes(Buffer.from(span.parentSpanId, 'hex'));
    }
    writer.tag(5, WireType.LengthDelimited).string('a call').tag(6, WireType.Varint).int32(3);
    writer.tag(7, WireType.Bit64).fixed64(nanos(span.startMs));
    writer.tag(8, WireType.Bit64).fixed64(nanos(span.endMs));
    writeAttributes(writer, 9, span.attributes);
    writer.tag(15, WireType.LengthDelimited).fork();
    writer
      .tag(3, WireType.Varint)
      .int32(span.statusCode ?? 0)
      .join();
  });
}

export function logsProtobuf({ resource = {}, scope = '', records }: Batch<EventShape>): Buffer {
  return inResource(resource, scope, records, (writer, { timeMs, body, eventName, attributes }) => {
    writer.tag(1, WireType.Bit64).fixed64(nanos(timeMs));
    if (body !== undefined) {
      writer.tag(5, WireType.LengthDelimited).fork();
      writeValue(writer, body);
      writer.join();
    }
    writeAttributes(writer, 6, attributes);
    if (eventName !== undefined) {
      writer.tag(12, WireType.LengthDelimited).string(eventName);
    }
  });
}

function inResource<Record>(
  resource: Attributes,
  scope: string,
  records: readonly Record[],
  write: (writer: BinaryWriter, record: Record) => void,
): Buffer {
  const writer = new BinaryWriter();
  writer.tag(1, WireType.LengthDelimited).fork();
  // The scope and its records come first: the order of fields is not fixed.
  writer.tag(2, WireType.LengthDelimited).fork();
  for (const record of records) {
    writer.tag(2, WireType.LengthDelimited).fork();
    write(writer, record);
    writer.join();
  }
  writer.tag(1, WireType.LengthDelimited).fork();
  writer.tag(1, WireType.LengthDelimited).string(scope).join();
  writer.join();
  writer.tag(1, WireType.LengthDelimited).fork();
  writeAttributes(writer, 1, resource);
  writer.join();
  writer.join();
  return Buffer.from(writer.finish());
}

function writeAttributes(writer: BinaryWriter, field: number, attributes: Attributes): void {
  for (const [key, value] of Object.entries(attributes)) {
    writer.tag(field, WireType.LengthDelimited).fork();
    writer.tag(1, WireType.LengthDelimited).string(key);
    writer.tag(2, WireType.LengthDelimited).fork();
    writeValue(writer, value);
    writer.join().join();
  }
}

function writeValue(writer: BinaryWriter, value: Value): void {
  if (typeof value === 'string') {
    writer.tag(1, WireType.LengthDelimited).string(value);
  } else if (typeof value === 'boolean') {
    writer.tag(2, WireType.Varint).bool(value);
  } else if (typeof value === 'number') {
    if (Number.isInteger(value)) {
      writer.tag(3, WireType.Varint).int64(value);
    } else {
      writer.tag(4, WireType.Bit64).double(value);
    }
  } else {
    writer.tag(5, WireType.LengthDelimited).fork();
    for (const text of value) {
      writer.tag(1, WireType.LengthDelimited).fork();
      writeValue(writer, text);
      writer.join();
    }
    writer.join();
  }
}
