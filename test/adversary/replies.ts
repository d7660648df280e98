/** Responses of the provider in each format: whole or streamed, with true usage or without any. */

import { awsEvent } from '../support/aws-frames.ts';
import { unitNanos } from './price-table.ts';
import { type AdversaryShape, isGemini } from './shapes.ts';
import { outputTokensOf, type UnderstoodCall } from './understood-call.ts';

/** `broken`: the connection is lost in the middle of the response. */
export type Delivery = 'whole' | 'without usage' | 'broken';

export interface Piece {
  readonly text: string | Buffer;
  /** Output tokens that this piece adds to what was generated. */
  readonly tokens: number;
}

/** A token of output has at least one byte: the worst case for an estimate from received text. */
const outputText = (tokens: number) => 'x'.repeat(tokens);

/** Chunks of the text of one choice. */
const chunksOfChoice = 4;

interface Output {
  readonly shown: number;
  readonly hidden: number;
}

function outputOf({ outputTokens, hidesReasoning }: UnderstoodCall): Output {
  const hidden = hidesReasoning ? Math.ceil(outputTokens / 2) : 0;
  return { shown: outputTokens - hidden, hidden };
}

export function plainReply(shape: AdversaryShape, call: UnderstoodCall, hasUsage: boolean): object {
  const usage = hasUsage && !call.isBackground ? usageOf(shape, call) : undefined;
  const { shown } = outputOf(call);
  const common = { id: 'reply_1', model: call.model.name, ...(usage !== undefined && { usage }) };
  switch (shape) {
    case 'converse':
      return {
        output: { message: { role: 'assistant', content: [{ text: outputText(shown) }] } },
        stopReason: 'max_tokens',
        metrics: { latencyMs: 1 },
        ...(usage !== undefined && { usage }),
        ...converseTier(call),
      };
    case 'gemini':
      return geminiReply(call, hasUsage, shown, 'MAX_TOKENS');
    case 'gemini_embeddings':
      return {
        embedding: { values: [0.5] },
        ...(hasUsage && { usageMetadata: usageOf(shape, call) }),
      };
    case 'vertex_embeddings':
      return {
        predictions: [
          {
            embeddings: {
              values: [0.5],
              ...(hasUsage && { statistics: { token_count: call.inputTokens } }),
            },
          },
        ],
      };
    case 'chat':
      return {
        ...common,
        object: 'chat.completion',
        ...tierOf(call),
        choices: Array.from({ length: call.choices }, (_, index) => ({
          index,
          message: { role: 'assistant', content: outputText(shown) },
          finish_reason: 'length',
        })),
      };
    case 'responses':
      return call.isBackground
        ? { ...common, object: 'response', status: 'queued', output: [], usage: null }
        : {
            ...common,
            object: 'response',
            ...tierOf(call),
            status: 'completed',
            output: itemsOf(call, shown),
          };
    case 'messages':
      return {
        ...common,
        type: 'message',
        role: 'assistant',
        content: [...toolBlocks(call), { type: 'text', text: outputText(shown) }],
        stop_reason: 'max_tokens',
      };
    case 'embeddings':
      return { ...common, object: 'list', data: [{ object: 'embedding', index: 0, embedding: [0.5] }] };
  }
}

/** OpenAI and Anthropic name the tier in every answer. */
function tierOf({ tier }: UnderstoodCall, usual = 'default'): object {
  return { service_tier: tier ?? usual };
}

/** A whole answer of Gemini, or a chunk with the usage so far. */
function geminiReply(call: UnderstoodCall, hasUsage: boolean, shown: number, finishReason?: string): object {
  const webSearchQueries = Array.from({ length: call.tool?.calls ?? 0 }, (_, index) => `query ${index}`);
  const grounding =
    call.tool?.unit === 'web_search'
      ? { webSearchQueries }
      : { groundingChunks: [{ maps: { uri: 'https://maps.invalid' } }] };
  const isGrounded = call.tool?.unit === 'web_search' || call.tool?.unit === 'maps_query';
  return {
    responseId: 'reply_1',
    modelVersion: call.model.name,
    candidates: Array.from({ length: call.choices }, (_, index) => ({
      index,
      content: { role: 'model', parts: [{ text: outputText(shown) }] },
      ...(finishReason !== undefined && { finishReason }),
      ...(isGrounded && { groundingMetadata: grounding }),
    })),
    ...(hasUsage && { usageMetadata: usageOf('gemini', call) }),
  };
}

function itemsOf(call: UnderstoodCall, shown: number): object[] {
  return [
    ...toolItems(call),
    { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: outputText(shown) }] },
  ];
}

