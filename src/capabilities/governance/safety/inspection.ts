/** Asks detectors about a content, a little at a time, so that a long one does not hold up everybody else. */
import { performance } from 'node:perf_hooks';
import { setImmediate as letOthersWork } from 'node:timers/promises';
import type { Finder, Match } from './scanning.ts';

export interface Detector {
  readonly id: string;
  readonly name: string;
  readonly action: 'block' | 'flag';
  readonly enabled: boolean;
  /** So many matches make it fire. */
  readonly threshold: number;
  /** How many characters of a content it looks at, from the first on. */
  readonly looksAt: number;
  readonly find: Finder;
}

/** At most so long at a stretch; one question to an org's own pattern may take longer. */
const workMaxMs = 4;

/** Remembers since when nobody else had a turn. One for all contents of a request. */
export class Breather {
  readonly #nowMs: () => number;
  #since: number;

  constructor(nowMs = () => performance.now()) {
    this.#nowMs = nowMs;
    this.#since = nowMs();
  }

  get isDue(): boolean {
    return this.#nowMs() - this.#since > workMaxMs;
  }

  async pause(): Promise<void> {
    await letOthersWork();
    this.#since = this.#nowMs();
  }
}

/** The first so many matches of a detector. */
export async function matchesOf(
  { find }: Pick<Detector, 'find'>,
  content: string,
  most: number,
  breather: Breather,
): Promise<Match[]> {
  const matches: Match[] = [];
  for (const match of find(content)) {
    if (match !== null) {
      matches.push(match);
      if (matches.length === most) {
        break;
      }
    }
    if (breather.isDue) {
      await breather.pause();
    }
  }
  return matches;
}

/** The match that makes the detector fire; undefined where it does not. */
export async function firingMatch(
  detector: Detector,
  content: string,
  breather: Breather,
): Promise<Match | undefined> {
  const matches = await matchesOf(detector, content, detector.threshold, breather);
  return matches.length === detector.threshold ? matches[0] : undefined;
}
