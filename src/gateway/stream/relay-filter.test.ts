import fc from 'fast-check';
import { expect, test } from 'vitest';
import { seedsOf } from '../../../test/support/seeds.ts';
import { SseReader } from '../../kernel/providers/sse-reader.ts';
import { createStreamUsage } from '../../kernel/providers/stream-usage.ts';
import { bytesOf } from '../usage/output-bound.ts';
import { bufferOperations, createRelayFilter } from './relay-filter.ts';

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

const noOpenStream = { read: () => undefined };
const usageChunk = `data: {"id":"1","choices":[],"usage":{"prompt_tokens":3,"completion_tokens":2}}\n\n`;
const text = (value: string) =>
  `data: ${JSON.stringify({ id: '1', choices: [{ index: 0, delta: { content: value } }], usage: null })}\n\n`;

test('exactly the usage chunk is left out, for every boundary of chunks', () => {
  forAll(
    fc.property(fc.array(fc.string(), { maxLength: 5 }), fc.array(fc.nat(900)), (texts, cuts) => {
      const head = texts.map(text).join('');
      const tail = 'data: [DONE]\n\n: a comment\n\nincomplete';
      const bytes = Buffer.from(`${head}${usageChunk}${tail}`);
      const usage = createStreamUsage('chat', bytesOf);
      const filter = createRelayFilter(usage, noOpenStream, true);
      const out = chunksOf(bytes, cuts).map((chunk) => filter.push(chunk));
      expect(Buffer.concat([...out, filter.end(true)]).toString()).toBe(`${head}${tail}`);
      expect(usage.usage()).toMatchObject({ inputTokens: 3, outputTokens: 2 });
      expect(usage.outputBound).toBe(texts.reduce((sum, one) => sum + Buffer.byteLength(one), 0));
    }),
  );
});

test('a client that requested usage gets every event, and an incomplete one only at the end of the provider', () => {
  const filter = createRelayFilter(createStreamUsage('chat', bytesOf), noOpenStream, false);
  expect(filter.push(Buffer.from(`${usageChunk}data: {"id"`)).toString()).toBe(usageChunk);
  expect(filter.end(true).toString()).toBe('data: {"id"');
  const broken = createRelayFilter(createStreamUsage('chat', bytesOf), noOpenStream, false);
  broken.push(Buffer.from('data: {"id"'));
  expect(broken.end(false).toString()).toBe('');
});

test('an event that is too long is passed on unread', () => {
  const reader = new SseReader(bufferOperations, 10);
  expect(reader.push(Buffer.from('data: 0123456789'))).toEqual([]);
  expect(reader.isOverlong).toBe(true);
  expect(reader.rest().toString()).toBe('data: 0123456789');
});
