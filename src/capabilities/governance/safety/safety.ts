/** The safety check: runs the detectors of an org over contents. Compiled detectors are cached until they change. */
import { NotifiedCache } from '../../../platform/cache/notified-cache.ts';
import type { Database } from '../../../platform/db/database.ts';
import { createYielder, type Yielder } from '../../../platform/jobs/yielder.ts';
import { findBuiltIn } from './built-in.ts';
import { type AnyRow, allDetectors, detectorsChanged } from './detectors.ts';
import { type Detector, firingMatch } from './inspection.ts';
import { compilePattern } from './own-pattern.ts';
import { sampleOf } from './sample.ts';
import { contentCharactersMax } from './schema.ts';
import { compileWords } from './word-list.ts';

export interface Blocked {
  readonly detector: string;
  readonly detectorId: string;
  readonly sample: string;
}

export interface Inspected {
  /** The first detector that blocks, if any. */
  readonly blocked: Blocked | undefined;
  /** Names of the detectors that fired. Detectors after a blocking one do not run. */
  readonly flaggedBy: readonly string[];
}

export interface ContentToInspect {
  readonly content: string;
  /** False for runs that have already happened. Blocking detectors only flag these. */
  readonly mayBlock: boolean;
}

export interface Safety {
  /** Returns all detectors of the org, compiled, including disabled ones. */
  detectors(orgId: string): Promise<readonly Detector[]>;
  /** Returns the results in the order of the contents, up to the first blocked one. Undefined contents pass. */
  inspect(orgId: string, contents: readonly (ContentToInspect | undefined)[]): Promise<Inspected[]>;
}

const cachedOrgsMax = 2_000;
const clean: Inspected = { blocked: undefined, flaggedBy: [] };

export function createSafety(db: Database): Safety {
  const load = async (orgId: string): Promise<readonly Detector[]> =>
    (await allDetectors(db, orgId)).map(compile);
  const cache = new NotifiedCache(db, { maxEntries: cachedOrgsMax, onChange: detectorsChanged.on, load });

  async function detectors(orgId: string): Promise<readonly Detector[]> {
    return cache.get(orgId);
  }

  return {
    detectors,
    async inspect(orgId, contents) {
      if (contents.every((one) => one === undefined)) {
        return contents.map(() => clean);
      }
      const enabled = (await detectors(orgId)).filter((detector) => detector.enabled);
      // Blocking detectors run first, because once one fires, the others do not matter.
      const ordered = [
        ...enabled.filter(({ action }) => action === 'block'),
        ...enabled.filter(({ action }) => action === 'flag'),
      ];
      const yielder = createYielder();
      const inspected: Inspected[] = [];
      for (const one of contents) {
        const result = one === undefined ? clean : await inspectOne(ordered, one, yielder);
        inspected.push(result);
        if (result.blocked !== undefined) {
          break;
        }
      }
      return inspected;
    },
  };
}

async function inspectOne(
  ordered: readonly Detector[],
  { content, mayBlock }: ContentToInspect,
  yielder: Yielder,
): Promise<Inspected> {
  const flaggedBy: string[] = [];
  for (const detector of ordered) {
    const match = await firingMatch(detector, content, yielder);
    if (match === undefined) {
      continue;
    }
    flaggedBy.push(detector.name);
    if (mayBlock && detector.action === 'block') {
      const sample = sampleOf(content, match);
      return { blocked: { detector: detector.name, detectorId: detector.id, sample }, flaggedBy };
    }
  }
  return flaggedBy.length === 0 ? clean : { blocked: undefined, flaggedBy };
}

function compile(row: AnyRow): Detector {
  const { id, name, action, enabled, threshold } = row;
  return { id, name, action, enabled, threshold, ...finderOf(row) };
}

function finderOf({ id, pattern, words }: AnyRow): Pick<Detector, 'find' | 'charactersMax'> {
  if (pattern !== null) {
    return compilePattern(pattern);
  }
  const find = words === null ? findBuiltIn(id)?.find : compileWords(words);
  if (find === undefined) {
    throw new Error(`detector ${id} has no pattern, words or built-in finder`);
  }
  return { find, charactersMax: contentCharactersMax };
}
