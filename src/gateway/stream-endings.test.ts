import { setTimeout } from 'node:timers/promises';
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { beforeAll, beforeEach, expect, test } from 'vitest';
import { eventually } from '../../test/support/eventually.ts';
import { useGatewayWorld } from '../../test/support/gateway-world.ts';
import { noUsage } from '../kernel/providers/call-usage.ts';
import { callFormats } from '../kernel/providers/formats.ts';

const gateway = useGatewayWorld();
let openai: OpenAI;
let anthropic: Anthropic;

const messages = [{ role: 'user' as const, content: 'Say hello to the world' }];
const chat = { model: 'gpt-test', messages, max_completion_tokens: 20_000 };
const response = { model: 'gpt-test', input: 'Say hello', max_output_tokens: 20_000 };
const message = { model: 'claude-test', messages, max_tokens: 20_000 };
const schema = { type: 'object' as const, properties: { q: { type: 'string' } } };
const longInput = JSON.stringify({ q: 'x'.repeat(9_000) });

beforeAll(async () => {
  gateway.settings = { ...gateway.settings, hold: 'expected' };
  openai = new OpenAI({ baseURL: `${gateway.url}/openai/v1`, apiKey: gateway.key, maxRetries: 0 });
  anthropic = new Anthropic({ baseURL: `${gateway.url}/anthropic`, apiKey: gateway.key, maxRetries: 0 });
  // The gateway learns the usual output of both models.
  for (let call = 0; call < 20; call += 1) {
    await openai.chat.completions.create(chat);
    await anthropic.messages.create(message);
  }
});
beforeEach(async () => {
  gateway.world.clock.advanceSeconds(1);
  gateway.provider.fault = undefined;
  gateway.provider.beforeChunk = undefined;
  gateway.provider.toolOf = () => undefined;
  gateway.provider.outputOf = () => 5;
  await gateway.cap('1000');
});

async function lastRun() {
  const [run] = await gateway.runs();
  return run;
}

/** Lets the provider send more than the limit allows to hold, but less than the maximum of the request. */
async function outgrowLimit(tool?: { name: string; input: string }): Promise<void> {
  gateway.provider.outputOf = () => 2_000;
  gateway.provider.toolOf = () => tool;
  // Sent as it is generated, because all that a provider has sent is charged.
  gateway.provider.beforeChunk = () => setTimeout(1);
  await gateway.capAbove(0.01);
}

async function expectTruncated(outputTokens: number | undefined): Promise<void> {
  await eventually(async () => expect(await gateway.holds()).toBe(0));
  const run = await lastRun();
  expect(run).toMatchObject({ status: 'succeeded', output_tokens: outputTokens });
  expect(run?.marks).toEqual(expect.arrayContaining(['truncated', 'usage_estimated']));
}

/** What was received of 2,000 words: a part, and without a gap. */
function expectPart(text: string): void {
  const whole = Array.from({ length: 2_000 }, (_, index) => gateway.provider.wordOf(index)).join('');
  expect(text.length).toBeGreaterThan(0);
  expect(text.length).toBeLessThan(whole.length);
  expect(whole.startsWith(text)).toBe(true);
}

test('a chat that outgrows its limit ends with the finish reason length, and with the usage if it was requested', async () => {
  await outgrowLimit();
  const stream = openai.chat.completions.stream({ ...chat, stream_options: { include_usage: true } });
  const completion = await stream.finalChatCompletion();
  expect(completion).toMatchObject({
    id: 'chatcmpl-1',
    created: 1,
    model: 'gpt-test',
    choices: [{ index: 0, finish_reason: 'length', message: { role: 'assistant' } }],
  });
  expectPart(completion.choices[0]?.message.content ?? '');
  expect(completion.usage?.total_tokens).toBe(
    (completion.usage?.prompt_tokens ?? 0) + (completion.usage?.completion_tokens ?? 0),
  );
  await expectTruncated(completion.usage?.completion_tokens);
});

