/** Valid calls of each format: text, images, files, tools, structured outputs, reasoning and several turns. */

import { expensiveModelOf, usualModelOf } from './price-table.ts';
import { type AdversaryShape, hasModelInPath, isConverse, isEmbeddings, isGemini } from './shapes.ts';

export interface ValidCall {
  readonly name: string;
  readonly shape: AdversaryShape;
  readonly path: string;
  readonly body: Readonly<Record<string, unknown>>;
}

/** Formats that have the model in the path. */
type PathShape = 'gemini' | 'gemini_embeddings' | 'vertex_embeddings' | 'converse';

const isPathShape = (shape: AdversaryShape): shape is PathShape => hasModelInPath(shape);

const pathsOf: Readonly<Record<Exclude<AdversaryShape, PathShape>, string>> = {
  chat: '/openai/v1/chat/completions',
  responses: '/openai/v1/responses',
  embeddings: '/openai/v1/embeddings',
  messages: '/anthropic/v1/messages',
};

const vertexPlace = '/vertex/v1/projects/some-project/locations/us-central1/publishers/google';

/** Only the header of a PNG: enough for its size. */
export function pngOf(width: number, height: number): string {
  const bytes = Buffer.alloc(33);
  bytes.write('\u0089PNG\r\n\u001a\n', 0, 'latin1');
  bytes.writeUInt32BE(13, 8);
  bytes.write('IHDR', 12, 'latin1');
  bytes.writeUInt32BE(width, 16);
  bytes.writeUInt32BE(height, 20);
  return bytes.toString('base64');
}

const question = 'What does this text say about the harbour, and who wrote it?';
const png = pngOf(640, 480);
const weather = {
  type: 'object',
  properties: { city: { type: 'string', description: 'A city' }, days: { type: 'integer' } },
  required: ['city'],
};

const chatBodies: Readonly<Record<string, object>> = {
  text: {
    max_tokens: 60,
    messages: [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: question },
    ],
  },
  'completion maximum': { max_completion_tokens: 60, messages: [{ role: 'user', content: question }] },
  'no maximum': { messages: [{ role: 'user', content: question }] },
  choices: { max_tokens: 40, n: 2, messages: [{ role: 'user', content: question }] },
  image: {
    max_tokens: 60,
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: question },
          { type: 'image_url', image_url: { url: `data:image/png;base64,${png}`, detail: 'high' } },
        ],
      },
    ],
  },
  tools: {
    max_tokens: 60,
    messages: [
      { role: 'user', content: question },
      {
        role: 'assistant',
        content: null,
        tool_calls: [
          { id: 'call_1', type: 'function', function: { name: 'weather', arguments: '{"city":"Oslo"}' } },
        ],
      },
      { role: 'tool', tool_call_id: 'call_1', content: '{"degrees":4}' },
    ],
    tools: [
      { type: 'function', function: { name: 'weather', description: 'The weather', parameters: weather } },
    ],
  },
  'structured output': {
    max_tokens: 60,
    messages: [{ role: 'user', content: question }],
    response_format: { type: 'json_schema', json_schema: { name: 'weather', schema: weather } },
  },
  reasoning: {
    max_completion_tokens: 100,
    reasoning_effort: 'low',
    messages: [{ role: 'user', content: question }],
  },
  file: {
    max_tokens: 60,
    messages: [
      {
        role: 'user',
        content: [
          { type: 'file', file: { file_id: 'file_1' } },
          { type: 'text', text: question },
        ],
      },
    ],
  },
};

