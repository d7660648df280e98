/** Frames of AWS: damaged, cut, gigantic and split in any way. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { awsChunk, awsEvent, awsException, readFrames } from '../../../test/support/aws-frames.ts';
import { seedsOf } from '../../../test/support/seeds.ts';
import { callFormats } from '../../kernel/providers/formats.ts';
import { createFrameFilter } from './frame-filter.ts';
import { framings } from './framings.ts';

const { forAll } = seedsOf('gateway-frames');

const text = (value: string) =>
  awsEvent('contentBlockDelta', { contentBlockIndex: 0, delta: { text: value } });
const stream = Buffer.concat([
  awsEvent('messageStart', { role: 'assistant' }),
  text('a'),
  text('bc'),
  text('ä€'),
]);
const read = (bytes: Buffer) => {
  const reader = framings.aws_events.createReader();
  const events = reader.push(bytes);
  return { events, isBroken: reader.isBroken };
};

test('events and their bytes are the same, wherever the stream is split', () => {
  const whole = read(stream).events;
  expect(Buffer.concat(whole.map(({ raw }) => raw)).equals(stream)).toBe(true);
  forAll(
    fc.property(fc.array(fc.nat(stream.length), { maxLength: 12 }), (cuts) => {
      const reader = framings.aws_events.createReader();
      const positions = [0, ...cuts.sort((a, b) => a - b), stream.length];
      const events = positions
        .slice(1)
        .flatMap((end, index) => reader.push(stream.subarray(positions[index], end)));
      expect(events.map(({ data }) => data)).toEqual(whole.map(({ data }) => data));
      expect(Buffer.concat(events.map(({ raw }) => raw)).equals(stream)).toBe(true);
    }),
  );
});

test('a frame with any changed bit breaks the stream, and the frames before it are read', () => {
  forAll(
    fc.property(fc.nat(stream.length - 1), fc.nat(7), (position, bit) => {
      const damaged = Buffer.from(stream);
      damaged[position] = (damaged[position] as number) ^ (1 << bit);
      const { events, isBroken } = read(damaged);
      // A longer length waits for bytes that do not come, unless its checksum says that it is wrong.
      expect(isBroken).toBe(true);
      const before = read(stream).events.filter((_, index, all) => {
        const end = all.slice(0, index + 1).reduce((sum, { raw }) => sum + raw.length, 0);
        return end <= position;
      });
      expect(events.map(({ data }) => data)).toEqual(before.map(({ data }) => data));
    }),
  );
});

test('a frame that is longer than any frame may be breaks the stream before it is buffered', () => {
  const prelude = Buffer.from(text('a').subarray(0, 12));
  for (const length of [17 * 1_048_576, 0xffffffff, 0, 11, 15]) {
    prelude.writeUInt32BE(length, 0);
    expect([length, read(prelude).isBroken]).toEqual([length, true]);
  }
});

test('an incomplete frame is no event and is not passed on', () => {
  const usage = callFormats.converse.response.readStream((value) => value.length, 1);
  const open = { read: () => undefined };
  const redaction = { text: (value: string) => value };
  const filter = createFrameFilter({ usage, open, from: 'aws_events', to: 'aws_events', redaction });
  const cut = stream.subarray(0, -3);
  const passed = filter.push(cut);
  expect(passed.equals(stream.subarray(0, stream.length - text('ä€').length))).toBe(true);
  expect([filter.end(false).length, filter.end(true).length]).toEqual([0, 0]);
});

test('the key of the connection is removed from an event, whose checksum is right again', () => {
  const usage = callFormats.messages.response.readStream((value) => value.length, 1);
  const open = { read: () => undefined };
  const redaction = { text: (value: string) => value.replaceAll('secret-key', '[redacted]') };
  for (const from of ['aws_chunks', 'aws_events'] as const) {
    const given =
      from === 'aws_chunks'
        ? awsChunk('{"type":"ping","text":"secret-key"}')
        : awsEvent('ping', { text: 'secret-key' });
    const filter = createFrameFilter({ usage, open, from, to: from, redaction });
    const [frame] = readFrames(filter.push(given));
    const { bytes } = frame?.payload ?? {};
    const shown =
      typeof bytes === 'string' ? Buffer.from(bytes, 'base64').toString() : JSON.stringify(frame?.payload);
    expect(shown).toContain('[redacted]');
  }
});

test('a stream that was damaged is read as one with any further output', () => {
  const usage = callFormats.converse.response.readStream((value) => value.length, 1);
  const open = { read: () => undefined };
  const redaction = { text: (value: string) => value };
  const filter = createFrameFilter({ usage, open, from: 'aws_events', to: 'aws_events', redaction });
  filter.push(Buffer.concat([text('abc'), Buffer.alloc(40, 7)]));
  expect([filter.isBroken, usage.isUnread, usage.outputBound]).toEqual([true, true, 3]);
});

test.each(['aws_events', 'aws_chunks'] as const)(
  'an exception of %s is an error for its reader',
  (framing) => {
    const format = framing === 'aws_events' ? callFormats.converse : callFormats.messages;
    const [event] = framings[framing].createReader().push(awsException('throttlingException', 'Later.'));
    const usage = format.response.readStream((value) => value.length, 1);
    usage.read(JSON.parse(event?.data ?? ''));
    expect(usage.hasFailed).toBe(true);
    const [again] = readFrames(framings[framing].write(event?.data ?? ''));
    expect(again).toEqual({ type: 'throttlingException', isException: true, payload: { message: 'Later.' } });
  },
);
