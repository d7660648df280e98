import { Readable } from 'node:stream';
import { expect, test } from 'vitest';
import { callFormats } from '../../kernel/providers/formats.ts';
import type { AssemblyFormat } from '../../kernel/providers/stream-assembly.ts';
import { assembleStream } from './assemble-stream.ts';

const messages = callFormats.messages.response.assembly as AssemblyFormat;
const event = (data: object) => `data: ${JSON.stringify(data)}\n\n`;
const streamOf = (input: string) =>
  event({ type: 'message_start', message: { id: 'msg_1', content: [], usage: { input_tokens: 1 } } }) +
  event({ type: 'content_block_start', index: 0, content_block: { type: 'tool_use', input: {} } }) +
  event({ type: 'content_block_delta', index: 0, delta: { type: 'input_json_delta', partial_json: input } }) +
  event({ type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 1 } }) +
  event({ type: 'message_stop' });
const assembled = (chunks: readonly Buffer[], bytesMax = 10_000_000) =>
  assembleStream(Readable.from(chunks), messages, bytesMax);

test('a stream is the same response, wherever its chunks end, also within a character', async () => {
  const bytes = Buffer.from(streamOf('{"q":"h\u{1f600}i"}'));
  const whole = await assembled([bytes]);
  expect(whole).toMatchObject({ kind: 'response', text: expect.stringContaining('h\u{1f600}i') });
  const single = Array.from(bytes, (_, at) => bytes.subarray(at, at + 1));
  expect(await assembled(single)).toEqual(whole);
});

test('a value that is nested too deeply to be written is an unknown part, not a failure of the gateway', async () => {
  const deep = '['.repeat(200_000) + ']'.repeat(200_000);
  expect(await assembled([Buffer.from(streamOf(deep))])).toMatchObject({ kind: 'unknown' });
});

test('invalid UTF-8 does not end a stream, and a stream that is too large is read to its end', async () => {
  const text = Buffer.from(streamOf('{"q":"ÿ"}'), 'latin1');
  expect((await assembled([text])).kind).toBe('response');
  expect(await assembled([Buffer.from(streamOf('{}'))], 10)).toEqual({ kind: 'overlong' });
});
