import { expect, test } from 'vitest';
import type { Credential } from '../../../../platform/cloud-credentials/credential.ts';
import { type ConnectionKind, kindOf } from './index.ts';

function headersOf(kind: ConnectionKind, credential: Credential, headers: Record<string, string> = {}) {
  kindOf({ kind }).authenticate(
    {
      connection: { baseUrl: 'https://api.example.com', region: undefined },
      method: 'POST',
      path: '/',
      headers,
      body: undefined,
      atMs: 0,
    },
    credential,
  );
  return headers;
}

const key = { type: 'key', key: 'a-key' } as const;
const token = { type: 'bearer', token: 'a-token' } as const;

test('a key is sent in the header of its provider, and a token as the documentation of the provider says', () => {
  expect(headersOf('openai', key)).toEqual({ authorization: 'Bearer a-key' });
  expect(headersOf('openai', token)).toEqual({ authorization: 'Bearer a-token' });
  expect(headersOf('azure_openai', key)).toEqual({ 'api-key': 'a-key' });
  expect(headersOf('azure_openai', token)).toEqual({ authorization: 'Bearer a-token' });
  expect(headersOf('anthropic', key)).toEqual({ 'x-api-key': 'a-key' });
  expect(headersOf('anthropic', token, { 'anthropic-beta': 'files-api' })).toEqual({
    authorization: 'Bearer a-token',
    'anthropic-beta': 'files-api,oauth-2025-04-20',
  });
});
