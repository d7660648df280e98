/** A request of each wire format, for the suites that all formats run. */
import type { Fields } from '../../src/kernel/providers/fields.ts';
import type { FormatName } from '../../src/kernel/providers/formats.ts';

export interface FormatSample {
  /** Our path. */
  readonly path: string;
  readonly body: Fields;
  /** A tool of the client; undefined if requests offer none. */
  readonly tool: Fields | undefined;
  /** Members that request reasoning. */
  readonly reasoning: Fields;
  /** Events with which a provider ends a stream that has failed. */
  readonly failures: readonly Fields[];
}

const messages = [{ role: 'user', content: 'Say hello to the wörld' }];
const parameters = { type: 'object', properties: { q: { type: 'string' } } };

export const formatSamples: Readonly<Record<FormatName, FormatSample>> = {
  chat: {
    path: '/openai/v1/chat/completions',
    body: { model: 'gpt-test', messages },
    tool: { type: 'function', function: { name: 'lookup', parameters } },
    reasoning: { reasoning_effort: 'low' },
    failures: [{ error: { message: 'overloaded' } }],
  },
  responses: {
    path: '/openai/v1/responses',
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
    body: { model: 'embed-test', input: ['one two', 'three'] },
    tool: undefined,
    reasoning: {},
    failures: [],
  },
  messages: {
    path: '/anthropic/v1/messages',
    body: { model: 'claude-test', max_tokens: 50, messages },
    tool: { name: 'lookup', input_schema: parameters },
    reasoning: { thinking: { type: 'enabled', budget_tokens: 1_024 } },
    failures: [{ type: 'error', error: { type: 'overloaded_error' } }],
  },
};

/** Returns the body of a streamed request, with its usage. */
export function streamedBody({ body }: FormatSample, requestsUsage: boolean): object {
  return { ...body, stream: true, ...(requestsUsage && { stream_options: { include_usage: true } }) };
}
