/**
 * A standing adversary: calls that were changed in ways that parsers and providers disagree about, against a provider that bills all that it
 * understands. No call may cost more than was held for it, or than was charged (`test/adversary`).
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type AdversaryWorld, createAdversaryWorld } from '../../test/adversary/adversary-world.ts';
import { explore, type Figures, noFigures, report, spend } from '../../test/adversary/explore.ts';
import { type Personality, personalities } from '../../test/adversary/personalities.ts';
import { validCalls } from '../../test/adversary/valid-calls.ts';
import { addFigures } from '../../test/support/figures.ts';
import { hasFixedSeeds, seedsOf } from '../../test/support/seeds.ts';
import { formatUsd } from '../kernel/money.ts';

let world: AdversaryWorld;
const figures: Figures = noFigures();
const unlimitedUsd = '1000000';

beforeAll(async () => {
  world = await createAdversaryWorld();
});
afterAll(async () => {
  addFigures({ ...figures });
  await world.close();
});

const { seeds } = seedsOf('gateway-adversary');
const callsPerSeed = 60;
const batchesPerSeed = 8;
/** A few calls with a whole context as input, or hundreds of short ones. */
const budgetNanos = 150_000_000n;

test.each(seeds)('no mutated call costs more than was held and charged for it (seed %d)', async (seed) => {
  await world.gateway.cap(unlimitedUsd);
  const findings = await explore(world, seed, callsPerSeed, figures);
  expect(findings.map(report).join('\n\n')).toBe('');
});

test('a call with a maximum of one or none is charged within its hold if its usage is missing', async () => {
  await world.gateway.cap(unlimitedUsd);
  const findings: string[] = [];
  for (const { body, ...call } of validCalls) {
    for (const max of [0, 1]) {
      const limited = Object.entries(body).map(([name, value]) => [
        name,
        name.startsWith('max_') ? max : value,
      ]);
      const planned = {
        call: { ...call, body: Object.fromEntries(limited) },
        personality: personalities[0] as Personality,
        delivery: 'without usage',
        isCompatible: false,
        mutations: [],
      } as const;
      const { held, charged } = await world.observe(planned);
      if (charged > held) {
        findings.push(`${call.name}, ${max}: held ${held}, charged ${charged}`);
      }
    }
  }
  expect(findings).toEqual([]);
});

test.each(seeds)(
  'mutated calls at the same time cost no more than the budget of their org (seed %d)',
  async (seed) => {
    const before = await world.spentNanos();
    await world.gateway.cap(formatUsd(before + budgetNanos));
    const { billed, denied } = await spend(world, seed, batchesPerSeed, figures);
    const charged = (await world.spentNanos()) - before;
    figures.charged += charged;
    figures.budget += budgetNanos;
    expect(billed).toBeLessThanOrEqual(charged);
    expect(charged).toBeLessThanOrEqual(budgetNanos);
    if (hasFixedSeeds) {
      expect(denied).toBeGreaterThan(0);
    }
  },
);
