/** Runs detectors over a content in pieces, and yields to the event loop between them. */
import type { Yielder } from '../../../platform/jobs/yielder.ts';
import type { Finder, TextMatch } from './scanning.ts';

export interface Detector {
  readonly id: string;
  readonly name: string;
  readonly action: 'block' | 'flag';
  readonly enabled: boolean;
  /** Number of matches at which the detector fires. */
  readonly threshold: number;
  /** Number of characters to check, from the start of the content. */
  readonly charactersMax: number;
  readonly find: Finder;
}

/** Returns the first `most` matches of a detector. A single piece of a custom pattern may exceed the yielder's budget. */
export async function matchesOf(
  { find }: Pick<Detector, 'find'>,
  content: string,
  most: number,
  yielder: Yielder,
): Promise<TextMatch[]> {
  const matches: TextMatch[] = [];
  for (const match of find(content)) {
    if (match !== null) {
      matches.push(match);
      if (matches.length === most) {
        break;
      }
    }
    const turn = yielder.yieldIfDue();
    if (turn !== undefined) {
      await turn;
    }
  }
  return matches;
}

/** Returns the first match if the detector fires; undefined otherwise. */
export async function firingMatch(
  detector: Detector,
  content: string,
  yielder: Yielder,
): Promise<TextMatch | undefined> {
  const matches = await matchesOf(detector, content, detector.threshold, yielder);
  return matches.length === detector.threshold ? matches[0] : undefined;
}
