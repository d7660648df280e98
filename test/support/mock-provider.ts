/**
 * A model provider on loopback: the APIs of OpenAI, Anthropic, Google and Amazon Bedrock, plain and streamed, with faults on request, and a bill of its
 * own. The bill has what a real provider would charge: input when a request is accepted, output as it is generated.
 */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { finished } from 'node:stream/promises';
import { setImmediate } from 'node:timers/promises';
import { awsChunk, awsEvent } from './aws-frames.ts';

export interface BilledCall {
  readonly request: ReceivedRequest;
  readonly path: string;
  readonly model: string;
  readonly inputTokens: number;
  outputTokens: number;
  /** The part of a streamed response that was sent. */
  readonly chunks: Buffer[];
  /** True once the response was sent completely. */
  isComplete: boolean;
}

export interface ErrorResponse {
  readonly status: number;
  readonly retryAfter?: string;
  readonly body?: string;
  readonly contentType?: string;
}

export type Fault =
  | ErrorResponse
  /** Closes the connection without a response. */
  | 'reset'
  /** Generates and bills the whole answer, and sends nothing. */
  | 'silent'
  /** Closes the connection after this many chunks of a stream, or bytes of another response. */
  | { readonly cutAfter: number }
  /** Ends a stream after this many chunks with another one. */
  | { readonly endAfter: number; readonly with: string | Buffer };

export interface ToolCall {
  readonly name: string;
  /** As JSON. */
  readonly input: string;
}

export interface ReceivedRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  readonly text: string;
}

export interface MockProvider {
  readonly url: string;
  readonly requests: ReceivedRequest[];
  readonly bill: BilledCall[];
  /** Bytes of each response that was sent completely, in order. */
  readonly sent: Buffer[];
  /** Called for each request; undefined: no fault. */
  fault: ((request: ReceivedRequest, number: number) => Fault | undefined) | undefined;
  /** Number of output tokens of a response, at most the maximum of the request. */
  outputOf: (request: ReceivedRequest) => number;
  /** Output tokens of a reasoning that precedes the answer and is not shown. */
  hiddenTokens: number;
  /** The text of an output token. */
  wordOf: (index: number) => string;
  /** The model that responses name; undefined: that of the request. */
  reportedModel: string | undefined;
  /** Members that the usage of chats has besides. */
  usageMembers: object;
  /** False for embeddings of Google without usage, as of its older models. */
  reportsEmbeddings: boolean;
  /** The ids of responses end with it. */
  responseId: string;
  /** Output tokens in one chunk of a stream. */
  tokensPerChunk: number;
  /** Returns the tool that an answer calls; undefined: it is a text. By default each answer to a request with tools calls one. */
  toolOf: (body: Readonly<Record<string, unknown>>) => ToolCall | undefined;
  /** Waits before a response starts. Gets a promise that resolves when the client closes its connection. */
  beforeAnswer: ((closed: Promise<void>) => Promise<void>) | undefined;
  /** Waits before each chunk of a stream after the first. */
  beforeChunk: ((index: number, request: ReceivedRequest) => Promise<void>) | undefined;
  close(): Promise<void>;
}

