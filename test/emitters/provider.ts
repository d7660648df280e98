/**
 * A model provider on loopback with usage that uses every kind of token, and the receiver of the spans that programs send about their
 * calls to it. Answers are the same in each run.
 */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import type { BilledCall } from './recording.ts';

type Fields = Record<string, unknown>;

export interface Provider {
  readonly url: string;
  readonly billed: BilledCall[];
  /** The bodies of the requests of OTLP, in JSON. */
  readonly traces: Fields[];
  close(): Promise<void>;
}

export async function startProvider(): Promise<Provider> {
  const billed: BilledCall[] = [];
  const traces: Fields[] = [];
  const server = createServer((request, response) => {
    answer(request, response).catch((error: Error) => {
      response.writeHead(500, { 'content-type': 'application/json' }).end(JSON.stringify(`${error.message}`));
    });
  });

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = (request.url ?? '').split('?', 1)[0] as string;
    const body = (await json(request).catch(() => ({}))) as Fields;
    if (path.endsWith('/v1/traces')) {
      // Langfuse also sends its spans to a path of its own.
      traces.push(...(path === '/v1/traces' ? [body] : []));
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
      return;
    }
    const gemini = geminiPath.exec(path)?.groups;
    const reply = gemini === undefined ? replies[path] : generateContent;
    if (reply === undefined) {
      response.writeHead(404, { 'content-type': 'application/json' }).end('{}');
      return;
    }
    const { call, plain, events } = reply({ ...body, ...gemini }, billed.length + 1);
    billed.push(call);
    if (body.stream === true || gemini?.method === 'streamGenerateContent') {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end(events.map(eventText).join(''));
    } else {
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(plain));
    }
  }

  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    billed,
    traces,
    async close() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

function eventText(event: Fields | '[DONE]'): string {
  if (event === '[DONE]') {
    return 'data: [DONE]\n\n';
  }
  const name = typeof event.type === 'string' ? `event: ${event.type}\n` : '';
  return `${name}data: ${JSON.stringify(event)}\n\n`;
}

interface Answer {
  readonly call: BilledCall;
  readonly plain: Fields;
  readonly events: readonly (Fields | '[DONE]')[];
}

const created = 1_780_000_000;
const text = 'Hello to you';

/** A call whose request offers tools and has no result of one yet is answered with a call of the first tool. */
function calledTool(body: Fields): string | undefined {
  const [tool] = (body.tools ?? []) as { name?: string; function?: { name: string } }[];
  const hasResult = /"(tool|tool_result|function_call_output)"/.test(
    JSON.stringify(body.messages ?? body.input ?? ''),
  );
  return hasResult ? undefined : (tool?.name ?? tool?.function?.name);
}

const toolInput = JSON.stringify({ city: 'Paris' });

const replies: Readonly<Record<string, (body: Fields, number: number) => Answer>> = {
  '/v1/chat/completions': chat,
  '/v1/responses': responses,
  '/v1/embeddings': embeddings,
  '/v1/messages': messages,
};

/** Gemini has the model and the method in the path. */
const geminiPath = /^\/v1\w*\/models\/(?<model>[^:]+):(?<method>generateContent|streamGenerateContent)$/;