const responsesBodies: Readonly<Record<string, object>> = {
  text: { max_output_tokens: 60, instructions: 'Be brief.', input: question },
  'no maximum': { input: question },
  items: {
    max_output_tokens: 60,
    input: [
      { role: 'user', content: [{ type: 'input_text', text: question }] },
      { type: 'function_call', call_id: 'call_1', name: 'weather', arguments: '{"city":"Oslo"}' },
      { type: 'function_call_output', call_id: 'call_1', output: '{"degrees":4}' },
    ],
    tools: [{ type: 'function', name: 'weather', description: 'The weather', parameters: weather }],
  },
  image: {
    max_output_tokens: 60,
    input: [
      {
        role: 'user',
        content: [
          { type: 'input_text', text: question },
          { type: 'input_image', image_url: `data:image/png;base64,${png}`, detail: 'low' },
        ],
      },
    ],
  },
  'structured output': {
    max_output_tokens: 60,
    input: question,
    text: { format: { type: 'json_schema', name: 'weather', schema: weather } },
  },
  reasoning: { max_output_tokens: 100, input: question, reasoning: { effort: 'low' } },
  'earlier response': { max_output_tokens: 60, input: question, previous_response_id: 'resp_1' },
};

const messagesBodies: Readonly<Record<string, object>> = {
  text: { max_tokens: 60, system: 'Be brief.', messages: [{ role: 'user', content: question }] },
  image: {
    max_tokens: 60,
    messages: [
      {
        role: 'user',
        content: [
          { type: 'image', source: { type: 'base64', media_type: 'image/png', data: png } },
          { type: 'text', text: question },
        ],
      },
    ],
  },
  tools: {
    max_tokens: 60,
    tools: [{ name: 'weather', description: 'The weather', input_schema: weather }],
    messages: [
      { role: 'user', content: question },
      {
        role: 'assistant',
        content: [{ type: 'tool_use', id: 'toolu_1', name: 'weather', input: { city: 'Oslo' } }],
      },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: '4 degrees' }] },
    ],
  },
  thinking: {
    max_tokens: 1_500,
    thinking: { type: 'enabled', budget_tokens: 1_024 },
    messages: [{ role: 'user', content: question }],
  },
  cache: {
    max_tokens: 60,
    system: [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral', ttl: '1h' } }],
    messages: [{ role: 'user', content: question }],
  },
  file: {
    max_tokens: 60,
    messages: [
      {
        role: 'user',
        content: [
          { type: 'document', source: { type: 'file', file_id: 'file_1' } },
          { type: 'text', text: question },
        ],
      },
    ],
  },
};

const embeddingsBodies: Readonly<Record<string, object>> = {
  text: { input: question },
  texts: { input: [question, 'Another text.'] },
  tokens: { input: [791, 2362, 315, 279, 9395] },
};

const contents = [{ role: 'user', parts: [{ text: question }] }];

const geminiBodies: Readonly<Record<string, object>> = {
  text: {
    contents,
    systemInstruction: { parts: [{ text: 'Be brief.' }] },
    generationConfig: { maxOutputTokens: 60 },
  },
  'snake case': {
    contents,
    system_instruction: { parts: [{ text: 'Be brief.' }] },
    generation_config: { max_output_tokens: 60, top_k: 3 },
  },
  'no maximum': { contents },
  candidates: { contents, generationConfig: { maxOutputTokens: 40, candidateCount: 2 } },
  image: {
    contents: [
      { role: 'user', parts: [{ text: question }, { inlineData: { mimeType: 'image/png', data: png } }] },
    ],
    generationConfig: { maxOutputTokens: 60 },
  },
  tools: {
    contents: [
      ...contents,
      { role: 'model', parts: [{ functionCall: { name: 'weather', args: { city: 'Oslo' } } }] },
      { role: 'user', parts: [{ functionResponse: { name: 'weather', response: { degrees: 4 } } }] },
    ],
    tools: [{ functionDeclarations: [{ name: 'weather', description: 'The weather', parameters: weather }] }],
    generationConfig: { maxOutputTokens: 60 },
  },
  search: { contents, tools: [{ googleSearch: {} }], generationConfig: { maxOutputTokens: 60 } },
  'structured output': {
    contents,
    generationConfig: {
      maxOutputTokens: 60,
      responseMimeType: 'application/json',
      responseSchema: weather,
    },
  },
  thinking: {
    contents,
    generationConfig: { maxOutputTokens: 1_500, thinkingConfig: { thinkingBudget: 1_024 } },
  },
  file: {
    contents: [{ parts: [{ fileData: { fileUri: 'files/1' } }, { text: question }] }],
    generationConfig: { maxOutputTokens: 60 },
  },
  'cached content': { contents, cachedContent: 'caches/1', generationConfig: { maxOutputTokens: 60 } },
};

