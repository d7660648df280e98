/** The holds of the calls of an SDK: the highest possible cost, or less at first and more while a call runs, as at the gateway. */
import { createOutputHistory } from '../../../src/growing-holds/output-history.ts';
import { createPaceHistory } from '../../../src/growing-holds/pace-history.ts';
import type { PacedHold, PacedHoldOptions } from '../../../src/growing-holds/paced-hold.ts';
import { PacedHolds } from '../../../src/growing-holds/paced-holds.ts';
import { documentedPace } from '../../../src/kernel/documented-pace.ts';
import { knownHostOf } from '../../../src/kernel/known-hosts.ts';
import type { Pace, PacedOutput } from '../../../src/kernel/pace.ts';
import { inFlightTokens } from '../../../src/kernel/providers/call-end.ts';
import { createCallCounts } from './call-counts.ts';
import type { MeterOptions } from './meter-options.ts';

/** A call whose output is to be held. */
export interface CallToHold {
  readonly url: string;
  readonly model: string;
  readonly tier: string;
  /** True if the provider is asked for a stream. */
  readonly isStream: boolean;
  readonly showsOutput: boolean;
  readonly maxOutputTokens: number;
  readonly minOutputTokens: number;
  /** Number of alternative answers. */
  readonly choices: number;
}

export interface HoldPlan {
  /** Output to hold at first. */
  readonly heldTokens: number;
  /** Set if the hold follows the duration of the call. */
  readonly paced: PacedOutput | undefined;
  /** True if the hold grows with the received output. */
  readonly growsWithOutput: boolean;
}

const partialStreamsMax = 1_000;

export class CallHolds {
  /** Hosts and models whose streams had a part that could not be put together. */
  readonly #partialStreams = new Set<string>();
  readonly #options: Pick<MeterOptions, 'hold' | 'pace'>;
  readonly #running: PacedHolds;
  readonly #paces;
  readonly #outputs;

  constructor(options: Pick<MeterOptions, 'hold' | 'holdLeadMs' | 'pace'>) {
    this.#options = options;
    const counts = createCallCounts();
    this.#paces = createPaceHistory(counts, Date.now);
    this.#outputs = createOutputHistory(counts);
    this.#running = new PacedHolds({
      leadMs: options.holdLeadMs,
      goOnMs: 0,
      nowMs: () => performance.now(),
    });
  }

  /** Returns the fastest that the provider is assumed to generate an answer. */
  paceOf(call: CallToHold): Pace {
    return this.#options.pace ?? this.#paces.paceOf(subjectOf(call), documentedPaceOf(call));
  }

  plan(call: CallToHold): HoldPlan {
    const { hold } = this.#options;
    const { maxOutputTokens, minOutputTokens, isStream, choices } = call;
    if (hold === 'paced' && isStream && maxOutputTokens > 0) {
      const paced = {
        pace: this.paceOf(call),
        maxOutputTokens,
        answers: choices,
      };
      return { heldTokens: this.#running.firstTokens(paced), paced, growsWithOutput: false };
    }
    const growsWithOutput = hold === 'expected' && isStream && call.showsOutput;
    const expected = growsWithOutput ? this.#outputs.expected(outputSubject(call.model)) : undefined;
    const heldTokens =
      expected === undefined
        ? maxOutputTokens
        : Math.min(maxOutputTokens, Math.max(expected, minOutputTokens) + inFlightTokens);
    return { heldTokens, paced: undefined, growsWithOutput };
  }

  hasPartialStreams({ url, model }: Pick<CallToHold, 'url' | 'model'>): boolean {
    return this.#partialStreams.has(`${new URL(url).host} ${model}`);
  }

  addPartialStream({ url, model }: CallToHold): void {
    if (this.#partialStreams.size < partialStreamsMax) {
      this.#partialStreams.add(`${new URL(url).host} ${model}`);
    }
  }

  /** Starts to increase a hold ahead of its call. */
  follow(call: Pick<PacedHoldOptions, 'output' | 'heldTokens' | 'increase' | 'onDenied'>): PacedHold {
    return this.#running.add(call);
  }

  end(hold: PacedHold): void {
    this.#running.remove(hold);
  }

  /** Learns from a call that has ended with its usage. `elapsedMs` is undefined if it says nothing about the pace of the model. */
  learn(call: CallToHold, outputTokens: number, elapsedMs: number | undefined): void {
    this.#outputs.learn(outputSubject(call.model), outputTokens);
    if (elapsedMs !== undefined) {
      this.#paces.learn(subjectOf(call), { outputTokens, elapsedMs, answers: call.choices });
    }
  }
}

/** The counts are those of one process and one key. */
const ownOrg = '';

function outputSubject(model: string) {
  return { orgId: ownOrg, keyId: '', model };
}

function subjectOf({ url, model, tier }: CallToHold) {
  return { orgId: ownOrg, connectionId: new URL(url).host, model, tier };
}

function documentedPaceOf({ url, model }: CallToHold) {
  return documentedPace(knownHostOf(url)?.provider, model);
}
