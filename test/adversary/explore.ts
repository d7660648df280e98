/** Draws calls from a seed, makes them, and reduces each that breaks a rule to the mutations that it needs. */
import { type Random, randomOf } from '../../src/demo/random.ts';
import {
  type AdversaryWorld,
  type Observation,
  type PlannedCall,
  pathOf,
  violationsOf,
} from './adversary-world.ts';
import { mutationNames } from './mutations.ts';
import { isOpenGap } from './open-gaps.ts';
import { personalities, withoutCompletionMaximum } from './personalities.ts';
import type { Delivery } from './replies.ts';
import { validCalls } from './valid-calls.ts';

export interface Figures {
  calls: number;
  mutations: number;
  sent: number;
  refused: number;
  /** In nanodollars. */
  billed: bigint;
  held: bigint;
  charged: bigint;
  /** The sum of the budgets of calls that were made under one. */
  budget: bigint;
}

export const noFigures = (): Figures => ({
  calls: 0,
  mutations: 0,
  sent: 0,
  refused: 0,
  billed: 0n,
  held: 0n,
  charged: 0n,
  budget: 0n,
});

export interface Finding {
  readonly planned: PlannedCall;
  readonly seen: Observation;
  readonly violations: readonly string[];
}

const deliveries: readonly Delivery[] = ['whole', 'whole', 'without usage', 'broken'];
const mutationsMax = 3;
/** The share of calls through a connection to a compatible provider. */
const compatibleShare = 0.25;
const seedMax = 1_000_000_000;

type Served = Pick<PlannedCall, 'personality' | 'delivery'>;

/** Draws a call that is not in the list of open gaps, to a provider of the given kind if there is one. */
function plannedCall(random: Random, given?: Served): PlannedCall {
  for (;;) {
    const planned = drawnCall(random, given);
    if (!isOpenGap(planned)) {
      return planned;
    }
  }
}

function drawnCall(random: Random, given: Served | undefined): PlannedCall {
  const count = Math.floor(random.between(1, mutationsMax + 1));
  const { personality, delivery } = given ?? {
    personality: random.pick(personalities),
    delivery: random.pick(deliveries),
  };
  return {
    call: random.pick(
      validCalls.filter(({ shape }) => personality !== withoutCompletionMaximum || shape === 'chat'),
    ),
    personality,
    delivery,
    isCompatible: personality === withoutCompletionMaximum || random.fraction() < compatibleShare,
    mutations: Array.from({ length: count }, () => ({
      name: random.pick(mutationNames),
      seed: Math.floor(random.between(0, seedMax)),
    })),
  };
}

/** Makes as many calls, one after the other. Returns those that break a rule. */
export async function explore(
  world: AdversaryWorld,
  seed: number,
  calls: number,
  figures: Figures,
): Promise<Finding[]> {
  const random = randomOf(seed);
  const findings: Finding[] = [];
  for (let index = 0; index < calls; index += 1) {
    const planned = plannedCall(random);
    const seen = await world.observe(planned);
    add(figures, planned, seen);
    const violations = violationsOf(seen, planned.delivery);
    if (violations.length > 0) {
      findings.push(await reduced(world, { planned, seen, violations }));
    }
  }
  return findings;
}

function add(
  figures: Figures,
  { mutations }: PlannedCall,
  { sent, billed, held, charged }: Observation,
): void {
  figures.calls += 1;
  figures.mutations += mutations.length;
  figures.sent += sent > 0 ? 1 : 0;
  figures.refused += sent > 0 ? 0 : 1;
  figures.billed += billed;
  figures.held += held;
  figures.charged += charged;
}

export interface Spending {
  readonly billed: bigint;
  readonly denied: number;
}

const callsAtOnce = 8;
const deniedStatus = 402;

/** Makes calls in batches, those of a batch at the same time. Returns what the provider has billed for all of them. */
export async function spend(
  world: AdversaryWorld,
  seed: number,
  batches: number,
  figures: Figures,
): Promise<Spending> {
  const random = randomOf(seed);
  let billed = 0n;
  let denied = 0;
  for (let batch = 0; batch < batches; batch += 1) {
    const { personality, delivery } = plannedCall(random);
    const planned = Array.from({ length: callsAtOnce }, () => plannedCall(random, { personality, delivery }));
    const seen = await world.sendTogether(planned);
    const refused = seen.statuses.filter(
      (status) => typeof status === 'number' && status >= 400 && status < 500,
    );
    billed += seen.billed;
    denied += seen.statuses.filter((status) => status === deniedStatus).length;
    figures.calls += planned.length;
    figures.mutations += planned.reduce((sum, { mutations }) => sum + mutations.length, 0);
    figures.sent += planned.length - refused.length;
    figures.refused += refused.length;
    figures.billed += seen.billed;
  }
  return { billed, denied };
}

/** Leaves out each mutation that the violation does not need. */
async function reduced(world: AdversaryWorld, finding: Finding): Promise<Finding> {
  for (const left of finding.planned.mutations) {
    const mutations = finding.planned.mutations.filter((one) => one !== left);
    const planned = { ...finding.planned, mutations };
    const seen = await world.observe(planned);
    const violations = violationsOf(seen, planned.delivery);
    if (violations.length > 0) {
      return reduced(world, { planned, seen, violations });
    }
  }
  return finding;
}

const bodyShown = 700;

export function report({ planned, seen, violations }: Finding): string {
  const { call, personality, delivery, mutations } = planned;
  const text = seen.body.toString('utf8').replaceAll(/(The ship left[^."]*\. ?){2,}/g, '<2,300 tokens>');
  const shown = text.length <= bodyShown ? text : `${text.slice(0, bodyShown)} … (${seen.body.length} bytes)`;
  return [
    `${violations.join('; ')}`,
    `  ${pathOf(planned)} (${call.name}), delivery: ${delivery}, provider: ${personality.name}`,
    `  mutations: ${mutations.map(({ name, seed }) => `${name} (${seed})`).join(', ') || 'none'}`,
    `  status ${seen.status}, body: ${shown}`,
  ].join('\n');
}