const geminiEmbeddingsBodies: Readonly<Record<string, object>> = {
  text: { content: { parts: [{ text: question }] } },
  batch: {
    requests: [question, 'Another text.'].map((text) => ({
      model: `models/${usualModelOf('gemini_embeddings')}`,
      content: { parts: [{ text }] },
    })),
  },
};

const vertexEmbeddingsBodies: Readonly<Record<string, object>> = {
  text: { instances: [{ content: question }] },
  texts: {
    instances: [question, 'Another text.'].map((content) => ({ content, task_type: 'CLUSTERING' })),
    parameters: { outputDimensionality: 256 },
  },
};

const turn = [{ role: 'user', content: [{ text: question }] }];

const converseBodies: Readonly<Record<string, object>> = {
  text: { messages: turn, system: [{ text: 'Be brief.' }], inferenceConfig: { maxTokens: 60 } },
  'no maximum': { messages: turn },
  image: {
    messages: [
      { role: 'user', content: [{ text: question }, { image: { format: 'png', source: { bytes: png } } }] },
    ],
    inferenceConfig: { maxTokens: 60 },
  },
  tools: {
    messages: [
      ...turn,
      {
        role: 'assistant',
        content: [{ toolUse: { toolUseId: 'a', name: 'weather', input: { city: 'Oslo' } } }],
      },
      { role: 'user', content: [{ toolResult: { toolUseId: 'a', content: [{ json: { degrees: 4 } }] } }] },
    ],
    toolConfig: {
      tools: [{ toolSpec: { name: 'weather', description: 'The weather', inputSchema: { json: weather } } }],
    },
    inferenceConfig: { maxTokens: 60 },
  },
  thinking: {
    messages: turn,
    inferenceConfig: { maxTokens: 1_500 },
    additionalModelRequestFields: { thinking: { type: 'enabled', budget_tokens: 1_024 } },
  },
  cache: {
    messages: turn,
    system: [{ text: 'Be brief.' }, { cachePoint: { type: 'default', ttl: '1h' } }],
    inferenceConfig: { maxTokens: 60 },
  },
  file: {
    messages: [
      {
        role: 'user',
        content: [
          { document: { format: 'pdf', name: 'a', source: { s3Location: { uri: 's3://a/b' } } } },
          { text: question },
        ],
      },
    ],
    inferenceConfig: { maxTokens: 60 },
  },
};

const bodies: Readonly<Record<AdversaryShape, Readonly<Record<string, object>>>> = {
  chat: chatBodies,
  responses: responsesBodies,
  messages: messagesBodies,
  embeddings: embeddingsBodies,
  gemini: geminiBodies,
  gemini_embeddings: geminiEmbeddingsBodies,
  vertex_embeddings: vertexEmbeddingsBodies,
  converse: converseBodies,
};

export const validCalls: readonly ValidCall[] = Object.entries(bodies).flatMap(([given, named]) => {
  const shape = given as AdversaryShape;
  return Object.entries(named).flatMap(([name, body]): ValidCall[] => {
    const title = `${shape}, ${name}`;
    if (isPathShape(shape)) {
      return pathsWithModel(shape, body).map((path) => ({
        name: `${title}, ${path}`,
        shape,
        path,
        body: { ...body },
      }));
    }
    const whole: ValidCall = {
      name: title,
      shape,
      path: pathsOf[shape],
      body: { model: usualModelOf(shape), ...body },
    };
    return shape === 'embeddings'
      ? [whole]
      : [whole, { ...whole, name: `${title}, streamed`, body: { ...whole.body, stream: true } }];
  });
});

