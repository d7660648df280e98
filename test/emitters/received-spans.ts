/** The parts that are recorded of the spans of a program. */
import type { RecordedSpan } from './recording.ts';

type Value = RecordedSpan['attributes'][string];

interface Attribute {
  readonly key: string;
  readonly value: {
    readonly stringValue?: string;
    readonly boolValue?: boolean;
    readonly intValue?: string | number;
    readonly doubleValue?: number;
    readonly arrayValue?: { readonly values?: readonly { readonly stringValue?: string }[] };
  };
}

interface Span {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes?: readonly Attribute[];
  readonly status?: { readonly code?: number | string };
}

/** A request of OTLP. */
export interface Traces {
  readonly resourceSpans: readonly {
    readonly scopeSpans: readonly {
      readonly scope?: { readonly name?: string };
      readonly spans: readonly Span[];
    }[];
  }[];
}

/** Longer values are prompts, responses and settings. */
const valueLengthMax = 700;
const errorStatus = [2, 'STATUS_CODE_ERROR'];

export function spansIn(requests: readonly Traces[], providerUrl: string): RecordedSpan[] {
  const sent = requests.flatMap(({ resourceSpans }) =>
    resourceSpans.flatMap(({ scopeSpans }) =>
      scopeSpans.flatMap(({ scope, spans }) => spans.map((span) => ({ scope: scope?.name ?? '', span }))),
    ),
  );
  const startMs = Math.min(...sent.map(({ span }) => millisecondsOf(span.startTimeUnixNano)));
  const traceIds = new Map<string, string>();
  const spanIds = new Map<string, string>();
  return sent.map(({ scope, span }) => ({
    scope,
    name: span.name,
    traceId: numbered(traceIds, span.traceId),
    spanId: numbered(spanIds, span.spanId),
    ...((span.parentSpanId ?? '') !== '' && { parentSpanId: numbered(spanIds, span.parentSpanId ?? '') }),
    startMs: millisecondsOf(span.startTimeUnixNano) - startMs,
    endMs: millisecondsOf(span.endTimeUnixNano) - startMs,
    ...(errorStatus.includes(span.status?.code ?? 0) && { statusCode: 2 }),
    attributes: attributesOf(span, providerUrl),
  }));
}

function millisecondsOf(nanos: string): number {
  return Number(BigInt(nanos) / 1_000_000n);
}

function numbered(ids: Map<string, string>, id: string): string {
  const known = ids.get(id) ?? (ids.size + 1).toString(16).padStart(id.length, '0');
  ids.set(id, known);
  return known;
}

/** The port of the provider differs in each recording. */
function attributesOf({ attributes = [] }: Span, providerUrl: string): RecordedSpan['attributes'] {
  const { port } = new URL(providerUrl);
  const kept = attributes.flatMap(({ key, value }): [string, Value][] => {
    const plain = plainValue(value);
    if (plain === undefined || plain === '' || JSON.stringify(plain).length > valueLengthMax) {
      return [];
    }
    const isPort = key === 'server.port';
    return [[key, isPort ? 443 : typeof plain === 'string' ? plain.replaceAll(`:${port}`, '') : plain]];
  });
  return Object.fromEntries(kept);
}

function plainValue({ stringValue, boolValue, intValue, doubleValue, arrayValue }: Attribute['value']) {
  const texts = arrayValue?.values?.flatMap(({ stringValue: text }) => text ?? []);
  return (
    stringValue ??
    boolValue ??
    (intValue === undefined ? undefined : Number(intValue)) ??
    doubleValue ??
    texts
  );
}
