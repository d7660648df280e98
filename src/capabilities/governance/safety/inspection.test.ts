import { describe, expect, test } from 'vitest';
import { createYielder } from '../../../platform/jobs/yielder.ts';
import { findCreditCards } from './credit-card.ts';
import { matchesOf } from './inspection.ts';
import type { Finder } from './scanning.ts';

/**
 * Counts the yields to the event loop during an inspection in which each step takes the given number of milliseconds.
 */
async function turnsOfOthers(find: Finder, content: string, msPerPiece: number) {
  let nowMs = 0;
  let pieces = 0;
  const timed: Finder = function* (text) {
    for (const found of find(text)) {
      pieces += 1;
      nowMs += msPerPiece;
      yield found;
    }
  };
  let turns = 0;
  let isOver = false;
  const others = () => {
    if (!isOver) {
      turns += 1;
      setImmediate(others);
    }
  };
  setImmediate(others);
  await matchesOf(
    { find: timed },
    content,
    Number.POSITIVE_INFINITY,
    createYielder(() => nowMs),
  );
  isOver = true;
  return { pieces, turns };
}

describe('a long content', () => {
  const megabyte = '4 '.repeat(500_000);

  test('a long content is inspected in steps, and yields to the event loop after each step of five milliseconds', async () => {
    const { pieces, turns } = await turnsOfOthers(findCreditCards, megabyte, 5);
    expect(pieces).toBeGreaterThanOrEqual(Math.floor(megabyte.length / 16_384));
    expect(turns).toBe(pieces);
  });

  test('does not yield while its steps take no time', async () => {
    const { pieces, turns } = await turnsOfOthers(findCreditCards, megabyte, 0);
    expect(pieces).toBeGreaterThan(0);
    expect(turns).toBe(0);
  });
});
