/** The estimate of the input against o200k, the tokenizer of OpenAI's current models. */
import { expect, test } from 'vitest';
import {
  hostileTexts,
  ordinaryTexts,
  type SampleText,
  specialTexts,
} from '../../../test/support/estimate-texts.ts';
import { o200kTokens } from '../../../test/support/o200k.ts';
import type { CallFormat } from '../../kernel/providers/call-format.ts';
import { estimatedInputTokens } from '../../kernel/providers/estimate-input.ts';
import type { Fields } from '../../kernel/providers/fields.ts';
import { callFormats, type FormatName } from '../../kernel/providers/formats.ts';
import { inputPartsOf } from './input-parts.ts';
import { textScore } from './text-score.ts';
import { safeRatio } from './token-ratios.ts';

const ordinary = ordinaryTexts(21, 2_000);
const hostile = hostileTexts(22, 1_000);
const texts = [...ordinary, ...hostile, ...specialTexts];

const counted = new Map<string, number>();

function tokensOf(text: string): number {
  const tokens = counted.get(text) ?? o200kTokens(text);
  counted.set(text, tokens);
  return tokens;
}

/** The estimate of a text alone, without the tokens around messages. */
function estimateOf(text: string): number {
  const { bytes, score } = textScore(text);
  return Math.min(bytes, Math.ceil(score * safeRatio));
}

test('the estimate is never below the tokens of o200k, for any of 3,000 texts', () => {
  const below = texts
    .map(({ kind, text }) => ({ kind, text, estimate: estimateOf(text), tokens: tokensOf(text) }))
    .filter(({ estimate, tokens }) => estimate < tokens);
  expect(texts.length).toBeGreaterThanOrEqual(3_000);
  expect(below).toEqual([]);
});

test('the estimate is the number of tokens, for every kind of text that users send', () => {
  const above = ordinary
    .map(({ kind, text }) => ({ kind, text, estimate: estimateOf(text), tokens: tokensOf(text) }))
    .filter(({ estimate, tokens }) => estimate !== tokens);
  expect(new Set(ordinary.map(({ kind }) => kind)).size).toBeGreaterThanOrEqual(20);
  expect(above).toEqual([]);
});

/** A request, and the texts that its provider reads. OpenAI adds about 4 tokens per message and 12 per tool. */
interface SampleBody {
  readonly shape: string;
  readonly body: Fields;
  readonly read: readonly string[];
  readonly framing: number;
}

function bodiesOf([one, two, three]: readonly SampleText[]): SampleBody[] {
  const [a = '', b = '', c = ''] = [one?.text, two?.text, three?.text];
  const schema = {
    type: 'object',
    properties: {
      query: { type: 'string', description: c },
      file_id: { type: 'string', enum: ['a', 'b'] },
      data: { type: 'array', items: { type: 'number' } },
    },
    required: ['query'],
  };
  const input = { query: b, data: [1.5, 123_456_789, -0.000_12], container: { file_id: c, text: a } };
  const tool = { name: 'search_documents', description: a, parameters: schema };
  const schemaText = JSON.stringify(schema);
  return [
    {
      shape: 'chat',
      body: {
        model: 'gpt-4o',
        messages: [
          { role: 'system', content: a },
          { role: 'user', name: 'amy', content: [{ type: 'text', text: b }] },
          { role: 'assistant', content: c },
        ],
      },
      read: ['system', a, 'user', 'amy', b, 'assistant', c],
      framing: 3 * 4 + 3,
    },
    {
      shape: 'chat with tools',
      body: {
        model: 'gpt-4o',
        messages: [
          { role: 'user', content: b },
          {
            role: 'assistant',
            content: null,
            tool_calls: [
              { id: 'call_1', type: 'function', function: { name: 'search_documents', arguments: c } },
            ],
          },
          { role: 'tool', tool_call_id: 'call_1', content: a },
        ],
        tools: [{ type: 'function', function: tool }],
      },
      read: ['user', b, 'assistant', 'search_documents', c, 'tool', a, tool.name, a, schemaText],
      framing: 3 * 4 + 3 + 12,
    },
    {
      shape: 'responses',
      body: {
        model: 'gpt-5',
        instructions: a,
        input: [
          { role: 'user', content: [{ type: 'input_text', text: b }] },
          { type: 'function_call', call_id: 'call_1', name: 'search_documents', arguments: c },
          { type: 'function_call_output', call_id: 'call_1', output: a },
        ],
        tools: [{ type: 'function', ...tool, strict: true }],
        text: { format: { type: 'json_schema', name: 'answer', schema } },
      },
      read: [a, 'user', b, 'search_documents', c, a, tool.name, a, schemaText, 'answer', schemaText],
      framing: 4 * 4 + 3 + 24,
    },
    {
      shape: 'messages',
      body: {
        model: 'claude-sonnet-4-5',
        system: [{ type: 'text', text: a, cache_control: { type: 'ephemeral' } }],
        messages: [
          { role: 'user', content: b },
          { role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_1', name: 'lookup', input }] },
          { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: c }] },
        ],
        tools: [{ name: 'lookup', description: b, input_schema: schema }],
      },
      read: [a, 'user', b, 'assistant', 'lookup', JSON.stringify(input), 'user', c, 'lookup', b, schemaText],
      framing: 4 * 4 + 3 + 350,
    },
  ];
}

const rules = { ratio: safeRatio, unseenTokens: 0, contextTokens: undefined, isContextEnforced: false };

test('the estimate of whole requests of every shape covers all that the provider reads, at most twice on average', () => {
  const ratios: number[] = [];
  for (let first = 0; first + 2 < texts.length; first += 9) {
    for (const { shape, body, read, framing } of bodiesOf(texts.slice(first, first + 3))) {
      const tokens = read.reduce((sum, text) => sum + tokensOf(text), framing);
      const input = inputPartsOf({ format: formatOf(shape), body }, String(body.model));
      const estimate = estimatedInputTokens(input, { ...rules, hasTools: 'tools' in body });
      expect([shape, first, input.hasUnseen, estimate >= tokens]).toEqual([shape, first, false, true]);
      ratios.push(estimate / tokens);
    }
  }
  expect(meanOf(ratios)).toBeLessThan(2);
});

test('names of fields mean nothing in the arguments and schemas of tools', () => {
  const text = 'a sentence that has to be counted. '.repeat(100);
  for (const names of ['data', 'file_id', 'container', 'encrypted_content', 'type']) {
    const body = {
      messages: [{ role: 'assistant', content: [{ type: 'tool_use', input: { [names]: { image: text } } }] }],
    };
    const { hasUnseen, textScore: score } = inputPartsOf(
      { format: callFormats.messages, body },
      'claude-sonnet-4-5',
    );
    expect([names, hasUnseen]).toEqual([names, false]);
    expect(score).toBeGreaterThanOrEqual(o200kTokens(text));
  }
});

/** Returns the format of a kind of request: `chat with tools` is a chat. */
function formatOf(kind: string): CallFormat {
  return callFormats[kind.split(' ')[0] as FormatName];
}

function meanOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
