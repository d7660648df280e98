/**
 * A provider that generates hidden tokens at a fixed rate, in the formats of chat completions, responses and messages. It bills what it has
 * generated, also after its client has left, if it notices that late.
 */
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface TimedProvider {
  readonly url: string;
  perSecond: number;
  /** Number of tokens of an answer, at most the maximum of the request. */
  hiddenTokens: number;
  /** False if nothing is sent before the end of the reasoning. */
  hasHead: boolean;
  /** Time for which it continues after its client has left. */
  noticesAfterMs: number;
  /** Parsed bodies of the requests. */
  readonly requests: TimedRequest[];
  /** Output tokens that are billed by now, per call. */
  readonly bill: (() => number)[];
  close(): Promise<void>;
}

export interface TimedRequest {
  readonly model: string;
  readonly stream?: boolean;
  readonly [name: string]: unknown;
}

const inputTokens = 6;
const visible = 'Hello';

interface TimedFormat {
  /** Events before the reasoning. */
  head(model: string): string;
  tail(model: string, outputTokens: number): string;
  plain(model: string, outputTokens: number): object;
  readonly maxNames: readonly string[];
}

const named = (data: { readonly type: string; readonly [name: string]: unknown }) =>
  `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`;
const unnamed = (data: object) => `data: ${JSON.stringify(data)}\n\n`;

const chat: TimedFormat = {
  maxNames: ['max_completion_tokens', 'max_tokens'],
  head: (model) =>
    unnamed(chunk(model, { delta: { role: 'assistant', content: '', refusal: null }, finish_reason: null })),
  tail: (model, output) =>
    unnamed(chunk(model, { delta: { content: visible }, finish_reason: null })) +
    unnamed(chunk(model, { delta: {}, finish_reason: 'stop' })) +
    unnamed({ ...chunk(model), choices: [], usage: chatUsage(output) }) +
    'data: [DONE]\n\n',
  plain: (model, output) => ({
    ...chunk(model),
    object: 'chat.completion',
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: visible, refusal: null, annotations: [] },
        finish_reason: 'stop',
      },
    ],
    usage: chatUsage(output),
  }),
};

function chunk(model: string, choice?: object) {
  return {
    id: 'chatcmpl-1',
    object: 'chat.completion.chunk',
    created: 1,
    model,
    ...(choice && { choices: [{ index: 0, ...choice }] }),
  };
}

function chatUsage(output: number) {
  return { prompt_tokens: inputTokens, completion_tokens: output, total_tokens: inputTokens + output };
}

const messages: TimedFormat = {
  maxNames: ['max_tokens'],
  head: (model) =>
    named({ type: 'message_start', message: message(model, 1, []) }) +
    named({ type: 'content_block_start', index: 0, content_block: { type: 'thinking', thinking: '' } }),
  tail: (_, output) =>
    named({ type: 'content_block_stop', index: 0 }) +
    named({ type: 'content_block_start', index: 1, content_block: { type: 'text', text: '' } }) +
    named({ type: 'content_block_delta', index: 1, delta: { type: 'text_delta', text: visible } }) +
    named({ type: 'content_block_stop', index: 1 }) +
    named({
      type: 'message_delta',
      delta: { stop_reason: 'end_turn', stop_sequence: null },
      usage: { output_tokens: output },
    }) +
    named({ type: 'message_stop' }),
  plain: (model, output) => ({
    ...message(model, output, [
      { type: 'thinking', thinking: '' },
      { type: 'text', text: visible },
    ]),
    stop_reason: 'end_turn',
  }),
};

function message(model: string, output: number, content: readonly object[]) {
  return {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model,
    content,
    stop_reason: null,
    stop_sequence: null,
    usage: { input_tokens: inputTokens, output_tokens: output },
  };
}

const responses: TimedFormat = {
  maxNames: ['max_output_tokens'],
  head: (model) =>
    named({ type: 'response.created', sequence_number: 0, response: response(model, 'in_progress', []) }),
  tail: (model, output) =>
    named({
      type: 'response.completed',
      sequence_number: 1,
      response: { ...response(model, 'completed', [messageItem]), usage: responseUsage(output) },
    }),
  plain: (model, output) => ({
    ...response(model, 'completed', [messageItem]),
    usage: responseUsage(output),
  }),
};

const messageItem = {
  id: 'item_1',
  type: 'message',
  role: 'assistant',
  status: 'completed',
  content: [{ type: 'output_text', text: visible, annotations: [] }],
};

function response(model: string, status: string, output: readonly object[]) {
  return { id: 'resp_1', object: 'response', created_at: 1, model, status, output };
}

function responseUsage(output: number) {
  return { input_tokens: inputTokens, output_tokens: output, total_tokens: inputTokens + output };
}

function formatOf(path: string): TimedFormat {
  return path.endsWith('/messages') ? messages : path.endsWith('/responses') ? responses : chat;
}

export async function startTimedProvider(): Promise<TimedProvider> {
  const provider = {
    url: '',
    perSecond: 300,
    hiddenTokens: 300,
    hasHead: true,
    noticesAfterMs: 0,
    requests: [] as TimedRequest[],
    bill: [] as (() => number)[],
    close: () => new Promise<void>((resolve) => server.close(() => resolve())),
  };

  function generate(path: string, body: TimedRequest, reply: ServerResponse): void {
    const format = formatOf(path);
    const { perSecond, hasHead, noticesAfterMs } = provider;
    const maxima = format.maxNames.map((name) => body[name]).filter((value) => typeof value === 'number');
    const most = Math.min(provider.hiddenTokens, ...maxima);
    const startedMs = performance.now();
    let endMs = Number.POSITIVE_INFINITY;
    provider.requests.push(body);
    provider.bill.push(() => {
      const ms = Math.min(performance.now(), endMs) - startedMs;
      return Math.min(most, Math.ceil((ms * perSecond) / 1_000));
    });
    const isStream = body.stream === true;
    if (isStream && hasHead) {
      reply.writeHead(200, { 'content-type': 'text/event-stream' });
      reply.write(format.head(body.model));
    }
    const timer = setTimeout(
      () => {
        if (!isStream) {
          reply.setHeader('content-type', 'application/json');
          reply.end(JSON.stringify(format.plain(body.model, most)));
          return;
        }
        if (!hasHead) {
          reply.writeHead(200, { 'content-type': 'text/event-stream' });
          reply.write(format.head(body.model));
        }
        reply.end(format.tail(body.model, most));
      },
      (most / perSecond) * 1_000,
    );
    reply.once('close', () => {
      endMs = performance.now() + noticesAfterMs;
      clearTimeout(timer);
    });
  }

  const server = createServer((request, reply) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.once('end', () =>
      generate(request.url ?? '', JSON.parse(Buffer.concat(parts).toString()), reply),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  provider.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return provider;
}
