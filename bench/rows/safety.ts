/** Accuracy of the built-in detectors on the labelled texts, and the CPU time of each for 10 KB of ordinary content. */
import { monitorEventLoopDelay, performance } from 'node:perf_hooks';
import { builtIns } from '../../src/capabilities/governance/safety/built-in.ts';
import { matchesOf } from '../../src/capabilities/governance/safety/inspection.ts';
import { compilePattern } from '../../src/capabilities/governance/safety/own-pattern.ts';
import type { Finder } from '../../src/capabilities/governance/safety/scanning.ts';
import { compileWords } from '../../src/capabilities/governance/safety/word-list.ts';
import { createYielder } from '../../src/platform/jobs/yielder.ts';
import { judge, safetyCases } from '../../test/support/safety-cases.ts';
import { type Bar, median, type SingleRow } from '../measure.ts';

const precisionOf = (id: string) => `${id} precision`;
const recallOf = (id: string) => `${id} recall`;
const costOf = (id: string) => `${id} µs/10 KB`;

const own: readonly { readonly id: string; readonly find: Finder }[] = [
  { id: '1,000 own words', find: compileWords(Array.from({ length: 1_000 }, (_, n) => `term${n} alpha`)) },
  { id: 'own pattern, rare start', find: compilePattern('PROJ-[0-9]{4,6}').find },
  { id: 'own pattern, any start', find: compilePattern('[A-Z]{2}[0-9]{6,9}').find },
  { id: 'own pattern, (a+)+$', find: compilePattern('(a+)+$').find },
];

const bars: [string, Bar][] = builtIns.flatMap(({ id }) => [
  [precisionOf(id), { atLeast: 0.95 }],
  [recallOf(id), { atLeast: 0.9 }],
]);

export const safety: SingleRow = {
  kind: 'single',
  name: 'safety',
  what: 'safety detectors: precision and recall on test/data/safety, CPU per 10 KB of the texts that are negative',
  toReach: Object.fromEntries(bars),
  async measure({ progress }) {
    const figures: Record<string, number> = {};
    for (const { id, find } of builtIns) {
      const { precision, recall } = judge(find, safetyCases(id));
      figures[precisionOf(id)] = precision;
      figures[recallOf(id)] = recall;
    }
    const text = ordinaryText();
    progress('a megabyte');
    figures['longest stall ms, all built-in, 1 MB'] = await longestStallMs(
      text.repeat(100).slice(0, 1_000_000),
    );
    for (const { id, find } of [...builtIns, ...own]) {
      progress(`cost of ${id}`);
      figures[costOf(id)] = medianMicroseconds(find, text);
    }
    return {
      figures,
      notes: ['Own patterns look at 65,536 characters of a content at most, the others at all of it.'],
    };
  },
};

const bytes = 10_240;
const rounds = 401;

/** Ordinary content: prose, logs, code and numbers without matches. */
function ordinaryText(): string {
  const negatives = builtIns.flatMap(({ id }) => safetyCases(id).filter(({ positive }) => !positive));
  // From all files, so that no detector gets only texts that were written to mislead it.
  const mixed = negatives.filter((_, index) => index % 23 === 0).map(({ text }) => text);
  return mixed.join('\n').slice(0, bytes);
}

/** Longest event-loop delay while a content of the maximum size is inspected. */
async function longestStallMs(text: string): Promise<number> {
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  const yielder = createYielder();
  for (const detector of builtIns) {
    await matchesOf(detector, text, Number.POSITIVE_INFINITY, yielder);
  }
  delay.disable();
  return delay.max / 1_000_000;
}

function medianMicroseconds(find: Finder, text: string): number {
  const times: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const startedMs = performance.now();
    Array.from(find(text));
    times.push((performance.now() - startedMs) * 1_000);
  }
  return median(times);
}
