import fc from 'fast-check';
import { expect, test } from 'vitest';
import { seedsOf } from '../../../test/support/seeds.ts';
import { callFormats } from '../../kernel/providers/formats.ts';
import { SseReader } from '../../kernel/providers/sse-reader.ts';
import { dataOf, type StreamUsage } from '../../kernel/providers/stream-usage.ts';
import { bytesOf } from '../usage/output-bound.ts';
import { bufferOperations } from './framings.ts';
import { createRelayFilter, type RelayFilterOptions } from './relay-filter.ts';

const { forAll } = seedsOf('gateway-streams');

/** Splits bytes at the given positions. */
function chunksOf(bytes: Buffer, cuts: readonly number[]): Buffer[] {
  const positions = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].sort((a, b) => a - b);
  return [0, ...positions].map((start, index) => bytes.subarray(start, positions[index] ?? bytes.length));
}

const lineBreak = fc.constantFrom('\n', '\r\n', '\r');
const line = fc
  .tuple(fc.constantFrom('data: ', 'data:', 'event: ', ': ', 'id: '), fc.string({ maxLength: 12 }))
  .map(([name, value]) => `${name}${value.replaceAll(/[\r\n]/g, 'x')}`);
const events = fc.tuple(
  lineBreak,
  fc.array(fc.array(line, { minLength: 1, maxLength: 4 }), { maxLength: 6 }),
);

test('events are the same for every boundary of chunks, and their bytes are those of the stream', () => {
  forAll(
    fc.property(events, fc.array(fc.nat(400), { maxLength: 12 }), ([end, lines], cuts) => {
      const bytes = Buffer.from(lines.map((one) => `${one.join(end)}${end}${end}`).join(''));
      const whole = new SseReader(bufferOperations);
      const expected = whole.push(bytes);
      const reader = new SseReader(bufferOperations);
      const read = chunksOf(bytes, cuts).flatMap((chunk) => reader.push(chunk));
      expect(read.map(({ type, data }) => [type, data])).toEqual(
        expected.map(({ type, data }) => [type, data]),
      );
      expect(Buffer.concat([...read.map(({ raw }) => raw), reader.rest()]).equals(bytes)).toBe(true);
      // A CR at the very end may still be followed by an LF, so its event is complete only at the end of the stream.
      expect(read.length).toBeGreaterThanOrEqual(lines.length - (end === '\r' ? 1 : 0));
    }),
  );
});

const chat = callFormats.chat.response;
const noOpenStream = { read: () => undefined };
const filterOf = (usage: StreamUsage, dropUsageChunk: boolean, more: Partial<RelayFilterOptions> = {}) =>
  createRelayFilter({ usage, open: noOpenStream, format: chat, bound: bytesOf, dropUsageChunk, ...more });
const usageChunk = `data: {"id":"1","choices":[],"usage":{"prompt_tokens":3,"completion_tokens":2}}\n\n`;
const text = (value: string) =>
  `data: ${JSON.stringify({ id: '1', choices: [{ index: 0, delta: { content: value } }], usage: null })}\n\n`;

test('exactly the usage chunk is left out, for every boundary of chunks', () => {
  forAll(
    fc.property(fc.array(fc.string(), { maxLength: 5 }), fc.array(fc.nat(900)), (texts, cuts) => {
      const head = texts.map(text).join('');
      const tail = 'data: [DONE]\n\n: a comment\n\nincomplete';
      const bytes = Buffer.from(`${head}${usageChunk}${tail}`);
      const usage = chat.readStream(bytesOf, 1);
      const filter = filterOf(usage, true);
      const out = chunksOf(bytes, cuts).map((chunk) => filter.push(chunk));
      expect(Buffer.concat([...out, filter.end(true)]).toString()).toBe(`${head}${tail}`);
      expect(usage.usage()).toMatchObject({ inputTokens: 3, outputTokens: 2 });
      expect(usage.outputBound).toBe(texts.reduce((sum, one) => sum + Buffer.byteLength(one), 0));
    }),
  );
});

