import { expect, test } from 'vitest';
import { Random } from '../../../../test/support/ledger-values.ts';
import { type Block, blocksOf, type Criteria, formBlocks, type WaitingOrg } from './blocks.ts';

const floor = 5;
const all: Criteria = { industry: null, sizeBand: null };
const candidate = (orgId: string, industry: string | null, sizeBand: string | null): WaitingOrg => ({
  orgId,
  industry,
  sizeBand,
});
const several = (prefix: string, times: number, industry: string | null, sizeBand: string | null) =>
  Array.from({ length: times }, (_, i) => candidate(`${prefix}${i}`, industry, sizeBand));
const sizes = (blocks: readonly Block[]) =>
  blocks.map(({ industry, sizeBand, orgIds }) => [industry, sizeBand, orgIds.length]);

test('groups the most similar orgs', () => {
  const candidates = [
    ...several('a', 11, 'retail', 'small'),
    ...several('b', 3, 'retail', 'large'),
    ...several('c', 2, 'retail', 'medium'),
    ...several('d', 4, 'media', 'large'),
    ...several('e', 1, 'health', 'large'),
    ...several('f', 4, 'games', null),
  ];
  expect(sizes(formBlocks(candidates, all, floor))).toEqual([
    ['retail', 'small', 6],
    ['retail', 'small', 5],
    ['retail', null, 5],
    [null, 'large', 5],
  ]);
  // Only matching orgs form blocks, and no wider level is used.
  expect(sizes(formBlocks(candidates, { industry: 'retail', sizeBand: 'large' }, floor))).toEqual([]);
  expect(sizes(formBlocks(candidates, { industry: null, sizeBand: 'large' }, floor))).toEqual([
    [null, 'large', 8],
  ]);
});

test('orgs that are too few for a block wait', () => {
  expect(formBlocks(several('a', 4, 'retail', 'small'), all, floor)).toEqual([]);
});

/**
 * Returns the size of each group of orgs that appear in exactly the same responses. No difference of responses can
 * isolate a smaller group.
 */
function isolated(answers: readonly ReadonlySet<string>[]): number[] {
  const groups = new Map<string, number>();
  for (const orgId of new Set(answers.flatMap((answer) => [...answer]))) {
    const signature = answers.map((answer) => (answer.has(orgId) ? '1' : '0')).join('');
    groups.set(signature, (groups.get(signature) ?? 0) + 1);
  }
  return [...groups.values()];
}

test('no combination of responses of a week isolates fewer orgs than the minimum', () => {
  const industries = ['retail', 'media', null];
  const bands = ['small', 'large', null];
  const cohorts: Criteria[] = industries.flatMap((industry) =>
    bands.map((sizeBand) => ({ industry, sizeBand })),
  );
  let unprotectedLost = 0;
  for (let seed = 1; seed <= 40; seed += 1) {
    const random = new Random(seed);
    let blocks: Block[] = [];
    const everyone: WaitingOrg[] = [];
    const taking = new Set<string>();
    const answers: Set<string>[] = [];
    const unprotected: Set<string>[] = [];
    for (let step = 0; step < 30; step += 1) {
      const joining = Array.from({ length: 1 + random.int(4) }, (_, i) =>
        candidate(`${step}-${i}`, random.of(industries), random.of(bands)),
      );
      everyone.push(...joining);
      for (const { orgId } of joining) {
        taking.add(orgId);
      }
      if (random.int(3) === 0) {
        taking.delete(random.of(everyone).orgId);
      }
      const placed = new Set(blocks.flatMap(({ orgIds }) => orgIds));
      const waiting = everyone.filter(({ orgId }) => taking.has(orgId) && !placed.has(orgId));
      const wanted = random.of(cohorts);
      blocks = [...blocks, ...formBlocks(waiting, wanted, floor)];
      const found = blocksOf(blocks, wanted, (orgId) => taking.has(orgId)).flatMap(({ orgIds }) => orgIds);
      expect(found.every((orgId) => taking.has(orgId))).toBe(true);
      answers.push(new Set(found));
      const plain = everyone.filter(
        ({ orgId, industry, sizeBand }) =>
          taking.has(orgId) &&
          (wanted.industry === null || wanted.industry === industry) &&
          (wanted.sizeBand === null || wanted.sizeBand === sizeBand),
      );
      // For comparison, responses without blocks, which only require a minimum number of orgs.
      unprotected.push(new Set(plain.length < floor ? [] : plain.map(({ orgId }) => orgId)));
    }
    expect(Math.min(...isolated(answers)), `seed ${seed}`).toBeGreaterThanOrEqual(floor);
    unprotectedLost += Math.min(...isolated(unprotected)) === 1 ? 1 : 0;
  }
  expect(unprotectedLost).toBe(40);
});