/** Items of a response that show calls of tools. */
function toolItems({ tool }: UnderstoodCall): object[] {
  return Array.from({ length: tool?.calls ?? 0 }, (_, index) => ({
    type: `${tool?.unit}_call`,
    id: `call_${index}`,
    status: 'completed',
    ...(tool?.unit === 'web_search' && { action: { type: 'search' } }),
  }));
}

/** Blocks of a message that show calls of tools, as Anthropic does for all that it runs. */
function toolBlocks({ tool }: UnderstoodCall): object[] {
  return Array.from({ length: tool?.calls ?? 0 }, (_, index) => ({
    type: 'server_tool_use',
    id: `srvtoolu_${index}`,
    name: tool?.unit,
    input: {},
  }));
}

function usageOf(shape: AdversaryShape, call: UnderstoodCall): object {
  const { inputTokens, tier, isCachedForAnHour } = call;
  const outputTokens = outputTokensOf(call);
  switch (shape) {
    case 'gemini':
    case 'gemini_embeddings':
    case 'vertex_embeddings': {
      const { hidden } = outputOf(call);
      const thoughts = hidden * call.choices;
      return {
        promptTokenCount: inputTokens,
        candidatesTokenCount: outputTokens - thoughts,
        ...(thoughts > 0 && { thoughtsTokenCount: thoughts }),
        totalTokenCount: inputTokens + outputTokens,
        ...(tier !== undefined && { serviceTier: tier.toUpperCase() }),
      };
    }
    case 'converse': {
      const written = isCachedForAnHour && tier === undefined ? inputTokens : 0;
      return {
        inputTokens: inputTokens - written,
        outputTokens,
        totalTokens: inputTokens + outputTokens,
        ...(written > 0 && {
          cacheWriteInputTokens: written,
          cacheDetails: [{ ttl: '1h', inputTokens: written }],
        }),
      };
    }
    case 'embeddings':
      return { prompt_tokens: inputTokens, total_tokens: inputTokens };
    case 'chat':
      return {
        prompt_tokens: inputTokens,
        completion_tokens: outputTokens,
        total_tokens: inputTokens + outputTokens,
      };
    case 'responses':
      return { input_tokens: inputTokens, output_tokens: outputTokens };
    case 'messages': {
      const written = isCachedForAnHour && tier === undefined ? inputTokens : 0;
      return {
        input_tokens: inputTokens - written,
        ...(written > 0 && {
          cache_creation_input_tokens: written,
          cache_creation: { ephemeral_1h_input_tokens: written, ephemeral_5m_input_tokens: 0 },
        }),
        output_tokens: outputTokens,
        ...(call.tool?.unit === 'web_search' && {
          server_tool_use: { web_search_requests: call.tool.calls },
        }),
        ...(tier === 'fast' ? { speed: tier } : tierOf(call, 'standard')),
      };
    }
  }
}

/** True if the format can report everything that is billed. */
export function isReportable(shape: AdversaryShape, call: UnderstoodCall): boolean {
  const { unit = 'web_search' } = call.tool ?? {};
  const isShown = {
    chat: false,
    converse: false,
    embeddings: false,
    gemini: true,
    gemini_embeddings: false,
    vertex_embeddings: false,
    messages: unit === 'web_search',
    responses: unit in unitNanos,
  };
  return (
    (call.tool === undefined ? !call.mayHideTools : isShown[shape]) &&
    !call.isBackground &&
    (!call.isStream || call.includesUsage || isGemini(shape))
  );
}

export function streamedReply(shape: AdversaryShape, call: UnderstoodCall, hasUsage: boolean): Piece[] {
  switch (shape) {
    case 'messages':
      return streamedMessage(call, hasUsage);
    case 'responses':
      return streamedResponse(call, hasUsage);
    case 'gemini':
      return streamedGemini(call, hasUsage);
    case 'converse':
      return streamedConverse(call, hasUsage);
    default:
      return streamedChat(call, hasUsage);
  }
}

function event(data: object, tokens = 0): Piece {
  const { type } = data as { readonly type?: string };
  const head = type === undefined ? '' : `event: ${type}\n`;
  return { text: `${head}data: ${JSON.stringify(data)}\n\n`, tokens };
}

function chunksOf(shown: number): string[] {
  const size = Math.max(1, Math.ceil(shown / chunksOfChoice));
  const count = Math.ceil(shown / size);
  return Array.from({ length: count }, (_, index) => outputText(Math.min(size, shown - index * size)));
}

