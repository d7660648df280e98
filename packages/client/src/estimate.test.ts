import { expect, test } from 'vitest';
import { callFormats } from '../../../src/kernel/providers/formats.ts';
import { hostileTexts, ordinaryTexts } from '../../../test/support/estimate-texts.ts';
import { o200kTokens } from '../../../test/support/o200k.ts';
import { estimateInput, utf8Length } from './estimate.ts';

const bodyOf = (text: string) => ({ model: 'gpt-4o', messages: [{ role: 'user', content: text }] });

test('the estimate of ordinary texts is an upper bound of their tokens, and less than four times as many', () => {
  const texts = ordinaryTexts(1, 300);
  let [estimated, counted] = [0, 0];
  for (const { kind, text } of texts) {
    const tokens = o200kTokens(text);
    const estimate = estimateInput(callFormats.chat, bodyOf(text), 'gpt-4o', 0);
    expect(estimate, `${kind}: ${text.slice(0, 80)}`).toBeGreaterThanOrEqual(tokens);
    estimated += estimate;
    counted += tokens;
  }
  expect(estimated).toBeLessThan(4 * counted);
});

test('no estimate exceeds the bytes of a text, and its frame', () => {
  for (const { text } of hostileTexts(1, 100)) {
    expect(utf8Length(text)).toBe(Buffer.byteLength(text));
    expect(estimateInput(callFormats.chat, bodyOf(text), 'claude-test', 0)).toBeLessThanOrEqual(
      Buffer.byteLength(text) + 200,
    );
  }
});

test('what a request only refers to counts as much as the option says, and data of images not as text', () => {
  const referring = { model: 'gpt-4o', input: 'x', previous_response_id: 'resp_1' };
  expect(estimateInput(callFormats.responses, referring, 'gpt-4o', 5_000)).toBeGreaterThan(5_000);
  const image = { type: 'image_url', image_url: { url: `data:image/png;base64,${'A'.repeat(1_000_000)}` } };
  const body = { model: 'gpt-4o', messages: [{ role: 'user', content: [image] }] };
  expect(estimateInput(callFormats.chat, body, 'gpt-4o', 0)).toBeLessThan(2_000);
});
