/** Counts in the usage that providers report. */

import type { Fields } from './fields.ts';
import { freeTools, type ServerTools } from './server-tools.ts';

/** No run has more tokens than this. A larger count is an error of the provider. */
const countMax = 1_000_000_000_000;

/** Returns true for a count of tokens or calls, also if it is written as a string. */
export function isCount(value: unknown): boolean {
  return numberOf(value) !== undefined;
}

export function countOf(value: unknown): number {
  return Math.ceil(numberOf(value) ?? 0);
}

const digits = /^\d{1,13}(\.\d{1,20})?$/;

function numberOf(value: unknown): number | undefined {
  const number = typeof value === 'string' && digits.test(value) ? Number(value) : value;
  return typeof number === 'number' && number >= 0 && number <= countMax ? number : undefined;
}

export function largerCount(one: unknown, other: unknown): unknown {
  return isCount(other) && countOf(other) > countOf(one) ? other : (one ?? other);
}

/** Tool names that can be a unit of a run. Any other name has no price, and may not be storable. */
const toolName = /^[a-z][a-z0-9_]{0,63}$/;

/** Returns the calls of each tool. xAI names the counts `…_calls`, others `…_requests`. */
export function toolCounts(tools: Fields, suffix = '_requests'): ServerTools {
  const counts: Record<string, number> = {};
  for (const [name, value] of Object.entries(tools)) {
    const tool = name.slice(0, -suffix.length);
    if (name.endsWith(suffix) && toolName.test(tool) && !freeTools.has(tool) && countOf(value) > 0) {
      counts[tool] = countOf(value);
    }
  }
  return counts;
}
