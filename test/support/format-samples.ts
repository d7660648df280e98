/** A request of each wire format, for the suites that all formats run. */
import { connectionKinds } from '../../src/capabilities/integration/connections/index.ts';
import type { CallFormat } from '../../src/kernel/providers/call-format.ts';
import { type Fields, fieldsOf } from '../../src/kernel/providers/fields.ts';
import type { FormatName } from '../../src/kernel/providers/formats.ts';

export interface FormatSample {
  /** Our path. */
  readonly path: string;
  /** Our path of a stream, if it is another one. */
  readonly streamPath?: string;
  /** The paths of the provider, if the path of the format is not the whole of them. */
  readonly providerPaths?: { readonly plain: string; readonly streamed: string };
  readonly model: string;
  readonly body: Fields;
  /** A tool of the client; undefined if requests offer none. */
  readonly tool: Fields | undefined;
  /** Members that request reasoning. */
  readonly reasoning: Fields;
  /** Events with which a provider ends a stream that has failed. */
  readonly failures: readonly Fields[];
  /** The object with the tools; undefined: the body. */
  readonly toolsIn?: string;
  /** True if responses name neither their id nor their model. */
  readonly isAnonymous?: true;
}

/** The account of the connection of Vertex AI. */
const vertexPlace = connectionKinds.vertex.account?.example ?? '';

const messages = [{ role: 'user', content: 'Say hello to the wörld' }];
const parameters = { type: 'object', properties: { q: { type: 'string' } } };

export const formatSamples: Readonly<Record<FormatName, FormatSample>> = {
  chat: {
    path: '/openai/v1/chat/completions',
    model: 'gpt-test',
    body: { model: 'gpt-test', messages },
    tool: { type: 'function', function: { name: 'lookup', parameters } },
    reasoning: { reasoning_effort: 'low' },
    failures: [{ error: { message: 'overloaded' } }],
  },
  responses: {
    path: '/openai/v1/responses',
    model: 'gpt-test',
    body: { model: 'gpt-test', input: 'Say hello to the wörld' },
    tool: { type: 'function', name: 'lookup', parameters, strict: false },
    reasoning: { reasoning: { effort: 'low' } },
    failures: [
      { type: 'response.failed', response: {} },
      { type: 'error', message: 'overloaded' },
    ],
  },
  embeddings: {
    path: '/openai/v1/embeddings',
    model: 'embed-test',
    body: { model: 'embed-test', input: ['one two', 'three'] },
    tool: undefined,
    reasoning: {},
    failures: [],
  },
  messages: {
    path: '/anthropic/v1/messages',
    model: 'claude-test',
    body: { model: 'claude-test', max_tokens: 50, messages },
    tool: { name: 'lookup', input_schema: parameters },
    reasoning: { thinking: { type: 'enabled', budget_tokens: 1_024 } },
    failures: [{ type: 'error', error: { type: 'overloaded_error' } }],
  },
  gemini: {
    path: '/gemini/v1beta/models/gemini-test:generateContent',
    streamPath: '/gemini/v1beta/models/gemini-test:streamGenerateContent?alt=sse',
    providerPaths: {
      plain: '/v1beta/models/gemini-test:generateContent',
      streamed: '/v1beta/models/gemini-test:streamGenerateContent?alt=sse',
    },
    model: 'gemini-test',
    body: { contents: [{ role: 'user', parts: [{ text: 'Say hello to the wörld' }] }] },
    tool: { functionDeclarations: [{ name: 'lookup', parameters }] },
    reasoning: { generationConfig: { thinkingConfig: { thinkingBudget: 1_024 } } },
    failures: [{ error: { code: 503, message: 'overloaded', status: 'UNAVAILABLE' } }],
  },
  converse: {
    path: '/bedrock/model/bedrock-test/converse',
    streamPath: '/bedrock/model/bedrock-test/converse-stream',
    providerPaths: {
      plain: '/model/bedrock-test/converse',
      streamed: '/model/bedrock-test/converse-stream',
    },
    model: 'bedrock-test',
    body: { messages: [{ role: 'user', content: [{ text: 'Say hello to the wörld' }] }] },
    tool: { toolSpec: { name: 'lookup', inputSchema: { json: parameters } } },
    toolsIn: 'toolConfig',
    reasoning: {
      additionalModelRequestFields: { thinking: { type: 'enabled', budget_tokens: 1_024 } },
    },
    failures: [{ throttlingException: { message: 'Too many tokens.' } }],
    isAnonymous: true,
  },
  gemini_embeddings: {
    path: '/gemini/v1beta/models/embed-test:embedContent',
    providerPaths: {
      plain: '/v1beta/models/embed-test:embedContent',
      streamed: '/v1beta/models/embed-test:embedContent',
    },
    model: 'embed-test',
    body: { content: { parts: [{ text: 'one two' }, { text: 'thrëe' }] }, taskType: 'RETRIEVAL_QUERY' },
    tool: undefined,
    reasoning: {},
    failures: [],
  },
  vertex_embeddings: {
    path: '/vertex/v1/projects/any/locations/any/publishers/google/models/embed-test:predict',
    providerPaths: {
      plain: `/v1${vertexPlace}/publishers/google/models/embed-test:predict`,
      streamed: `/v1${vertexPlace}/publishers/google/models/embed-test:predict`,
    },
    model: 'embed-test',
    body: {
      instances: [{ content: 'one two', task_type: 'RETRIEVAL_QUERY' }, { content: 'thrëe' }],
      parameters: { autoTruncate: true },
    },
    tool: undefined,
    reasoning: {},
    failures: [],
  },
};

/** Returns the body of a streamed request, with its usage. */
export function streamedBody({ body, streamPath }: FormatSample, requestsUsage: boolean): Fields {
  return streamPath === undefined
    ? { ...body, stream: true, ...(requestsUsage && { stream_options: { include_usage: true } }) }
    : body;
}

/** Returns the members that limit the output of a call. */
export function maximumOf({ request: { output } }: CallFormat, tokens: number): Fields {
  if (output === undefined) {
    return {};
  }
  const maximum = { [output.compatibleMaxName]: tokens };
  const [within] = output.within ?? [];
  return within === undefined ? maximum : { [within]: maximum };
}

/** Returns the members of both. Objects with settings of the output are merged. */
export function mergedMembers(one: Fields, other: Fields): Fields {
  const settings = ['generationConfig', 'inferenceConfig']
    .filter((name) => one[name] !== undefined && other[name] !== undefined)
    .map((name) => [name, { ...fieldsOf(one[name]), ...fieldsOf(other[name]) }]);
  return { ...one, ...other, ...Object.fromEntries(settings) };
}

/** Returns the members with which a request offers the tool of the client. */
export function offering({ tool, toolsIn }: FormatSample): Fields {
  return toolsIn === undefined ? { tools: [tool] } : { [toolsIn]: { tools: [tool] } };
}

/** Returns the error in the body of a response of any format. */
export function errorIn(body: unknown): Fields {
  const fields = fieldsOf(body);
  return fields.error === undefined ? fields : fieldsOf(fields.error);
}

/** Returns the code of Purser in an error of any format. */
export function codeIn(error: unknown): unknown {
  const { code, details } = fieldsOf(error);
  return Array.isArray(details) ? fieldsOf(details[0]).reason : code;
}
