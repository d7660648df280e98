/** Errors of providers, and the kinds of connections that may charge for them, for the suite that all kinds run. */
import type { ConnectionKind } from '../../src/capabilities/integration/connections/index.ts';
import type { ErrorResponse } from './mock-provider.ts';

/** Longer than the gateway waits, so that the call is not tried again. */
const retryAfter = '3600';

export const providerErrors = {
  rejected: {
    status: 400,
    body: '{"error" : {"message":"No such thing.","type":"invalid_request_error"}}\n',
  },
  filtered: { status: 400, body: '{"error":{"message":"Filtered.","code":"content_filter"}}' },
  rateLimited: { status: 429, retryAfter, body: '{"error":{"message":"Later.","type":"rate_limit_error"}}' },
  failed: { status: 500, retryAfter, body: '{"error":{"message":"Sorry.","type":"server_error"}}' },
  overloaded: {
    status: 529,
    retryAfter,
    body: '{"type":"error","error":{"message":"Overloaded","type":"overloaded_error"}}',
  },
  lostByProxy: { status: 502, retryAfter, body: '<html><h1>502 Bad Gateway</h1></html>\r\n' },
} as const satisfies Record<string, ErrorResponse & { readonly body: string }>;

export type ProviderError = keyof typeof providerErrors;

/** The errors for which the provider may charge, because it may have generated an answer. */
export const chargedErrors: Readonly<Record<ConnectionKind, readonly ProviderError[]>> = {
  openai: ['lostByProxy'],
  anthropic: ['lostByProxy'],
  openai_compatible: ['failed', 'lostByProxy'],
  azure_openai: ['filtered', 'lostByProxy'],
  gemini: ['lostByProxy'],
  vertex: ['lostByProxy'],
  bedrock: ['failed', 'overloaded', 'lostByProxy'],
};