test('a client that requested usage gets every event, and an incomplete one only at the end of the provider', () => {
  const filter = filterOf(chat.readStream(bytesOf, 1), false);
  expect(filter.push(Buffer.from(`${usageChunk}data: {"id"`)).toString()).toBe(usageChunk);
  expect(filter.end(true).toString()).toBe('data: {"id"');
  const broken = filterOf(chat.readStream(bytesOf, 1), false);
  broken.push(Buffer.from('data: {"id"'));
  expect(broken.end(false).toString()).toBe('');
});

test('an event that is too long is passed on unread', () => {
  const reader = new SseReader(bufferOperations, 10);
  expect(reader.push(Buffer.from('data: 0123456789'))).toEqual([]);
  expect(reader.isOverlong).toBe(true);
  expect(reader.rest().toString()).toBe('data: 0123456789');
});

const padded = (value: string, padding: string) =>
  `data: ${JSON.stringify({ id: '1', choices: [{ index: 0, delta: { content: value } }], obfuscation: padding })}\n\n`;
const finished = `data: {"id":"1","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n`;
const others = fc.constantFrom(
  usageChunk,
  finished,
  'data: [DONE]\n\n',
  ': keep-alive\n\n',
  'data: {"id":"1","choices":[{"index":1,"delta":{"content":"x"}}],"usage":null}\r\n\r\n',
  'data: {"id":"1","choices":[{"index":0,"delta":{"content":"x","role":"assistant"}}]}\n\n',
  'data: {"id":"1","choices":[{"index":0,"delta":{"content":"\\"content\\":\\"x"}}],"usage":null}\n\n',
  'data: {"id":"1","choices":[{"index":0,"delta":{"content": "a"}},{"index":1,"delta":{"content": "b"}}]}\n\n',
);
const anyText = fc.oneof(fc.string({ unit: 'grapheme' }), fc.constantFrom('word ', '"', '\\', '\n', '}],'));
const chatEvents = fc.array(
  fc.oneof(
    { weight: 5, arbitrary: anyText.map(text) },
    {
      weight: 2,
      arbitrary: fc.tuple(anyText, fc.string({ maxLength: 5 })).map(([one, other]) => padded(one, other)),
    },
    { weight: 1, arbitrary: others },
  ),
  { maxLength: 30 },
);

test('events that repeat an earlier one count as if they were parsed, for every boundary of chunks', () => {
  forAll(
    fc.property(chatEvents, fc.array(fc.nat(4_000)), fc.boolean(), (given, cuts, dropUsageChunk) => {
      const bytes = Buffer.from(given.join(''));
      const parsed = chat.readStream(bytesOf, 1);
      const kept: Buffer[] = [];
      for (const event of new SseReader(bufferOperations).push(bytes)) {
        const isUsageChunk = parsed.read(dataOf(event));
        if (!isUsageChunk || !dropUsageChunk) {
          kept.push(event.raw);
        }
      }
      const usage = chat.readStream(bytesOf, 1);
      const filter = filterOf(usage, dropUsageChunk);
      const out = chunksOf(bytes, cuts).map((chunk) => filter.push(chunk));
      expect(Buffer.concat([...out, filter.end(true)]).equals(Buffer.concat(kept))).toBe(true);
      expect([usage.outputBound, usage.isFinal, usage.usage()]).toEqual([
        parsed.outputBound,
        parsed.isFinal,
        parsed.usage(),
      ]);
    }),
  );
});

test('most events of a stream are not parsed', () => {
  const streams = [
    [chat, (value: string) => text(value)],
    [chat, (value: string) => padded(value, value.slice(2))],
    [chat, (value: string) => `data: {"choices": [{"delta": {"content": "${value}"}}], "usage": null}\n\n`],
    [
      callFormats.messages.response,
      (value: string) =>
        `event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"${value}"}}\n\n`,
    ],
  ] as const;
  for (const [format, eventFor] of streams) {
    let read = 0;
    const open = {
      read() {
        read += 1;
      },
    };
    const filter = filterOf(format.readStream(bytesOf, 1), false, { format, open });
    for (let index = 0; index < 100; index += 1) {
      const chunk = Buffer.from(eventFor(`word${index}`) + eventFor('é'));
      expect(filter.push(chunk)).toBe(chunk);
    }
    expect(read).toBe(1);
  }
});