test('a chat that outgrows its limit within a tool call keeps the part of the arguments', async () => {
  await outgrowLimit({ name: 'lookup', input: longInput });
  const tools = [{ type: 'function' as const, function: { name: 'lookup', parameters: schema } }];
  const completion = await openai.chat.completions.stream({ ...chat, tools }).finalChatCompletion();
  const [choice] = completion.choices;
  expect(choice?.finish_reason).toBe('length');
  const [call] = choice?.message.tool_calls ?? [];
  expect(call).toMatchObject({ id: 'call_1', type: 'function', function: { name: 'lookup' } });
  const part = call?.type === 'function' ? call.function.arguments : '';
  expect(part.length).toBeGreaterThan(0);
  expect(longInput.startsWith(part)).toBe(true);
  await expectTruncated((await lastRun())?.output_tokens);
});

test('every choice of a chat gets its finish reason', () => {
  const open = callFormats.chat.response.openStream({ choices: 3, includesUsage: false, mayTruncate: true });
  const chunk = (index: number, finish_reason: string | null) =>
    open.read({ id: 'c', created: 7, model: 'm', choices: [{ index, delta: {}, finish_reason }] });
  chunk(0, null);
  chunk(1, null);
  chunk(2, null);
  chunk(1, 'stop');
  expect(open.isOutputEnded).toBe(false);
  const ends = open.truncated(noUsage).split('\n\n');
  expect(ends.slice(0, -2).map((end) => JSON.parse(end.slice('data: '.length)))).toEqual(
    [0, 2].map((index) => ({
      id: 'c',
      created: 7,
      model: 'm',
      choices: [{ index, delta: {}, finish_reason: 'length' }],
    })),
  );
  expect(ends.slice(-2)).toEqual(['data: [DONE]', '']);
  chunk(0, 'stop');
  chunk(2, 'stop');
  expect(open.isOutputEnded).toBe(true);
});

/** Returns the events of a stream in their order. */
async function eventsOf<Event>(stream: AsyncIterable<Event>): Promise<Event[]> {
  const events: Event[] = [];
  for await (const event of stream) {
    events.push(event);
  }
  return events;
}

test('a response that outgrows its limit ends as incomplete, with its output so far', async () => {
  await outgrowLimit();
  const stream = openai.responses.stream(response);
  const events = await eventsOf(stream);
  expect(events.map(({ sequence_number }) => sequence_number)).toEqual(events.map((_, index) => index + 1));
  expect(events.slice(-4).map(({ type }) => type)).toEqual([
    'response.output_text.done',
    'response.content_part.done',
    'response.output_item.done',
    'response.incomplete',
  ]);
  const final = await stream.finalResponse();
  expect(final).toMatchObject({
    id: 'resp_1',
    status: 'incomplete',
    incomplete_details: { reason: 'max_output_tokens' },
    output: [{ type: 'message', id: 'msg_1', status: 'incomplete' }],
  });
  expectPart(final.output_text);
  await expectTruncated(final.usage?.output_tokens);
});

test('a response that outgrows its limit within a tool call does not complete the call', async () => {
  await outgrowLimit({ name: 'lookup', input: longInput });
  const tools = [{ type: 'function' as const, name: 'lookup', parameters: schema, strict: true }];
  const stream = openai.responses.stream({ ...response, tools });
  const events = await eventsOf(stream);
  expect(events.map(({ type }) => type)).not.toContain('response.output_item.done');
  const final = await stream.finalResponse();
  const [item] = final.output;
  expect(item).toMatchObject({ type: 'function_call', name: 'lookup', status: 'incomplete' });
  expect(longInput.startsWith(item?.type === 'function_call' ? item.arguments : '-')).toBe(true);
  await expectTruncated(final.usage?.output_tokens);
});

test('a message that outgrows its limit closes its block and stops at max_tokens', async () => {
  await outgrowLimit();
  const stream = anthropic.messages.stream(message);
  const blocks: unknown[] = [];
  stream.on('contentBlock', (block) => blocks.push(block));
  const events = await eventsOf(stream);
  expect(events.slice(-3).map(({ type }) => type)).toEqual([
    'content_block_stop',
    'message_delta',
    'message_stop',
  ]);
  const final = await stream.finalMessage();
  expect(final).toMatchObject({ id: 'msg_1', stop_reason: 'max_tokens', stop_sequence: null });
  expect(blocks).toEqual(final.content);
  const [block] = final.content;
  expectPart(block?.type === 'text' ? block.text : '');
  await expectTruncated(final.usage.output_tokens);
});