function pathsWithModel(shape: PathShape, body: object): string[] {
  const model = `models/${usualModelOf(shape)}`;
  switch (shape) {
    case 'gemini':
      return [
        `/gemini/v1beta/${model}:generateContent`,
        `/gemini/v1beta/${model}:streamGenerateContent?alt=sse`,
        `${vertexPlace}/${model}:generateContent`,
      ];
    case 'gemini_embeddings':
      return 'requests' in body
        ? [`/gemini/v1beta/${model}:batchEmbedContents`]
        : [`/gemini/v1beta/${model}:embedContent`, `${vertexPlace}/${model}:embedContent`];
    case 'converse':
      return ['converse', 'converse-stream'].map(
        (method) => `/bedrock/model/${usualModelOf(shape)}/${method}`,
      );
    case 'vertex_embeddings':
      return [`${vertexPlace}/${model}:predict`];
  }
}

/** Members that would make a call more expensive, if a provider read them. */
export function costlyMembers(shape: AdversaryShape, payload: string): Readonly<Record<string, unknown>> {
  if (isGemini(shape)) {
    return costlyGeminiMembers(shape, payload);
  }
  if (isConverse(shape)) {
    return costlyConverseMembers(shape, payload);
  }
  const content = shape === 'chat' || shape === 'messages' ? 'messages' : 'input';
  const turn = [{ role: 'user', content: payload }];
  return {
    model: expensiveModelOf(shape),
    [content]: shape === 'embeddings' ? payload : turn,
    ...(shape !== 'embeddings' && {
      stream: true,
      tools: [{ type: 'web_search' }],
      service_tier: 'priority',
    }),
    ...(shape === 'chat' && {
      n: 6,
      max_tokens: 1_900,
      max_completion_tokens: 1_900,
      reasoning_effort: 'high',
      prediction: { type: 'content', content: payload },
      response_format: { type: 'json_schema', json_schema: { schema: { description: payload } } },
    }),
    ...(shape === 'responses' && {
      max_output_tokens: 1_900,
      instructions: payload,
      previous_response_id: 'resp_1',
      conversation: 'conv_1',
      background: true,
      prompt: { id: 'pmpt_1' },
      reasoning: { effort: 'high' },
    }),
    ...(shape === 'messages' && {
      max_tokens: 1_900,
      system: payload,
      speed: 'fast',
      thinking: { type: 'enabled', budget_tokens: 1_000 },
      mcp_servers: [{ type: 'url', url: 'https://tools.invalid', name: 'tools' }],
      container: 'container_1',
    }),
  };
}

function costlyConverseMembers(shape: AdversaryShape, payload: string): Readonly<Record<string, unknown>> {
  const content = [{ text: payload }];
  return {
    model: expensiveModelOf(shape),
    messages: [{ role: 'user', content }],
    system: content,
    toolConfig: { tools: [{ systemTool: { name: 'nova_grounding' } }] },
    serviceTier: { type: 'priority' },
    inferenceConfig: { maxTokens: 1_900 },
    additionalModelRequestFields: { max_tokens: 1_900, n: 6, thinking: { type: 'enabled' } },
    guardrailConfig: { guardrailIdentifier: 'a', guardrailVersion: '1' },
    performanceConfig: { latency: 'optimized' },
  };
}

function costlyGeminiMembers(shape: AdversaryShape, payload: string): Readonly<Record<string, unknown>> {
  const content = { parts: [{ text: payload }] };
  const model = `models/${expensiveModelOf(shape)}`;
  const routing = { manualMode: { modelName: expensiveModelOf(shape) } };
  if (shape === 'vertex_embeddings') {
    return { model, instances: [{ content: payload }], parameters: { autoTruncate: false } };
  }
  return isEmbeddings(shape)
    ? { model, content, requests: [{ model, content }], serviceTier: 'priority' }
    : {
        model,
        contents: [content],
        system_instruction: content,
        tools: [{ googleSearch: {} }],
        service_tier: 'priority',
        cached_content: 'caches/1',
        generationConfig: {
          maxOutputTokens: 1_900,
          candidateCount: 6,
          thinkingConfig: {},
          routingConfig: routing,
        },
        generation_config: { max_output_tokens: 1_900, response_schema: { description: payload } },
      };
}
