/** Figures of a random test, such as the number of calls that it made. `npm run fuzz` prints their sums. */
import { appendFileSync, existsSync, readFileSync } from 'node:fs';

/** Adds figures to those of this run. Does nothing outside `npm run fuzz`, which names a file for them. */
export function addFigures(figures: Readonly<Record<string, number | bigint>>): void {
  const file = process.env.PURSER_TEST_FIGURES;
  if (file !== undefined) {
    const texts = Object.entries(figures).map(([name, value]) => [name, String(value)]);
    appendFileSync(file, `${JSON.stringify(Object.fromEntries(texts))}\n`);
  }
}

/** Adds the figures in a file to those in `sums`. */
export function sumFigures(file: string, sums: Map<string, bigint>): void {
  const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n') : [];
  for (const line of lines.filter((one) => one !== '')) {
    for (const [name, value] of Object.entries<string>(JSON.parse(line))) {
      sums.set(name, (sums.get(name) ?? 0n) + BigInt(value));
    }
  }
}
