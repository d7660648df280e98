/**
 * Calls that are known to break a rule of the adversary. Each entry is removed with the change that closes its gap; a call of an entry is not
 * made. The list should be empty.
 */
import type { PlannedCall } from './adversary-world.ts';

export interface OpenGap {
  readonly cause: string;
  readonly covers: (planned: PlannedCall) => boolean;
}

export const openGaps: readonly OpenGap[] = [];

export function isOpenGap(planned: PlannedCall): boolean {
  return openGaps.some(({ covers }) => covers(planned));
}
