/** The context that bounds the input of a call, the maximum that compatible providers get, and output that requests predict. */
import { expect, test } from 'vitest';
import { connectionTo } from '../../test/support/gateway-world.ts';
import type { ConnectionKind, GatewaySettings } from '../capabilities/integration/connections/index.ts';
import { callFormats, type FormatName } from '../kernel/providers/formats.ts';
import { workMemoryOf } from '../platform/http/message/body-memory.ts';
import type { Caller } from '../platform/http/routes/access.ts';
import { completed } from '../platform/sliced-work.ts';
import { CallMemory } from './body/call-memory.ts';
import { bodyOf } from './body-to-send.ts';
import { noCallTools } from './call-tools.ts';
import { requestHeaders } from './forward/provider-headers.ts';
import { parseCall, requireUtf8 } from './parse-call.ts';
import type { CallPlan } from './plan-call.ts';
import { planInput } from './plan-input.ts';

function parse(shape: FormatName, body: object) {
  return completed(
    parseCall(callFormats[shape], Buffer.from(JSON.stringify(body)), new CallMemory(workMemoryOf('org_1'))),
  );
}

function planned(
  shape: FormatName,
  body: object,
  kind: ConnectionKind = 'openai',
  betas = '',
  headers = {},
  settings: Partial<GatewaySettings> = {},
) {
  return planInput({
    orgId: 'org_1',
    caller: { keyId: 'key_1' } as Caller,
    call: parse(shape, { model: 'gpt-4o', ...body }),
    model: 'model' in body ? String(body.model) : 'gpt-4o',
    ratios: { of: () => 1, learn: () => undefined },
    settings: { unseenInputTokens: null, ...settings } as GatewaySettings,
    candidates: [connectionTo('http://provider', kind, { headers })],
    contextTokens: 1_000,
    maxOutputTokens: 700,
    betas,
    offersTools: false,
  });
}

const long = { messages: [{ role: 'user', content: 'A ship. '.repeat(5_000) }] };
const file = {
  messages: [{ role: 'user', content: [{ type: 'document', source: { type: 'url', url: 'https://a' } }] }],
};

test('the context bounds text that was seen only where the provider enforces it', () => {
  expect(planned('chat', long).passTokens).toBe(1_000);
  expect(planned('chat', long, 'azure_openai').passTokens).toBeGreaterThan(10_000);
  expect(planned('chat', long, 'openai_compatible').passTokens).toBeGreaterThan(10_000);
  expect(planned('embeddings', { input: ['A ship. '.repeat(5_000)] }).passTokens).toBeGreaterThan(10_000);
});

test.each([
  ['context-1m-2025-08-07,other', {}],
  ['', { 'anthropic-beta': 'context-1m-2025-08-07' }],
])('unseen input is held at the context that the header %j or %j requests', (betas, headers) => {
  const body = { max_tokens: 10, ...file };
  expect(planned('messages', body, 'anthropic').passTokens).toBe(1_000);
  expect(planned('messages', body, 'anthropic', betas, headers).passTokens).toBe(1_000_000);
});

test.each<[ConnectionKind, string, boolean]>([
  ['openai', 'gpt-4o', false],
  ['openai', 'gpt-4', true],
  ['openai', 'claude-sonnet-4-5', true],
  ['azure_openai', 'gpt-4o', true],
  ['openai_compatible', 'gpt-4o', true],
])('with `bytes`, text of %s for %s is held at its normalized bytes: %s', (kind, model, isHeldAtBytes) => {
  const bytesOf = (text: string) => {
    const body = { model, messages: [{ role: 'user', content: text }] };
    return planned('chat', body, kind, '', {}, { unknownTokenizer: 'bytes' }).passTokens;
  };
  expect(bytesOf('a'.repeat(800)) - bytesOf('')).toBe(isHeldAtBytes ? 800 : 100);
  expect(bytesOf('\u{fdfa}'.repeat(20)) - bytesOf('') >= 20 * 33).toBe(isHeldAtBytes);
});

test('predicted output counts for each answer', () => {
  const prediction = { type: 'content', content: 'A ship. '.repeat(500) };
  const { predictedTokens } = planned('chat', { messages: [], prediction });
  expect(predictedTokens).toBeGreaterThan(1_000);
  expect(planned('chat', { messages: [], prediction, n: 3 }).predictedTokens).toBe(predictedTokens * 3);
});