function chat(body: Fields, number: number): Answer {
  const model = String(body.model);
  const hasAudio = model.includes('audio');
  const usage = {
    prompt_tokens: 2_000 + number,
    completion_tokens: 400 + number,
    total_tokens: 2_400 + 2 * number,
    prompt_tokens_details: hasAudio
      ? { cached_tokens: 500, audio_tokens: 900 }
      : { cached_tokens: 600, audio_tokens: 0, cache_write_tokens: 300 },
    completion_tokens_details: hasAudio
      ? { audio_tokens: 250, reasoning_tokens: 0 }
      : { audio_tokens: 0, reasoning_tokens: 150 },
  };
  const tool = calledTool(body);
  const called = tool === undefined ? undefined : { name: tool, arguments: toolInput };
  const toolCalls = called && [{ index: 0, id: 'call_of_a_tool', type: 'function', function: called }];
  const finish = called === undefined ? 'stop' : 'tool_calls';
  const message = {
    role: 'assistant',
    content: called === undefined ? text : null,
    refusal: null,
    ...(toolCalls !== undefined && { tool_calls: toolCalls.map(({ index: _, ...rest }) => rest) }),
  };
  const head = { id: `chatcmpl-recorded-call-${number}`, created, model, service_tier: 'default' };
  const chunk = (delta: Fields, finish_reason: string | null, more: Fields = {}) => ({
    ...head,
    object: 'chat.completion.chunk',
    choices: [{ index: 0, delta, finish_reason }],
    usage: null,
    ...more,
  });
  const options = (body.stream_options ?? {}) as { include_usage?: boolean };
  return {
    call: { format: 'chat', model, usage, serviceTier: 'default' },
    plain: {
      ...head,
      object: 'chat.completion',
      choices: [{ index: 0, message, finish_reason: finish, logprobs: null }],
      usage,
    },
    events: [
      chunk({ role: 'assistant', content: '' }, null),
      chunk(toolCalls === undefined ? { content: text } : { tool_calls: toolCalls }, null),
      chunk({}, finish),
      ...(options.include_usage === true
        ? [{ ...head, object: 'chat.completion.chunk', choices: [], usage }]
        : []),
      '[DONE]',
    ],
  };
}

function responses(body: Fields, number: number): Answer {
  const model = String(body.model);
  const usage = {
    input_tokens: 3_000 + number,
    input_tokens_details: { cached_tokens: 700, cache_write_tokens: 200 },
    output_tokens: 500 + number,
    output_tokens_details: { reasoning_tokens: 350 },
    total_tokens: 3_500 + 2 * number,
  };
  const tool = calledTool(body);
  const item =
    tool === undefined
      ? {
          type: 'message',
          id: 'msg_of_a_recorded_call',
          status: 'completed',
          role: 'assistant',
          content: [{ type: 'output_text', text, annotations: [], logprobs: [] }],
        }
      : {
          type: 'function_call',
          id: 'fc_of_a_recorded_call',
          call_id: 'call_of_a_tool',
          name: tool,
          arguments: toolInput,
          status: 'completed',
        };
  const response = {
    id: `resp_recorded_call_${number}`,
    object: 'response',
    created_at: created,
    status: 'completed',
    model,
    output: [item],
    parallel_tool_calls: true,
    tool_choice: 'auto',
    tools: body.tools ?? [],
    service_tier: 'default',
    error: null,
    incomplete_details: null,
    instructions: null,
    metadata: {},
    temperature: 1,
    top_p: 1,
    text: { format: { type: 'text' } },
    usage,
  };
  const place = { item_id: item.id, output_index: 0 };
  const parts =
    tool === undefined
      ? [
          {
            type: 'response.content_part.added',
            ...place,
            content_index: 0,
            part: { type: 'output_text', text: '', annotations: [] },
          },
          { type: 'response.output_text.delta', ...place, content_index: 0, delta: text, logprobs: [] },
          { type: 'response.output_text.done', ...place, content_index: 0, text, logprobs: [] },
        ]
      : [{ type: 'response.function_call_arguments.delta', ...place, delta: toolInput }];
  const started = { ...response, status: 'in_progress', output: [], usage: null };
  const emptyItem =
    tool === undefined
      ? { ...item, status: 'in_progress', content: [] }
      : { ...item, status: 'in_progress', arguments: '' };
  const events = [
    { type: 'response.created', response: started },
    { type: 'response.output_item.added', output_index: 0, item: emptyItem },
    ...parts,
    { type: 'response.output_item.done', output_index: 0, item },
    { type: 'response.completed', response },
  ];
  return {
    call: { format: 'responses', model, usage, serviceTier: 'default' },
    plain: response,
    events: events.map((event, sequence_number) => ({ ...event, sequence_number })),
  };
}

