/** Time that the host of a virtual machine gave to others while this machine had work to do. Linux only. */
import { readFileSync } from 'node:fs';

const stealColumn = 7;

/** Returns a function that returns the share of all cores' time since this call; 0 where it cannot be measured. */
export function startStolenTime(): () => number {
  const before = readTimes();
  return () => {
    const spent = readTimes().map((time, column) => time - (before[column] ?? 0));
    const all = spent.reduce((sum, time) => sum + time, 0);
    return all === 0 ? 0 : (spent[stealColumn] ?? 0) / all;
  };
}

/** Times of all cores together: user, nice, system, idle, iowait, irq, softirq, steal. */
function readTimes(): number[] {
  try {
    const [cores = ''] = readFileSync('/proc/stat', 'utf8').split('\n', 1);
    return cores
      .trim()
      .split(/\s+/)
      .slice(1, stealColumn + 2)
      .map(Number);
  } catch {
    return [];
  }
}
