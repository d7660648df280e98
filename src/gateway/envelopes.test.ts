import { expect, test } from 'vitest';
import { connectionTo } from '../../test/support/gateway-world.ts';
import type { Envelope } from '../capabilities/integration/connections/index.ts';
import { callFormats } from '../kernel/providers/formats.ts';
import { betasOf, envelopedBody, envelopedHeaders } from './envelopes.ts';

const { messages: format } = callFormats;
const sentIn: Envelope = {
  path: '/models/{model}:rawPredict',
  streamPath: '/models/{model}:streamRawPredict',
  removed: ['model', 'stream'],
  added: { anthropic_version: 'cloud-2023-10-16' },
  headers: { 'anthropic-version': '2023-06-01' },
  countTokens: undefined,
};
const direct = connectionTo('http://127.0.0.1', 'anthropic');
const body = Buffer.from('{"anthropic_version":"cloud-2023-10-16", "max_tokens":5,"anthropic_beta":["a"]}');

test('beta features of the header and of the body are one list', () => {
  expect(betasOf(format, 'a, b,', { anthropic_beta: ['b', 'c', 7] })).toEqual(['a', 'b', 'c']);
  expect(betasOf(callFormats.chat, 'a', {})).toEqual(['a']);
});

test('a call in an envelope has the body and the headers of its format at a connection without one', () => {
  const call = { format, sentIn, betas: ['a', 'b'], isStream: true };
  expect(JSON.parse(envelopedBody(body, direct, call).toString())).toEqual({ max_tokens: 5, stream: true });
  expect(envelopedHeaders({ 'content-type': 'application/json' }, direct, call)).toEqual({
    'content-type': 'application/json',
    'anthropic-version': '2023-06-01',
    'anthropic-beta': 'a,b',
  });
});

test('a call without an envelope is unchanged at a connection without one', () => {
  const call = { format, sentIn: undefined, betas: ['a'], isStream: false };
  const headers = { 'anthropic-beta': 'a' };
  expect(envelopedBody(body, direct, call)).toBe(body);
  expect(envelopedHeaders(headers, direct, call)).toBe(headers);
});
