/** The safety check: runs the detectors of an org over contents. Compiled detectors are cached until they change. */
import { NotifiedCache } from '../../../platform/cache/notified-cache.ts';
import type { Database } from '../../../platform/db/database.ts';
import { createYielder, type Yielder } from '../../../platform/jobs/yielder.ts';
import { findBuiltIn } from './built-in.ts';
import { onDetectorsChange } from './change-notifications.ts';
import { type AnyRow, allDetectors } from './detectors.ts';
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
  /** The first detector that blocks, if one does. */
  readonly blocked: Blocked | undefined;
  /** The names of all that fired; of those that follow a refusal none was asked. */
  readonly flaggedBy: readonly string[];
}

export interface ContentToInspect {
  readonly content: string;
  /** What has happened already can only be flagged, also by detectors that block. */
  readonly mayBlock: boolean;
}

export interface Safety {
  /** Every detector of the org, compiled, also those that are not enabled. */
  detectors(orgId: string): Promise<readonly Detector[]>;
  /** In the order of the contents; undefined ones pass. Ends at the first that is refused. */
  inspect(orgId: string, contents: readonly (ContentToInspect | undefined)[]): Promise<Inspected[]>;
}

const cachedOrgsMax = 2_000;
const clean: Inspected = { blocked: undefined, flaggedBy: [] };

export function createSafety(db: Database): Safety {
  const load = async (orgId: string): Promise<readonly Detector[]> =>
    (await allDetectors(db, orgId)).map(compile);
  const cache = new NotifiedCache(db, { maxEntries: cachedOrgsMax, onChange: onDetectorsChange, load });

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
      // Those that block first: once one does, it does not matter who else would have fired.
      const asked = [
        ...enabled.filter(({ action }) => action === 'block'),
        ...enabled.filter(({ action }) => action === 'flag'),
      ];
      const yielder = createYielder();
      const inspected: Inspected[] = [];
      for (const one of contents) {
        const result = one === undefined ? clean : await inspectOne(asked, one, yielder);
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
  asked: readonly Detector[],
  { content, mayBlock }: ContentToInspect,
  yielder: Yielder,
): Promise<Inspected> {
  const flaggedBy: string[] = [];
  for (const detector of asked) {
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

function finderOf({ id, pattern, words }: AnyRow): Pick<Detector, 'find' | 'looksAt'> {
  if (pattern !== null) {
    return compilePattern(pattern);
  }
  const find = words === null ? findBuiltIn(id)?.find : compileWords(words);
  if (find === undefined) {
    throw new Error(`the detector ${id} has nothing to look for`);
  }
  return { find, looksAt: contentCharactersMax };
}