function streamedChat(call: UnderstoodCall, hasUsage: boolean): Piece[] {
  const { shown, hidden } = outputOf(call);
  const chunk = (choices: object[], tokens = 0, more: object = {}) =>
    event(
      {
        id: 'reply_1',
        object: 'chat.completion.chunk',
        model: call.model.name,
        ...tierOf(call),
        choices,
        ...more,
      },
      tokens,
    );
  const pieces: Piece[] = [];
  for (let index = 0; index < call.choices; index += 1) {
    pieces.push(chunk([{ index, delta: { role: 'assistant', content: '' } }], hidden));
    for (const content of chunksOf(shown)) {
      pieces.push(chunk([{ index, delta: { content } }], content.length));
    }
    pieces.push(chunk([{ index, delta: {}, finish_reason: 'length' }]));
  }
  if (hasUsage && call.includesUsage) {
    pieces.push(chunk([], 0, { usage: usageOf('chat', call) }));
  }
  return [...pieces, { text: 'data: [DONE]\n\n', tokens: call.rejectedTokens }];
}

/** Bedrock names the tier of a call that asks for one. */
function converseTier({ tier }: UnderstoodCall): object {
  return tier === undefined ? {} : { serviceTier: { type: tier } };
}

function streamedConverse(call: UnderstoodCall, hasUsage: boolean): Piece[] {
  const { shown, hidden } = outputOf(call);
  const frame = (type: string, payload: object, tokens = 0): Piece => ({
    text: awsEvent(type, payload),
    tokens,
  });
  const at = { contentBlockIndex: 0 };
  const usage = hasUsage ? { usage: usageOf('converse', call) } : {};
  return [
    frame('messageStart', { role: 'assistant' }, hidden),
    ...chunksOf(shown).map((text) => frame('contentBlockDelta', { ...at, delta: { text } }, text.length)),
    frame('contentBlockStop', at),
    frame('messageStop', { stopReason: 'max_tokens' }),
    frame('metadata', { metrics: { latencyMs: 1 }, ...usage, ...converseTier(call) }),
  ];
}

function streamedGemini(call: UnderstoodCall, hasUsage: boolean): Piece[] {
  const { shown, hidden } = outputOf(call);
  let generated = 0;
  const chunk = (tokens: number, length: number, finishReason?: string) => {
    generated += tokens;
    const sofar = { ...call, choices: 1, rejectedTokens: 0, outputTokens: generated };
    const { candidates } = geminiReply(call, false, length, finishReason) as { candidates: object[] };
    const usageMetadata = usageOf('gemini', { ...sofar, hidesReasoning: false });
    return event(
      {
        responseId: 'reply_1',
        modelVersion: call.model.name,
        candidates,
        ...(hasUsage && { usageMetadata }),
      },
      tokens,
    );
  };
  return [
    chunk(hidden * call.choices, 0),
    ...chunksOf(shown).map(({ length }) => chunk(length * call.choices, length)),
    chunk(0, 0, 'MAX_TOKENS'),
  ];
}

function streamedResponse(call: UnderstoodCall, hasUsage: boolean): Piece[] {
  const { shown, hidden } = outputOf(call);
  const response = { id: 'reply_1', object: 'response', model: call.model.name, ...tierOf(call) };
  const at = { item_id: 'msg_1', output_index: 0, content_index: 0 };
  const usage = hasUsage ? usageOf('responses', call) : null;
  return [
    event({ type: 'response.created', response: { ...response, status: 'in_progress' } }, hidden),
    ...toolItems(call).map((item) => event({ type: 'response.output_item.done', output_index: 0, item })),
    ...chunksOf(shown).map((delta) =>
      event({ type: 'response.output_text.delta', ...at, delta }, delta.length),
    ),
    event({
      type: 'response.completed',
      response: { ...response, status: 'completed', output: itemsOf(call, shown), usage },
    }),
  ];
}

function streamedMessage(call: UnderstoodCall, hasUsage: boolean): Piece[] {
  const { shown, hidden } = outputOf(call);
  const usage = usageOf('messages', call) as { readonly output_tokens: number };
  const message = { id: 'reply_1', type: 'message', role: 'assistant', model: call.model.name, content: [] };
  return [
    event(
      {
        type: 'message_start',
        message: {
          ...message,
          ...(hasUsage && { usage: { ...usage, output_tokens: Math.min(1, usage.output_tokens) } }),
        },
      },
      hidden,
    ),
    ...toolBlocks(call).flatMap((content_block, index) => [
      event({ type: 'content_block_start', index: index + 1, content_block }),
      event({ type: 'content_block_stop', index: index + 1 }),
    ]),
    event({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }),
    ...chunksOf(shown).map((text) =>
      event({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } }, text.length),
    ),
    event({ type: 'content_block_stop', index: 0 }),
    event({
      type: 'message_delta',
      delta: { stop_reason: 'max_tokens' },
      ...(hasUsage && { usage: { output_tokens: usage.output_tokens } }),
    }),
    event({ type: 'message_stop' }),
  ];
}
