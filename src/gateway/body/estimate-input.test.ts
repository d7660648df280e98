import { pino } from 'pino';
import { expect, test } from 'vitest';
import { estimatedInputTokens } from '../../kernel/providers/estimate-input.ts';
import type { Fields } from '../../kernel/providers/fields.ts';
import { callFormats, type FormatName } from '../../kernel/providers/formats.ts';
import { imageTokens } from '../../kernel/providers/image-tokens.ts';
import { familyOf } from '../../kernel/providers/model-family.ts';
import { createLearnedCounts } from '../learned/learned-counts.ts';
import { sizeOfBase64 } from './image-size.ts';
import { inputPartsOf } from './input-parts.ts';
import { createTokenRatios, safeRatio, safeRatioOfOthers } from './token-ratios.ts';

const rules = {
  ratio: 2.1,
  unseenTokens: 50_000,
  contextTokens: 128_000,
  isContextEnforced: true,
  hasTools: false,
};

const chatParts = (body: Fields, model: string) => inputPartsOf({ format: callFormats.chat, body }, model);

function png(width: number, height: number): string {
  const bytes = Buffer.alloc(24);
  bytes.writeUInt32BE(0x89504e47, 0);
  bytes.writeUInt32BE(width, 16);
  bytes.writeUInt32BE(height, 20);
  return bytes.toString('base64');
}

test('the text of every message and tool counts, and no more tokens than bytes', () => {
  const short = chatParts({ model: 'm', messages: [{ role: 'user', content: 'hi' }] }, 'm');
  const long = chatParts({ model: 'm', messages: [{ role: 'user', content: 'hi '.repeat(1_000) }] }, 'm');
  expect(long.textBytes - short.textBytes).toBe(2_998);
  expect(estimatedInputTokens(long, rules)).toBeGreaterThan(1_000);
  expect(estimatedInputTokens(long, { ...rules, ratio: 100 })).toBeLessThan(3_200);
  const tools = [{ type: 'function', function: { name: 'f', parameters: { type: 'object' } } }];
  expect(chatParts({ messages: [], tools }, 'm').textBytes).toBeGreaterThan(20);
});

test('content that cannot be seen counts as set, and never exceeds the context', () => {
  const document = { type: 'document', source: { type: 'url', url: 'https://x' } };
  const audio = { type: 'input_audio', input_audio: { data: 'AAAA' } };
  const unseen: readonly (readonly [FormatName, object])[] = [
    ['responses', { input: 'x', previous_response_id: 'resp_1' }],
    ['responses', { input: [{ role: 'user', content: [{ type: 'input_file', file_id: 'file_1' }] }] }],
    ['messages', { messages: [{ role: 'user', content: [document] }] }],
    ['responses', { input: 'x', prompt: { id: 'pmpt_1' } }],
    ['messages', { messages: [], tools: [{ type: 'web_search_20250305', name: 'web_search' }] }],
    ['chat', { messages: [{ role: 'user', content: [audio] }] }],
  ];
  for (const [shape, given] of unseen) {
    const body = given as Fields;
    const parts = inputPartsOf({ format: callFormats[shape], body }, 'gpt-5');
    expect([parts.hasUnseen, body]).toEqual([true, body]);
    expect(estimatedInputTokens(parts, rules)).toBeGreaterThanOrEqual(50_000);
    expect(estimatedInputTokens(parts, { ...rules, unseenTokens: 1_000_000 })).toBe(128_000);
  }
});

test('images count by the published formulas', () => {
  expect(imageTokens('gpt-4o', { width: 1_024, height: 1_024 }, 'high')).toBe(765);
  expect(imageTokens('gpt-4o', { width: 2_048, height: 4_096 }, 'high')).toBe(1_105);
  expect(imageTokens('gpt-4o', { width: 4_096, height: 8_192 }, 'low')).toBe(85);
  expect(imageTokens('gpt-4.1-mini', { width: 1_024, height: 1_024 }, 'high')).toBe(Math.ceil(1_024 * 1.62));
  expect(imageTokens('claude-sonnet-4-5', { width: 1_000, height: 1_000 }, 'high')).toBe(1_334);
  expect(imageTokens('gpt-4o', undefined, 'high')).toBe(85 + 170 * 8);
  const screen = { width: 3_840, height: 2_160 };
  const patches = 120 * 68;
  expect(imageTokens('gpt-5.1', screen, 'high')).toBe(70 + 140 * 6);
  expect(imageTokens('gpt-5.2', screen, 'high')).toBe(Math.ceil(1_536 * 1.2));
  expect(imageTokens('gpt-5.2', screen, 'original')).toBe(Math.ceil(patches * 1.2));
  expect(imageTokens('gpt-5.4-2026-03-05', screen, 'high')).toBe(3_000);
  expect(imageTokens('gpt-5.6', screen, 'high')).toBe(Math.ceil(patches * 1.2));
  expect(imageTokens('gpt-5.6', undefined, 'high')).toBe(36_000);
  expect(sizeOfBase64(png(640, 480))).toEqual({ width: 640, height: 480 });
  const content = [{ type: 'image_url', image_url: { url: `data:image/png;base64,${png(1_024, 1_024)}` } }];
  const parts = chatParts({ messages: [{ role: 'user', content }] }, 'gpt-4o');
  expect([parts.imageTokens, parts.hasUnseen]).toEqual([765, false]);
  expect(parts.textBytes).toBeLessThan(100);
});

