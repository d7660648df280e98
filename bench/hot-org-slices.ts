/**
 * Simulates the design for one very hot organization (docs/operations/hot-organizations.md): processes take slices of the limit under
 * the lock and decide from them in memory. Prints, for each number of processes and size of slices, what was overspent (always
 * nothing), how many decisions were denied although room was left, the bound on that, and decisions per lock.
 *
 *   npx tsx bench/hot-org-slices.ts
 */

/** A fixed sequence of numbers from 0 to 1, so that every run prints the same. */
function sequence(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return state / 2_147_483_648;
  };
}

interface Options {
  readonly processes: number;
  /** A slice is the remaining room divided by this and by the number of processes, but never less than `sliceMin`. */
  readonly divisor: number;
  readonly sliceMin: number;
  readonly capacity: number;
  readonly costMax: number;
  /** True if a process that finds the limit taken asks the others to return what they have not used. */
  readonly recalls: boolean;
  readonly seed: number;
}

interface Outcome {
  readonly spent: number;
  readonly decisions: number;
  readonly locks: number;
  /** Denials while the sum of all costs so far would still have fitted. */
  readonly wronglyDenied: number;
  /** The most room that unused slices withheld at a denial. */
  readonly withheldMax: number;
}

function simulate({ processes, divisor, sliceMin, capacity, costMax, recalls, seed }: Options): Outcome {
  const random = sequence(seed);
  const slices = new Array<number>(processes).fill(0);
  let taken = 0;
  let spent = 0;
  let decisions = 0;
  let locks = 0;
  let wronglyDenied = 0;
  let withheldMax = 0;
  const takeSlice = (chosen: number, wanted: number) => {
    locks += 1;
    const remaining = capacity - taken;
    const slice = Math.min(
      remaining,
      Math.max(wanted, sliceMin, Math.floor(remaining / (divisor * processes))),
    );
    taken += slice;
    slices[chosen] = (slices[chosen] ?? 0) + slice;
  };
  // One process is busier than the others, as behind a load balancer with sticky connections.
  for (let denials = 0; denials < 200; ) {
    const chosen = random() < 0.3 ? 0 : Math.floor(random() * processes);
    const cost = 1 + Math.floor(random() * costMax);
    decisions += 1;
    if ((slices[chosen] ?? 0) < cost) {
      takeSlice(chosen, cost - (slices[chosen] ?? 0));
    }
    if ((slices[chosen] ?? 0) < cost && recalls) {
      locks += processes;
      taken -= slices.reduce((sum, slice) => sum + slice, 0);
      slices.fill(0);
      takeSlice(chosen, cost);
    }
    if ((slices[chosen] ?? 0) >= cost) {
      slices[chosen] = (slices[chosen] ?? 0) - cost;
      spent += cost;
      continue;
    }
    denials += 1;
    if (spent + cost <= capacity) {
      wronglyDenied += 1;
      withheldMax = Math.max(withheldMax, capacity - spent - (slices[chosen] ?? 0));
    }
  }
  return { spent, decisions, locks, wronglyDenied, withheldMax };
}

const capacity = 100_000_000;
const costMax = 2_000;
const sliceMin = 10_000;
const rows: Record<string, string | number>[] = [];
for (const recalls of [false, true]) {
  for (const processes of [2, 8, 32]) {
    for (const divisor of [2, 8]) {
      const outcome = simulate({ processes, divisor, sliceMin, capacity, costMax, recalls, seed: 1 });
      // Each other process keeps at most the rest of one slice, which is the largest if it was taken first.
      const sliceMax = Math.max(sliceMin, Math.floor(capacity / (divisor * processes))) + costMax;
      const bound = (processes - 1) * sliceMax;
      if (outcome.spent > capacity || outcome.withheldMax > bound || (recalls && outcome.wronglyDenied > 0)) {
        throw new Error(`the simulation contradicts the design: ${JSON.stringify(outcome)}`);
      }
      rows.push({
        recall: recalls ? 'yes' : 'no',
        processes,
        divisor,
        'overspent %': (Math.max(0, outcome.spent - capacity) * 100) / capacity,
        'wrongly denied': outcome.wronglyDenied,
        'withheld %': Number(((outcome.withheldMax * 100) / capacity).toFixed(3)),
        'decisions per lock': Math.round(outcome.decisions / outcome.locks),
      });
    }
  }
}
const names = Object.keys(rows[0] ?? {});
const lines = [names, names.map(() => '---'), ...rows.map((row) => names.map((name) => String(row[name])))];
process.stdout.write(lines.map((cells) => `| ${cells.join(' | ')} |\n`).join(''));