test('a message that is ended within reasoning that is not signed fails, and stops at max_tokens once it is signed', () => {
  const open = callFormats.messages.response.openStream({
    choices: 1,
    includesUsage: true,
    mayTruncate: true,
  });
  open.read({ type: 'message_start', message: {} });
  open.read({ type: 'content_block_start', index: 0, content_block: { type: 'thinking', thinking: '' } });
  open.read({
    type: 'content_block_delta',
    index: 0,
    delta: { type: 'thinking_delta', thinking: 'Perhaps' },
  });
  const failed = open.truncated(noUsage);
  expect(failed.match(/^event: .*$/gm)).toEqual(['event: error']);
  expect(failed).toContain('"type":"billing_error"');
  open.read({ type: 'content_block_delta', index: 0, delta: { type: 'signature_delta', signature: 'c2ln' } });
  open.read({ type: 'content_block_stop', index: 0 });
  open.read({ type: 'content_block_start', index: 1, content_block: { type: 'text', text: '' } });
  expect(open.truncated(noUsage)).toMatch(/content_block_stop.*"stop_reason":"max_tokens".*message_stop/s);
});

test('a message that outgrows its limit within a tool call closes its block', async () => {
  await outgrowLimit({ name: 'lookup', input: longInput });
  const tools = [{ name: 'lookup', input_schema: schema }];
  const final = await anthropic.messages.stream({ ...message, tools }).finalMessage();
  expect(final).toMatchObject({ stop_reason: 'max_tokens', content: [{ type: 'tool_use', name: 'lookup' }] });
  await expectTruncated(final.usage.output_tokens);
});

test('a stream that breaks off raises the error of the SDK in every shape', async () => {
  gateway.provider.outputOf = () => 50;
  gateway.provider.fault = () => ({ cutAfter: 20 });
  const interrupted = { code: 'stream_interrupted' };
  await expect(openai.chat.completions.stream(chat).finalChatCompletion()).rejects.toMatchObject(interrupted);
  await expect(openai.responses.stream(response).finalResponse()).rejects.toMatchObject(interrupted);
  const plain = await openai.responses.create({ ...response, stream: true });
  await expect(eventsOf(plain)).rejects.toMatchObject(interrupted);
  await expect(anthropic.messages.stream(message).finalMessage()).rejects.toMatchObject({
    error: { type: 'error', error: { type: 'api_error' } },
  });
  await eventually(async () => expect(await gateway.holds()).toBe(0));
});

/** Breaks the connection of the provider before this chunk, once the client has received what was sent before it. */
function breakBefore(chunk: number): { received(): void } {
  let received: () => void = () => undefined;
  const isReceived = new Promise<void>((resolve) => {
    received = resolve;
  });
  gateway.provider.beforeChunk = async (index) => {
    if (index === chunk) {
      await isReceived;
      throw new Error('cut');
    }
  };
  return { received };
}

test('a stream that breaks off after its output is completed by the gateway', async () => {
  // The role, five words and the finish reason; the usage and the end are missing.
  const { received } = breakBefore(7);
  const completion = await openai.chat.completions
    .stream(chat)
    .on('chunk', ({ choices }) => choices[0]?.finish_reason && received())
    .finalChatCompletion();
  expect(completion.choices[0]).toMatchObject({ finish_reason: 'stop' });
  await eventually(async () => expect(await gateway.holds()).toBe(0));
  gateway.world.clock.advanceSeconds(1);
  // The starts, five words, the stop of the block and the delta of the message; its stop is missing.
  const last = breakBefore(9);
  const final = await anthropic.messages
    .stream(message)
    .on('streamEvent', ({ type }) => type === 'message_delta' && last.received())
    .finalMessage();
  expect(final).toMatchObject({ stop_reason: 'end_turn', usage: { output_tokens: 5 } });
  await eventually(async () => expect(await gateway.holds()).toBe(0));
  expect(await lastRun()).toMatchObject({ model: 'claude-test', output_tokens: 5, marks: [] });
});