const input = chatParts(
  { messages: [{ role: 'user', content: 'A sentence of plain prose. '.repeat(100) }] },
  'm',
);
const dense = chatParts({ messages: [{ role: 'user', content: 'x7Qz9Kp2'.repeat(200) }] }, 'm');

function inMemory() {
  return createTokenRatios(
    createLearnedCounts({ load: async () => [], merge: async () => [] }, pino({ level: 'silent' })),
  );
}

test('a ratio is learned from many calls of the same org and family only: the 99.9th percentile plus 5 %', () => {
  const ratios = inMemory();
  const claude = { orgId: 'org_1', keyId: 'key_1', model: 'claude-sonnet-4-5' };
  for (let call = 0; call < 999; call += 1) {
    ratios.learn(claude, input, input.textScore * 1.29);
  }
  expect(ratios.of(claude, input)).toBe(safeRatioOfOthers);
  ratios.learn(claude, input, input.textScore * 1.29);
  expect(ratios.of({ ...claude, model: 'anthropic/claude-opus-4-1' }, input)).toBeCloseTo(1.3 * 1.05, 5);
  expect(ratios.of({ ...claude, orgId: 'org_2' }, input)).toBe(safeRatioOfOthers);
  expect(ratios.of({ ...claude, model: 'llama-3.1-70b' }, input)).toBe(safeRatioOfOthers);
  expect(ratios.of({ ...claude, model: 'gpt-4o' }, input)).toBe(safeRatio);
  // One call in a thousand is the percentile; the second one is above it.
  ratios.learn(claude, input, input.textScore * 2.5);
  expect(ratios.of(claude, input)).toBeCloseTo(1.3 * 1.05, 5);
  ratios.learn(claude, input, input.textScore * 2.5);
  expect(ratios.of(claude, input)).toBeCloseTo(2.5 * 1.05, 5);
});

test('a key that sends text with few tokens lowers neither the estimates of other keys and texts, nor any below o200k', () => {
  const ratios = inMemory();
  const easy = { orgId: 'org_1', keyId: 'key_1', model: 'claude-sonnet-4-5' };
  for (let call = 0; call < 5_000; call += 1) {
    ratios.learn(easy, input, input.textScore * 0.3);
    ratios.learn({ ...easy, model: 'gpt-4o' }, input, input.textScore * 0.3);
  }
  expect(ratios.of(easy, input)).toBe(safeRatio);
  expect(ratios.of({ ...easy, model: 'gpt-4o' }, input)).toBe(safeRatio);
  // Another key, and text of another class.
  expect(ratios.of({ ...easy, keyId: 'key_2' }, input)).toBe(safeRatioOfOthers);
  expect(ratios.of(easy, dense)).toBe(safeRatioOfOthers);
  // Few calls of another key that need more decide, although they are a small part of all.
  for (let call = 0; call < 20; call += 1) {
    ratios.learn({ ...easy, keyId: 'key_2' }, input, input.textScore * 1.8);
  }
  expect(ratios.of(easy, input)).toBeCloseTo(1.8 * 1.05, 1);
});

test('what was learned from easy calls lowers no estimate below the floor of another text of the same class', () => {
  const ratios = inMemory();
  const subject = { orgId: 'org_1', keyId: 'key_1', model: 'claude-sonnet-4-5' };
  const estimateOf = (content: string, model: string) => {
    const parts = chatParts({ messages: [{ role: 'user', content }] }, model);
    const ratio = ratios.of({ ...subject, model }, parts);
    return { parts, tokens: estimatedInputTokens(parts, { ...rules, ratio }) };
  };
  const easy = 'И вот они все ещё были там, когда он вернулся. '.repeat(40);
  const hostile = 'ვაჭრებმა '.repeat(200);
  const { parts } = estimateOf(easy, subject.model);
  expect(estimateOf(hostile, subject.model).parts.textClass).toBe(parts.textClass);
  for (let call = 0; call < 2_000; call += 1) {
    ratios.learn(subject, parts, parts.textScore * 0.3);
  }
  expect(ratios.of(subject, parts)).toBe(safeRatio);
  // Tokenizers that do not know the script make up to one token of each byte.
  const ofHostile = estimateOf(hostile, subject.model);
  expect(ofHostile.tokens).toBeGreaterThan(Buffer.byteLength(hostile) * 0.7);
  expect(ofHostile.parts.textFloor).toBeGreaterThan(4 * ofHostile.parts.textScore);
  expect(estimateOf(hostile, 'gpt-5').parts.textFloor).toBe(0);
});

test('models that share a tokenizer are one family', () => {
  expect(
    ['openai/gpt-4o', 'gpt-4.1-mini', 'gpt-5', 'o3', 'gpt-4-turbo', 'text-embedding-3-small'].map(familyOf),
  ).toEqual(['o200k', 'o200k', 'o200k', 'o200k', 'cl100k', 'cl100k']);
  expect([familyOf('claude-3-5-haiku'), familyOf('llama-3.1-70b')]).toEqual(['claude', 'llama-3']);
});