function embeddings(body: Fields, number: number): Answer {
  const model = String(body.model);
  const usage = { prompt_tokens: 800 + number, total_tokens: 800 + number };
  const inputs = Array.isArray(body.input) ? body.input.length : 1;
  const vector = [0.5, 0.25];
  const embedding =
    body.encoding_format === 'base64'
      ? Buffer.from(new Float32Array(vector).buffer).toString('base64')
      : vector;
  return {
    call: { format: 'embeddings', model, usage },
    plain: {
      object: 'list',
      model,
      data: Array.from({ length: inputs }, (_, index) => ({ object: 'embedding', index, embedding })),
      usage,
    },
    events: [],
  };
}

function messages(body: Fields, number: number): Answer {
  const model = String(body.model);
  const usage = {
    input_tokens: 1_000 + number,
    cache_creation_input_tokens: 400,
    cache_read_input_tokens: 300,
    cache_creation: { ephemeral_5m_input_tokens: 250, ephemeral_1h_input_tokens: 150 },
    output_tokens: 200 + number,
    service_tier: 'standard',
  };
  const tool = calledTool(body);
  const block =
    tool === undefined
      ? { type: 'text', text }
      : { type: 'tool_use', id: 'toolu_of_a_recorded_call', name: tool, input: JSON.parse(toolInput) };
  const stop = tool === undefined ? 'end_turn' : 'tool_use';
  const head = { id: `msg_recorded_call_${number}`, type: 'message', role: 'assistant', model };
  return {
    call: { format: 'messages', model, usage },
    plain: { ...head, content: [block], stop_reason: stop, stop_sequence: null, usage },
    events: [
      {
        type: 'message_start',
        message: {
          ...head,
          content: [],
          stop_reason: null,
          stop_sequence: null,
          usage: { ...usage, output_tokens: 1 },
        },
      },
      {
        type: 'content_block_start',
        index: 0,
        content_block: tool === undefined ? { ...block, text: '' } : { ...block, input: {} },
      },
      {
        type: 'content_block_delta',
        index: 0,
        delta:
          tool === undefined
            ? { type: 'text_delta', text }
            : { type: 'input_json_delta', partial_json: toolInput },
      },
      { type: 'content_block_stop', index: 0 },
      {
        type: 'message_delta',
        delta: { stop_reason: stop, stop_sequence: null },
        usage: { output_tokens: usage.output_tokens },
      },
      { type: 'message_stop' },
    ],
  };
}

function generateContent(body: Fields, number: number): Answer {
  const model = String(body.model);
  const usage = {
    promptTokenCount: 1_500 + number,
    cachedContentTokenCount: 450,
    candidatesTokenCount: 200 + number,
    thoughtsTokenCount: 120,
    totalTokenCount: 1_820 + 2 * number,
    promptTokensDetails: [{ modality: 'TEXT', tokenCount: 1_500 + number }],
    cacheTokensDetails: [{ modality: 'TEXT', tokenCount: 450 }],
  };
  const head = { modelVersion: model, responseId: `gemini-recorded-call-${number}` };
  const candidate = (part: string, finishReason?: string) => ({
    content: { role: 'model', parts: [{ text: part }] },
    index: 0,
    ...(finishReason !== undefined && { finishReason }),
  });
  const soFar = { ...usage, candidatesTokenCount: 3, totalTokenCount: 1_623 + number };
  return {
    call: { format: 'generate_content', model, usage },
    plain: { ...head, candidates: [candidate(text, 'STOP')], usageMetadata: usage },
    events: [
      { ...head, candidates: [candidate('Hello ')], usageMetadata: soFar },
      { ...head, candidates: [candidate('to you', 'STOP')], usageMetadata: usage },
    ],
  };
}