test.each<[FormatName, object, number]>([
  ['messages', { compaction: { type: 'summarize' } }, 700],
  ['messages', { context_management: { edits: [{ type: 'compact_20260112' }] } }, 700],
  ['messages', { context_management: { edits: [{ type: 'clear_tool_uses_20250919' }] } }, 0],
  ['responses', { context_management: [{ type: 'compaction' }] }, 700],
  ['responses', { input: [{ type: 'compaction_trigger' }] }, 700],
])('the summary of a compacted context counts besides the maximum: %s %j', (shape, body, expected) => {
  const { predictedTokens } = planned(shape, { messages: [], max_tokens: 10, ...body });
  expect(predictedTokens).toBe(expected);
});

test('reasoning that a compatible provider limits by a budget of its own counts for each answer', () => {
  const of = (body: object, kind: ConnectionKind) =>
    planned('chat', { messages: [], max_tokens: 1, ...body }, kind).predictedTokens;
  expect(of({ thinking_budget: 300, n: 2 }, 'openai_compatible')).toBe(600);
  expect(of({ thinking_budget: 300, enable_thinking: true }, 'openai_compatible')).toBe(300);
  expect(of({ thinking_budget: '300' }, 'openai_compatible')).toBe(700);
  expect(of({ enable_thinking: true }, 'openai_compatible')).toBe(700);
  expect(of({ enable_thinking: false }, 'openai_compatible')).toBe(0);
  expect(of({ thinking_budget: 300 }, 'openai')).toBe(0);
});

test('each of the unseen inputs of embeddings has a context of its own', () => {
  const input = Array.from({ length: 50 }, (_, index) => ({ image: `https://a/${index}` }));
  expect(planned('embeddings', { input }).passTokens).toBeGreaterThanOrEqual(50_000);
  expect(planned('embeddings', { images: input }).passTokens).toBeGreaterThanOrEqual(50_000);
  expect(planned('embeddings', { input: ['a', 'b'] }).passTokens).toBeLessThan(200);
});

test('headers that make a server behind the connection take a call for another one are not forwarded', () => {
  const given = {
    'x-http-method-override': 'DELETE',
    'x-original-url': '/v1/batches',
    'x-portkey-config': '{}',
    'cf-aig-max-attempts': '5',
    'helicone-fallbacks': '[]',
    'x-litellm-num-retries': '5',
    'anthropic-beta': 'a',
    'x-stainless-lang': 'js',
  };
  const sentHeaders = requestHeaders(given, connectionTo('http://provider'));
  expect(Object.keys(sentHeaders).sort()).toEqual(['accept-encoding', 'anthropic-beta', 'x-stainless-lang']);
});

function sent(model: string, body: object, kind: ConnectionKind) {
  const plan = {
    call: parse('chat', { model, messages: [], ...body }),
    model,
    tools: noCallTools,
  } as unknown as CallPlan;
  return JSON.parse(bodyOf(plan, connectionTo('http://provider', kind), 400).toString());
}

test('a compatible provider gets the maximum under the name that all of them know', () => {
  const body = { max_completion_tokens: 500 };
  expect(sent('llama-3', body, 'openai_compatible')).toEqual({
    model: 'llama-3',
    messages: [],
    max_tokens: 400,
  });
  for (const [model, kind] of [
    ['llama-3', 'openai'],
    ['openai/gpt-5-mini', 'openai_compatible'],
    ['o3', 'openai_compatible'],
  ] as const) {
    expect(sent(model, body, kind)).toEqual({ model, messages: [], max_completion_tokens: 400 });
  }
});

test('a maximum that is null, which is none for some providers, is set', () => {
  expect(sent('llama-3', { max_tokens: null, max_completion_tokens: 5 }, 'openai_compatible')).toMatchObject({
    max_tokens: 5,
  });
});

test('a maximum of 0, which is none for some providers, is rejected except by Anthropic', () => {
  expect(() => parse('chat', { model: 'a', messages: [], max_tokens: 0 })).toThrow('at least 1');
  expect(() => parse('responses', { model: 'a', input: 'a', max_output_tokens: 0 })).toThrow('at least 1');
  expect(parse('messages', { model: 'a', messages: [], max_tokens: 0 }).maxOutputTokens).toBe(0);
});

test('every name of the maximum is lowered, and the documented one is added', () => {
  expect(sent('llama-3', { max_new_tokens: 900 }, 'openai_compatible')).toEqual({
    model: 'llama-3',
    messages: [],
    max_tokens: 400,
    max_new_tokens: 400,
  });
});

test('a content type may name UTF-8 alone', () => {
  for (const type of [undefined, 'application/json', 'application/json; charset=UTF-8', 'text/plain']) {
    expect(() => requireUtf8(type)).not.toThrow();
  }
  for (const type of [
    'application/json; charset=iso-8859-1',
    'a/b;charset="utf-16le"',
    'a/b; charset=utf-8; charset=x',
  ]) {
    expect(() => requireUtf8(type)).toThrow(expect.objectContaining({ status: 400, code: 'invalid_header' }));
  }
});
