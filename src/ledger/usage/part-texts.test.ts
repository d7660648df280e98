import { expect, test } from 'vitest';
import { type CostPart, sumOfParts, writeParts } from '../../kernel/cost-parts.ts';
import { sumOfTexts } from './part-texts.ts';

test('a text of many slices has the sum of its parts', async () => {
  const parts = Array.from({ length: 9_000 }, (_, index): CostPart => {
    const code = (['i', 'o', 'u:page', 'j'] as const)[index % 4] ?? 'i';
    return { code, quantity: BigInt(index), nanos: BigInt(index % 7) - 3n };
  });
  const text = writeParts(parts);
  expect(text.length).toBeGreaterThan(70_000);
  expect(await sumOfTexts(text)).toEqual(sumOfParts(parts));
  expect(await sumOfTexts('')).toEqual([]);
});
