/** Reads OTLP requests in JSON. Values that are not as the protocol defines them are left out. */
import { invalidFields } from '../../../contract/api-error.ts';
import { type Fields, fieldsOf } from '../../../kernel/providers/fields.ts';
import { parseJsonObject } from '../../../platform/http/message/json.ts';
import {
  type Attributes,
  type AttributeValue,
  attributesMax,
  isRead,
  nameBytesMax,
  valueBytesMax,
} from './attributes.ts';
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

/** Maximum number of resources in a request, which also bounds the values in it. */
const resourcesMax = 10_000;

/** Throws an `ApiError` if the bytes are not JSON, have too many values, or a name twice in one object. */
export function decodeTracesJson(bytes: Buffer): Iterable<TelemetryRecord> {
  return decode(bytes, ['resourceSpans', 'scopeSpans', 'spans'], spanOf);
}

export function decodeLogsJson(bytes: Buffer): Iterable<TelemetryRecord> {
  return decode(bytes, ['resourceLogs', 'scopeLogs', 'logRecords'], logRecordOf);
}

function* decode(
  bytes: Buffer,
  [resources, scopes, records]: readonly [string, string, string],
  recordOf: (record: Fields, context: RecordContext) => TelemetryRecord,
): Generator<TelemetryRecord> {
  const { value, fieldErrors } = parseJsonObject(bytes, { field: resources, max: resourcesMax });
  // If a name is repeated, another reader may take the other value. Rounded numbers are usual: times in nanoseconds.
  const repeated = fieldErrors.filter(({ code }) => code === 'invalid_json');
  if (repeated.length > 0) {
    throw invalidFields(repeated);
  }
  for (const resource of listOf((value as Fields)[resources])) {
    const ofResource = attributesOf(fieldsOf(resource.resource).attributes);
    for (const scope of listOf(resource[scopes])) {
      const context = { resource: ofResource, scopeName: textOf(fieldsOf(scope.scope).name, nameBytesMax) };
      for (const record of listOf(scope[records])) {
        yield recordOf(record, context);
      }
    }
  }
}

function spanOf(span: Fields, context: RecordContext): TelemetryRecord {
  return {
    traceId: hexOf(span.traceId, traceIdLength),
    spanId: hexOf(span.spanId, spanIdLength),
    parentSpanId: hexOf(span.parentSpanId, spanIdLength),
    startMs: timeOf(span.startTimeUnixNano),
    endMs: timeOf(span.endTimeUnixNano),
    isError: fieldsOf(span.status).code === errorStatus || fieldsOf(span.status).code === 'STATUS_CODE_ERROR',
    eventName: '',
    attributes: attributesOf(span.attributes),
    ...context,
  };
}

function logRecordOf(record: Fields, context: RecordContext): TelemetryRecord {
  const timeMs = timeOf(record.timeUnixNano) || timeOf(record.observedTimeUnixNano);
  return {
    traceId: hexOf(record.traceId, traceIdLength),
    spanId: hexOf(record.spanId, spanIdLength),
    parentSpanId: '',
    startMs: timeMs,
    endMs: timeMs,
    isError: false,
    eventName:
      textOf(fieldsOf(record.body).stringValue, eventNameMax) || textOf(record.eventName, eventNameMax),
    attributes: attributesOf(record.attributes),
    ...context,
  };
}

function attributesOf(list: unknown): Attributes {
  const attributes = new Map<string, AttributeValue>();
  for (const { key, value } of listOf(list)) {
    const name = textOf(key, nameBytesMax);
    const scalar = isRead(name) ? (scalarOf(fieldsOf(value)) ?? onlyTextOf(fieldsOf(value))) : undefined;
    if (scalar !== undefined && attributes.size < attributesMax) {
      attributes.set(name, scalar);
    }
  }
  return attributes;
}

/** 64-bit integers are text in JSON; some exporters send numbers. */
function scalarOf({ stringValue, boolValue, intValue, doubleValue }: Fields): AttributeValue | undefined {
  if (typeof stringValue === 'string') {
    return stringValue.length <= valueBytesMax ? stringValue : undefined;
  }
  if (typeof boolValue === 'boolean') {
    return boolValue;
  }
  const number = intValue ?? doubleValue;
  return typeof number === 'number' || (typeof number === 'string' && number.length <= 30)
    ? Number(number)
    : undefined;
}

/** Captured headers are lists. Returns the text of a list that has only one. */
function onlyTextOf({ arrayValue }: Fields): string | undefined {
  const { values } = fieldsOf(arrayValue);
  const [only, ...others] = Array.isArray(values) ? values : [];
  const { stringValue } = fieldsOf(only);
  return others.length === 0 && typeof stringValue === 'string' && stringValue.length <= valueBytesMax
    ? stringValue
    : undefined;
}

function timeOf(nanos: unknown): number {
  if (typeof nanos === 'number' && Number.isInteger(nanos)) {
    return millisecondsOf(BigInt(nanos));
  }
  return typeof nanos === 'string' && /^\d{1,20}$/.test(nanos) ? millisecondsOf(BigInt(nanos)) : 0;
}

function hexOf(id: unknown, length: number): string {
  return typeof id === 'string' ? idOf(id.toLowerCase(), length) : '';
}

function textOf(value: unknown, max: number): string {
  return typeof value === 'string' && value.length <= max ? value : '';
}

function listOf(value: unknown): readonly Fields[] {
  return Array.isArray(value) ? value.map(fieldsOf) : [];
}
