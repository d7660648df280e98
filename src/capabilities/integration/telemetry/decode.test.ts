/** Bytes that are not telemetry: every request is decoded or rejected, and never harms the process. */
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type Batch,
  logsJson,
  logsProtobuf,
  type SpanShape,
  spanId,
  tracesJson,
  tracesProtobuf,
} from '../../../../test/support/otlp.ts';
import { seedsOf } from '../../../../test/support/seeds.ts';
import { decodeLogsJson, decodeTracesJson } from './decode-json.ts';
import { decodeLogs, decodeTraces } from './decode-protobuf.ts';

const { forAll } = seedsOf('telemetry-bytes');

const batch: Batch<SpanShape> = {
  resource: { 'service.name': 'a service' },
  scope: 'a scope',
  records: [1, 2].map((number) => ({
    spanId: spanId(number),
    startMs: 1_000,
    endMs: 2_000,
    attributes: {
      'gen_ai.request.model': 'gpt-test',
      'gen_ai.usage.input_tokens': 12,
      'gen_ai.usage.cost': 0.5,
      'gen_ai.input.messages': 'a prompt',
    },
  })),
};
const events = {
  records: [{ timeMs: 5, body: 'claude_code.api_request', attributes: { model: 'm', output_tokens: 7 } }],
};

test('both encodings of traces and of logs have the same records', () => {
  const traces = [...decodeTraces(tracesProtobuf(batch))];
  expect(traces).toHaveLength(2);
  expect(traces).toEqual([...decodeTracesJson(Buffer.from(JSON.stringify(tracesJson(batch))))]);
  expect(traces[0]?.attributes.has('gen_ai.input.messages')).toBe(false);
  const logs = [...decodeLogs(logsProtobuf(events))];
  expect(logs).toHaveLength(1);
  expect(logs).toEqual([...decodeLogsJson(Buffer.from(JSON.stringify(logsJson(events))))]);
});

test.each([
  ['one text', ['run_1'], 'run_1'],
  ['several texts', ['run_1', 'run_2'], undefined],
  ['no text', [], undefined],
  ['a long text', ['x'.repeat(1_001)], undefined],
])('a list of %s is read as its only text in both encodings', (_, list, expected) => {
  const [record] = batch.records;
  const attributes = { 'http.response.header.x-svc-run-id': list };
  const captured = { records: [{ ...record, attributes } as SpanShape] };
  const decoded = [
    ...decodeTraces(tracesProtobuf(captured)),
    ...decodeTracesJson(Buffer.from(JSON.stringify(tracesJson(captured)))),
  ];
  const values = decoded.map((one) => one.attributes.get('http.response.header.x-svc-run-id'));
  expect(values).toEqual([expected, expected]);
});

/** Returns the number of records, or -1 for bytes that are not a message. */
function countOf(decode: () => Iterable<unknown>): number {
  try {
    return [...decode()].length;
  } catch (error) {
    expect(error).toBeInstanceOf(Error);
    return -1;
  }
}

test('random bytes are records or an error', () => {
  forAll(
    fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
      for (const decode of [decodeTraces, decodeLogs, decodeTracesJson, decodeLogsJson]) {
        expect(countOf(() => decode(Buffer.from(bytes)))).toBeLessThan(300);
      }
    }),
  );
});

test('a message with changed, missing or repeated bytes is records or an error', () => {
  const valid = tracesProtobuf(batch);
  const index = fc.nat({ max: valid.length });
  forAll(
    fc.property(index, index, fc.nat({ max: 255 }), (from, to, byte) => {
      const changed = Buffer.concat([valid.subarray(0, from), Buffer.from([byte]), valid.subarray(to)]);
      expect(countOf(() => decodeTraces(changed))).toBeLessThan(valid.length);
    }),
  );
});

test('groups that are nested deeply are an error', () => {
  expect(countOf(() => decodeTraces(Buffer.alloc(1_000_000, 0x0b)))).toBe(-1);
});

describe('a body that takes long to read between two records is an error', () => {
  /** A field with a length. */
  const field = (number: number, content: Uint8Array) =>
    Buffer.from(new BinaryWriter().tag(number, WireType.LengthDelimited).bytes(content).finish());
  const empty = (count: number, number: number) =>
    Buffer.alloc(2 * count, new Uint8Array([(number << 3) | WireType.LengthDelimited, 0]));
  /** Fields that OTLP does not have. */
  const unknown = (count: number) =>
    Buffer.alloc(2 * count, new Uint8Array([(14 << 3) | WireType.Varint, 0]));
  const records = (...contents: Uint8Array[]) =>
    field(1, field(2, Buffer.concat(contents.map((content) => field(2, content)))));
  const traces = (body: Buffer) => countOf(() => decodeTraces(body));
  const logs = (body: Buffer) => countOf(() => decodeLogs(body));

  test('a body of many empty resources and scopes, which take long to read between two records, is an error', () => {
    expect([traces(empty(100_000, 1)), traces(empty(100_001, 1))]).toEqual([0, -1]);
    const scopes = (count: number) => field(1, empty(count, 2));
    expect([traces(scopes(99_999)), traces(scopes(100_000))]).toEqual([0, -1]);
    // They are counted together, also if there are records in between.
    const both = Buffer.concat([scopes(60_000), records(Buffer.alloc(0)), scopes(60_000)]);
    expect([traces(both), logs(both)]).toEqual([-1, -1]);
  });

  test('a body of many attributes in one list, which take long to read between two records, is an error', () => {
    expect([10_000, 10_001].map((count) => traces(records(empty(count, 9))))).toEqual([1, -1]);
    expect([10_000, 10_001].map((count) => logs(records(empty(count, 6))))).toEqual([1, -1]);
    const ofResource = (count: number) => field(1, field(1, empty(count, 1)));
    expect([traces(ofResource(10_000)), traces(ofResource(10_001))]).toEqual([0, -1]);
  });

  test('a body of many unknown fields, in one message or in several, is an error', () => {
    expect(traces(records(unknown(1_000_001)))).toBe(-1);
    expect(logs(records(unknown(1_000_001)))).toBe(-1);
    expect(traces(field(1, unknown(1_000_001)))).toBe(-1);
    expect(traces(unknown(1_000_001))).toBe(-1);
    expect(traces(Buffer.concat(Array.from({ length: 20 }, () => field(1, unknown(60_000)))))).toBe(-1);
    // Not if there is a record in between, at which the reader can pause.
    expect(traces(records(...Array.from({ length: 20 }, () => unknown(60_000))))).toBe(20);
  });

  test('a body with a group, whose fields cannot be counted, is an error', () => {
    const group = (content: Buffer) => Buffer.concat([Buffer.from([0x73]), content, Buffer.from([0x74])]);
    expect(traces(records(group(unknown(1))))).toBe(-1);
  });
});

test('JSON of any shape is records or an error', () => {
  const keys = fc.constantFrom(
    'resourceSpans',
    'scopeSpans',
    'spans',
    'attributes',
    'key',
    'value',
    'intValue',
  );
  const { tree } = fc.letrec((tie) => ({
    tree: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      fc.jsonValue(),
      fc.array(tie('tree'), { maxLength: 3 }),
      fc.dictionary(keys, tie('tree'), { maxKeys: 3 }),
    ),
  }));
  forAll(
    fc.property(tree, (value) => {
      const bytes = Buffer.from(JSON.stringify({ resourceSpans: value }));
      expect(countOf(() => decodeTracesJson(bytes))).toBeLessThan(1_000);
    }),
  );
});
