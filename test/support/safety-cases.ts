/** The labelled texts that the built-in detectors are tested with; see `test/data/safety/README.md`. */
import { readFileSync } from 'node:fs';
import type { Finder } from '../../src/capabilities/governance/safety/scanning.ts';

export interface SafetyCase {
  readonly positive: boolean;
  readonly text: string;
}

/** Inserted into example secrets, so that secret scanners do not report the file. Removed before use. */
const breaker = '¦';

export function safetyCases(detector: string): SafetyCase[] {
  const file = new URL(`../data/safety/${detector}.json`, import.meta.url);
  const cases = JSON.parse(readFileSync(file, 'utf8')) as SafetyCase[];
  return cases.map(({ positive, text }) => ({ positive, text: text.replaceAll(breaker, '') }));
}

export interface Judged {
  readonly precision: number;
  readonly recall: number;
  readonly wrong: readonly SafetyCase[];
}

/** A text counts as found or not found; the number of matches does not matter. */
export function judge(find: Finder, cases: readonly SafetyCase[]): Judged {
  const fires = ({ text }: SafetyCase) => Array.from(find(text)).some((match) => match !== null);
  const fired = cases.filter(fires);
  const right = fired.filter(({ positive }) => positive).length;
  return {
    precision: right / fired.length,
    recall: right / cases.filter(({ positive }) => positive).length,
    wrong: cases.filter((one) => fired.includes(one) !== one.positive),
  };
}