export async function startMockProvider(): Promise<MockProvider> {
  let number = 0;
  const provider: MockProvider = {
    url: '',
    requests: [],
    bill: [],
    sent: [],
    fault: undefined,
    reportedModel: undefined,
    usageMembers: {},
    reportsEmbeddings: true,
    outputOf: () => 5,
    hiddenTokens: 0,
    toolOf: (body) =>
      Array.isArray(body.tools) || body.toolConfig !== undefined
        ? { name: 'lookup', input: '{"q":"x"}' }
        : undefined,
    wordOf: (index) => `tok${index % 10} `,
    responseId: '1',
    tokensPerChunk: 1,
    beforeAnswer: undefined,
    beforeChunk: undefined,
    async close() {
      server.closeAllConnections();
      server.close();
    },
  };
  // By default idle connections are closed after 5 s, which on a busy machine may be when the next call is sent.
  const server: Server = createServer({ keepAliveTimeout: 600_000 }, (request, response) => {
    void answer(provider, request, response, () => {
      number += 1;
      return number;
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return Object.assign(provider, { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
}

async function answer(
  provider: MockProvider,
  message: IncomingMessage,
  response: ServerResponse,
  next: () => number,
): Promise<void> {
  const parts: Buffer[] = [];
  for await (const part of message) {
    parts.push(part as Buffer);
  }
  const request: ReceivedRequest = {
    method: message.method ?? '',
    url: message.url ?? '',
    headers: message.headers,
    text: Buffer.concat(parts).toString('utf8'),
  };
  provider.requests.push(request);
  if (provider.beforeAnswer !== undefined) {
    // The response closes with its connection, which may carry many more requests.
    await provider.beforeAnswer(new Promise((resolve) => response.once('close', () => resolve())));
  }
  const fault = provider.fault?.(request, next());
  if (fault === 'reset') {
    message.socket.destroy();
    return;
  }
  if (typeof fault === 'object' && 'status' in fault) {
    const retry = fault.retryAfter === undefined ? {} : { 'retry-after': fault.retryAfter };
    const { contentType = 'application/json' } = fault;
    response.writeHead(fault.status, { 'content-type': contentType, ...retry });
    response.end(fault.body ?? JSON.stringify({ error: { message: 'fault', type: 'fault', code: 'fault' } }));
    return;
  }
  const path = request.url.split('?')[0] ?? '';
  if (request.method !== 'POST') {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(
      JSON.stringify({ id: path.split('/').at(-1), object: 'response', status: 'completed', output: [] }),
    );
    return;
  }
  const body = JSON.parse(request.text || '{}') as Record<string, unknown>;
  const respond = new Responder(provider, request, body, path, response, fault);
  await respond.run().catch(() => response.destroy());
}

/** The header of OpenAI and that of Anthropic. */
const requestIds = { 'x-request-id': 'req_mock', 'request-id': 'req_mock' };

/** A fault of a response that has started. */
type StreamFault = Exclude<Fault, 'reset' | ErrorResponse>;

class Responder {
  readonly #provider: MockProvider;
  readonly #body: Record<string, unknown>;
  readonly #path: string;
  /** The last segment of the path of a model at Bedrock. */
  readonly #method: string | undefined;
  readonly #response: ServerResponse;
  readonly #fault: StreamFault | undefined;
  readonly #call: BilledCall;
  readonly #hidden: number;
  readonly #output: number;
  readonly #tool: ToolCall | undefined;

  constructor(
    provider: MockProvider,
    request: ReceivedRequest,
    body: Record<string, unknown>,
    path: string,
    response: ServerResponse,
    fault: StreamFault | undefined,
  ) {
    this.#provider = provider;
    this.#body = body;
    this.#path = path;
    this.#method = /^(?:\/v1)?\/model\/[^/]+\/([a-z-]+)$/.exec(path)?.[1];
    this.#response = response;
    this.#fault = fault;
    const settings = (body.generationConfig ?? body.inferenceConfig ?? {}) as Readonly<
      Record<string, unknown>
    >;
    const max = Number(
      body.max_completion_tokens ??
        body.max_tokens ??
        body.max_output_tokens ??
        settings.maxOutputTokens ??
        settings.maxTokens ??
        1_000_000,
    );
    this.#hidden = Math.min(provider.hiddenTokens, max);
    this.#output = Math.min(provider.outputOf(request), max - this.#hidden);
    this.#tool = provider.toolOf(body);
    this.#call = {
      request,
      path,
      model: modelInPath(path) ?? String(body.model),
      inputTokens: wordsIn(
        body.messages ?? body.input ?? body.contents ?? body.content ?? body.requests ?? body.instances ?? '',
      ),
      outputTokens: 0,
      chunks: [],
      isComplete: false,
    };
  }

  /** True for Anthropic's API, and for the models of Anthropic at Google and Amazon. */
  get #isMessages(): boolean {
    return (
      /(\/messages|:(raw|streamRaw)Predict)$/.test(this.#path) || this.#method?.startsWith('invoke') === true
    );
  }

  get #model(): string {
    return this.#provider.reportedModel ?? this.#call.model;
  }

  async run(): Promise<void> {
    if (this.#path.endsWith(':countTokens')) {
      this.#json({ totalTokens: this.#call.inputTokens });
      return;
    }
    if (this.#method === 'count-tokens') {
      this.#json({ inputTokens: this.#call.inputTokens });
      return;
    }
    if (/(\/count_tokens|\/count-tokens:rawPredict)$/.test(this.#path)) {
      this.#json({ input_tokens: this.#call.inputTokens });
      return;
    }
    this.#provider.bill.push(this.#call);
    const isEmbedding = /[/:](embeddings|embedContent|batchEmbedContents|predict)$/.test(this.#path);
    this.#call.outputTokens = isEmbedding ? 0 : this.#hidden;
    if (this.#fault === 'silent') {
      this.#call.outputTokens += this.#output;
    } else if (isEmbedding) {
      this.#plain(this.#embeddings());
    } else if (this.#isStream) {
      await this.#stream();
    } else {
      this.#call.outputTokens += this.#output;
      this.#plain(
        this.#isMessages
          ? this.#message()
          : this.#path.endsWith('/responses')
            ? this.#responsesObject('completed')
            : this.#method === 'converse'
              ? this.#converse()
              : this.#path.endsWith(':generateContent')
                ? this.#geminiChunk(this.#geminiParts(this.#text()), 'STOP')
                : this.#completion(),
      );
    }
  }

  get #isStream(): boolean {
    return (
      this.#body.stream === true ||
      /:stream(GenerateContent|RawPredict)$/.test(this.#path) ||
      this.#method?.endsWith('-stream') === true
    );
  }

  #text(): string {
    return Array.from({ length: this.#output }, (_, index) => this.#provider.wordOf(index)).join('');
  }

  /** Yields the text of each chunk of a stream, which is billed as it is generated. */
  *#generated(): Generator<string> {
    const { tokensPerChunk, wordOf } = this.#provider;
    for (let index = 0; index < this.#output; index += tokensPerChunk) {
      const count = Math.min(tokensPerChunk, this.#output - index);
      this.#call.outputTokens += count;
      yield Array.from({ length: count }, (_, offset) => wordOf(index + offset)).join('');
    }
  }

  #plain(value: object): void {
    if (typeof this.#fault === 'object' && 'cutAfter' in this.#fault) {
      const bytes = Buffer.from(JSON.stringify(value));
      this.#response.writeHead(200, { 'content-type': 'application/json', 'content-length': bytes.length });
      this.#response.write(bytes.subarray(0, this.#fault.cutAfter), () => this.#response.destroy());
      return;
    }
    this.#call.isComplete = true;
    this.#json(value);
  }

  #json(value: object): void {
    const bytes = Buffer.from(JSON.stringify(value));
    this.#provider.sent.push(bytes);
    this.#response.writeHead(200, { 'content-type': 'application/json', ...requestIds });
    this.#response.end(bytes);
  }

  #chatUsage() {
    const { inputTokens, outputTokens } = this.#call;
    return {
      prompt_tokens: inputTokens,
      completion_tokens: outputTokens,
      total_tokens: inputTokens + outputTokens,
      prompt_tokens_details: { cached_tokens: 0 },
      completion_tokens_details: { reasoning_tokens: this.#hidden },
      ...this.#provider.usageMembers,
    };
  }

  #completion() {
    const message =
      this.#tool === undefined
        ? { role: 'assistant', content: this.#text() }
        : { role: 'assistant', content: null, tool_calls: [this.#chatToolCall(this.#tool.input)] };
    return {
      id: `chatcmpl-${this.#provider.responseId}`,
      object: 'chat.completion',
      created: 1,
      model: this.#model,
      choices: [{ index: 0, message, finish_reason: this.#tool ? 'tool_calls' : 'stop' }],
      usage: this.#chatUsage(),
    };
  }

  #chatToolCall(input: string) {
    return { id: 'call_1', type: 'function', function: { name: this.#tool?.name, arguments: input } };
  }

  #outputItem() {
    const content = [{ type: 'output_text', text: this.#text(), annotations: [] }];
    return this.#tool === undefined
      ? { type: 'message', id: 'msg_1', role: 'assistant', status: 'completed', content }
      : {
          type: 'function_call',
          id: 'fc_1',
          call_id: 'call_1',
          name: this.#tool.name,
          arguments: this.#tool.input,
        };
  }

  #responsesObject(status: string) {
    const { inputTokens, outputTokens } = this.#call;
    return {
      id: `resp_${this.#provider.responseId}`,
      object: 'response',
      created_at: 1,
      status,
      model: this.#model,
      output: status === 'completed' ? [this.#outputItem()] : [],
      usage:
        status === 'completed'
          ? {
              input_tokens: inputTokens,
              output_tokens: outputTokens,
              total_tokens: inputTokens + outputTokens,
              input_tokens_details: { cached_tokens: 0 },
              output_tokens_details: { reasoning_tokens: this.#hidden },
            }
          : null,
    };
  }

  #message() {
    const { inputTokens, outputTokens } = this.#call;
    const content =
      this.#tool === undefined
        ? [{ type: 'text', text: this.#text() }]
        : [{ type: 'tool_use', id: 'toolu_1', name: this.#tool.name, input: JSON.parse(this.#tool.input) }];
    return {
      id: `msg_${this.#provider.responseId}`,
      type: 'message',
      role: 'assistant',
      model: this.#model,
      content,
      stop_reason: this.#tool ? 'tool_use' : 'end_turn',
      stop_sequence: null,
      usage: { input_tokens: inputTokens, output_tokens: outputTokens },
    };
  }

  #embeddings() {
    if (this.#path.includes(':')) {
      return this.#geminiEmbeddings();
    }
    const inputs = Array.isArray(this.#body.input) ? this.#body.input : [this.#body.input];
    const vector = [0.5, 0.25];
    const embedding =
      this.#body.encoding_format === 'base64'
        ? Buffer.from(new Float32Array(vector).buffer).toString('base64')
        : vector;
    return {
      object: 'list',
      data: inputs.map((_, index) => ({ object: 'embedding', index, embedding })),
      model: this.#model,
      usage: { prompt_tokens: this.#call.inputTokens, total_tokens: this.#call.inputTokens },
    };
  }

  async #stream(): Promise<void> {
    const contentType =
      this.#method === undefined ? 'text/event-stream' : 'application/vnd.amazon.eventstream';
    this.#response.writeHead(200, { 'content-type': contentType, ...requestIds });
    if (this.#method === 'converse-stream') {
      await this.#streamConverse();
    } else if (this.#isMessages) {
      await this.#streamMessage();
    } else if (this.#path.endsWith('/responses')) {
      await this.#streamResponse();
    } else if (this.#path.endsWith(':streamGenerateContent')) {
      await this.#streamGemini();
    } else {
      await this.#streamChat();
    }
    this.#call.isComplete = true;
    this.#provider.sent.push(Buffer.concat(this.#call.chunks));
    this.#response.end();
  }

  async #write(text: string | Buffer): Promise<void> {
    const { chunks, request } = this.#call;
    await this.#failAt(chunks.length);
    if (chunks.length > 0) {
      await this.#provider.beforeChunk?.(chunks.length, request);
    }
    if (this.#response.destroyed) {
      throw new Error('the client has left');
    }
    const bytes = Buffer.from(text as string);
    chunks.push(bytes);
    if (!this.#response.write(bytes)) {
      await drained(this.#response);
    }
  }

  async #failAt(chunks: number): Promise<void> {
    const fault = typeof this.#fault === 'object' ? this.#fault : undefined;
    if (fault !== undefined && 'endAfter' in fault && chunks >= fault.endAfter) {
      const last = Buffer.from(fault.with as string);
      this.#call.chunks.push(last);
      this.#response.end(last);
      await finished(this.#response);
      throw new Error('failed');
    }
    if (fault !== undefined && 'cutAfter' in fault && chunks >= fault.cutAfter) {
      // Everything billed must have left the process: closing the connection drops what is still buffered.
      while (this.#response.writableLength > 0 && !this.#response.destroyed) {
        await setImmediate();
      }
      await setImmediate();
      throw new Error('cut');
    }
  }

  async #streamChat(): Promise<void> {
    const includeUsage = (this.#body.stream_options as { include_usage?: boolean } | undefined)
      ?.include_usage;
    const chunk = (choices: object[], usage?: object | null) =>
      this.#write(
        `data: ${JSON.stringify({ id: `chatcmpl-${this.#provider.responseId}`, object: 'chat.completion.chunk', created: 1, model: this.#model, choices, ...(includeUsage === true && { usage: usage ?? null }) })}\n\n`,
      );
    await chunk([{ index: 0, delta: { role: 'assistant', content: '' }, finish_reason: null }]);
    if (this.#tool !== undefined) {
      const call = { index: 0, ...this.#chatToolCall('') };
      await chunk([{ index: 0, delta: { tool_calls: [call] }, finish_reason: null }]);
      for (const piece of piecesOf(this.#tool.input)) {
        const part = { index: 0, function: { arguments: piece } };
        await chunk([{ index: 0, delta: { tool_calls: [part] }, finish_reason: null }]);
      }
      this.#call.outputTokens += this.#output;
    } else {
      for (const content of this.#generated()) {
        await chunk([{ index: 0, delta: { content }, finish_reason: null }]);
      }
    }
    await chunk([{ index: 0, delta: {}, finish_reason: this.#tool ? 'tool_calls' : 'stop' }]);
    if (includeUsage === true) {
      await chunk([], this.#chatUsage());
    }
    await this.#write('data: [DONE]\n\n');
  }

  async #streamResponse(): Promise<void> {
    let sequence = 0;
    const event = (type: string, fields: object) => {
      sequence += 1;
      return this.#write(
        `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: sequence, ...fields })}\n\n`,
      );
    };
    await event('response.created', { response: this.#responsesObject('in_progress') });
    const item = this.#outputItem();
    if (this.#tool === undefined) {
      const started = { ...item, status: 'in_progress', content: [] };
      await event('response.output_item.added', { output_index: 0, item: started });
      const part = { type: 'output_text', text: '', annotations: [] };
      const at = { item_id: 'msg_1', output_index: 0, content_index: 0 };
      await event('response.content_part.added', { ...at, part });
      for (const delta of this.#generated()) {
        await event('response.output_text.delta', { ...at, delta });
      }
      const text = this.#text();
      await event('response.output_text.done', { ...at, text });
      await event('response.content_part.done', { ...at, part: { ...part, text } });
    } else {
      this.#call.outputTokens += this.#output;
      await event('response.output_item.added', { output_index: 0, item: { ...item, arguments: '' } });
      const at = { item_id: 'fc_1', output_index: 0 };
      for (const delta of piecesOf(this.#tool.input)) {
        await event('response.function_call_arguments.delta', { ...at, delta });
      }
      await event('response.function_call_arguments.done', { ...at, arguments: this.#tool.input });
    }
    await event('response.output_item.done', { output_index: 0, item });
    await event('response.completed', { response: this.#responsesObject('completed') });
  }

  /** Each prediction counts its own tokens. */
  #predictions(instances: readonly unknown[]) {
    const { inputTokens } = this.#call;
    const others = instances.slice(1).map(wordsIn);
    const first = inputTokens - others.reduce((sum, words) => sum + words, 0);
    return {
      predictions: [first, ...others].map((token_count) => ({
        embeddings: {
          values: [0.5, 0.25],
          ...(this.#provider.reportsEmbeddings && { statistics: { token_count, truncated: false } }),
        },
      })),
      metadata: { billableCharacterCount: 100 },
    };
  }

  #geminiEmbeddings() {
    const { requests, instances } = this.#body;
    if (Array.isArray(instances)) {
      return this.#predictions(instances);
    }
    const embedding = { values: [0.5, 0.25] };
    const { inputTokens } = this.#call;
    const usageMetadata = this.#provider.reportsEmbeddings
      ? { promptTokenCount: inputTokens, totalTokenCount: inputTokens }
      : undefined;
    return Array.isArray(requests)
      ? { embeddings: requests.map(() => embedding), usageMetadata }
      : { embedding, usageMetadata };
  }

  #geminiParts(text: string): object[] {
    return this.#tool === undefined
      ? [{ text }]
      : [{ functionCall: { name: this.#tool.name, args: JSON.parse(this.#tool.input) } }];
  }

  /** A whole answer or a chunk of a stream, which has the usage so far. */
  #geminiChunk(parts: readonly object[], finishReason?: string) {
    const { inputTokens, outputTokens } = this.#call;
    return {
      candidates: [
        { content: { parts, role: 'model' }, index: 0, ...(finishReason !== undefined && { finishReason }) },
      ],
      usageMetadata: {
        promptTokenCount: inputTokens,
        candidatesTokenCount: outputTokens - this.#hidden,
        totalTokenCount: inputTokens + outputTokens,
        promptTokensDetails: [{ modality: 'TEXT', tokenCount: inputTokens }],
        ...(this.#hidden > 0 && { thoughtsTokenCount: this.#hidden }),
        ...this.#provider.usageMembers,
      },
      modelVersion: this.#model,
      responseId: `gemini-${this.#provider.responseId}`,
    };
  }

  async #streamGemini(): Promise<void> {
    const chunk = (parts: readonly object[], finishReason?: string) =>
      this.#write(`data: ${JSON.stringify(this.#geminiChunk(parts, finishReason))}\n\n`);
    await chunk([{ text: '' }]);
    if (this.#tool === undefined) {
      for (const text of this.#generated()) {
        await chunk([{ text }]);
      }
      await chunk([{ text: '' }], 'STOP');
    } else {
      this.#call.outputTokens += this.#output;
      await chunk(this.#geminiParts(''), 'STOP');
    }
  }

  #converseUsage() {
    const { inputTokens, outputTokens } = this.#call;
    return {
      inputTokens,
      outputTokens,
      totalTokens: inputTokens + outputTokens,
      ...this.#provider.usageMembers,
    };
  }

  #converse() {
    const content =
      this.#tool === undefined
        ? [{ text: this.#text() }]
        : [
            {
              toolUse: { toolUseId: 'tooluse_1', name: this.#tool.name, input: JSON.parse(this.#tool.input) },
            },
          ];
    return {
      output: { message: { role: 'assistant', content } },
      stopReason: this.#tool ? 'tool_use' : 'end_turn',
      usage: this.#converseUsage(),
      metrics: { latencyMs: 1 },
    };
  }

  async #streamConverse(): Promise<void> {
    const event = (type: string, payload: object) => this.#write(awsEvent(type, { ...payload, p: 'abcd' }));
    await event('messageStart', { role: 'assistant' });
    const at = { contentBlockIndex: 0 };
    if (this.#tool !== undefined) {
      this.#call.outputTokens += this.#output;
      const toolUse = { toolUseId: 'tooluse_1', name: this.#tool.name };
      await event('contentBlockStart', { ...at, start: { toolUse } });
      for (const input of piecesOf(this.#tool.input)) {
        await event('contentBlockDelta', { ...at, delta: { toolUse: { input } } });
      }
    } else {
      for (const text of this.#generated()) {
        await event('contentBlockDelta', { ...at, delta: { text } });
      }
    }
    await event('contentBlockStop', at);
    await event('messageStop', { stopReason: this.#tool ? 'tool_use' : 'end_turn' });
    await event('metadata', { usage: this.#converseUsage(), metrics: { latencyMs: 1 } });
  }

  async #streamMessage(): Promise<void> {
    const event = (type: string, fields: object) => {
      const data = JSON.stringify({ type, ...fields });
      return this.#write(this.#method === undefined ? `event: ${type}\ndata: ${data}\n\n` : awsChunk(data));
    };
    const { inputTokens } = this.#call;
    // Counts of a stream are cumulative, so the first is never above the last.
    const usage = { input_tokens: inputTokens, output_tokens: Math.min(1, this.#hidden + this.#output) };
    await event('message_start', {
      message: { ...this.#message(), content: [], stop_reason: null, usage },
    });
    const block =
      this.#tool === undefined
        ? { type: 'text', text: '' }
        : { type: 'tool_use', id: 'toolu_1', name: this.#tool.name, input: {} };
    await event('content_block_start', { index: 0, content_block: block });
    if (this.#tool !== undefined) {
      this.#call.outputTokens += this.#output;
      for (const piece of piecesOf(this.#tool.input)) {
        const delta = { type: 'input_json_delta', partial_json: piece };
        await event('content_block_delta', { index: 0, delta });
      }
    } else {
      for (const text of this.#generated()) {
        await event('content_block_delta', { index: 0, delta: { type: 'text_delta', text } });
      }
    }
    await event('content_block_stop', { index: 0 });
    await event('message_delta', {
      delta: { stop_reason: this.#tool ? 'tool_use' : 'end_turn', stop_sequence: null },
      usage: { output_tokens: this.#call.outputTokens },
    });
    await event('message_stop', {});
  }
}

/** The model in a path of the Gemini API or of Bedrock. */
function modelInPath(path: string): string | undefined {
  const [, model] = /\/models\/(.+):\w+$/.exec(path) ?? /\/model\/([^/]+)\/[a-z-]+$/.exec(path) ?? [];
  return model === undefined ? undefined : decodeURIComponent(model);
}

/** Resolves once more can be written, or the client has left. */
function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      response.off('drain', end).off('close', end);
      resolve();
    };
    response.on('drain', end).on('close', end);
  });
}

/** The arguments of a tool come in pieces, as from a real provider. */
function piecesOf(text: string): string[] {
  return text.match(/.{1,7}/gsu) ?? [];
}

function wordsIn(value: unknown): number {
  return (JSON.stringify(value).match(/[\w]+/g) ?? []).length;
}
