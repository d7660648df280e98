/** Sums long texts of parts in slices, between which other work has its turn. */
import { addParts, type CostParts, type PartSums, partsOfSums, readParts } from '../../kernel/cost-parts.ts';
import { createYielder } from '../../platform/jobs/yielder.ts';

const sliceCharacters = 16_384;

export async function sumOfTexts(text: string): Promise<CostParts> {
  const sums: PartSums = new Map();
  const yielder = createYielder();
  for (let from = 0; from < text.length; ) {
    const to = text.indexOf(';', from + sliceCharacters) + 1 || text.length;
    addParts(sums, readParts(text.slice(from, to)));
    from = to;
    await yielder.yieldIfDue();
  }
  return partsOfSums(sums);
}
