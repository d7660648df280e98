/**
 * The fastest that a model was seen to generate at a connection, in tokens per second of one answer. It lowers the documented pace
 * once enough calls have ended, and raises it as soon as a call was faster.
 */
import { fastestPace, type Pace } from '../../kernel/pace.ts';
import { type LearnedCounts, sumOf } from '../learned/learned-counts.ts';

export interface PaceSubject {
  readonly orgId: string;
  readonly connectionId: string;
  readonly model: string;
  /** The service tier of the call, because priority and fast modes have a pace of their own. */
  readonly tier: string;
}

/** A call that has ended with its usage. */
export interface TimedOutput {
  readonly outputTokens: number;
  readonly elapsedMs: number;
  readonly answers: number;
}

export interface PaceHistory {
  learn(subject: PaceSubject, call: TimedOutput): void;
  /** Returns the pace to hold for, given the documented one. */
  paceOf(subject: PaceSubject, documented: Pace): Pace;
}

/** Each bucket ends at 1.1 times the end of the previous one, the last one at about 20,000 tokens per second. */
const growth = 1.1;
const shape = { buckets: 104, samplesMax: 2_000 };
const samplesMin = 50;
const longSamplesMin = 20;
/** Shorter calls and smaller outputs say little about the rate. */
const measuredMs = 200;
const measuredTokens = 50;
/** From this duration on, a rate is that of a long call. */
const longMs = 10_000;
/** No call is expected to be faster than the fastest seen by this factor. The rate of long calls varies less. */
const burstFactor = 3;
const sustainedFactor = 1.25;
const burstSeconds = 2;
/** No pace is slower, however slow the calls were: most of their time may have been spent on waiting or on long inputs. */
const slowest: Pace = { burstTokensPerSecond: 300, burstTokens: 600, sustainedTokensPerSecond: 150 };

export function createPaceHistory(learned: LearnedCounts): PaceHistory {
  return {
    learn(subject, { outputTokens, elapsedMs, answers }) {
      if (outputTokens < measuredTokens) {
        return;
      }
      const perSecond = (outputTokens * 1_000) / (Math.max(measuredMs, elapsedMs) * answers);
      const bucket = Math.min(
        shape.buckets - 1,
        Math.ceil(Math.log(Math.max(1, perSecond)) / Math.log(growth)),
      );
      learned.add(subject.orgId, nameOf('pace', subject), bucket, shape);
      if (elapsedMs >= longMs) {
        learned.add(subject.orgId, nameOf('pace-long', subject), bucket, shape);
      }
    },
    paceOf(subject, documented) {
      const all = seen(learned.find(subject.orgId, nameOf('pace', subject)));
      if (all === undefined) {
        return documented;
      }
      const long = seen(learned.find(subject.orgId, nameOf('pace-long', subject)));
      const burst = Math.ceil(burstFactor * all.perSecond);
      const isKnown = all.samples >= samplesMin;
      const isLongKnown = long !== undefined && long.samples >= longSamplesMin;
      const measured: Pace = {
        burstTokensPerSecond: burst,
        burstTokens: burst * burstSeconds,
        sustainedTokensPerSecond: isLongKnown
          ? Math.ceil(Math.max(sustainedFactor * long.perSecond, all.perSecond))
          : Math.ceil((isKnown ? burstFactor : sustainedFactor) * all.perSecond),
      };
      return fastestPace(isKnown ? slowest : documented, [measured]);
    },
  };
}

/** Returns the number of calls, and the end of the bucket of the fastest one. */
function seen(counts: Int32Array | undefined) {
  const fastest = counts?.findLastIndex((count) => count > 0) ?? -1;
  return counts === undefined || fastest === -1
    ? undefined
    : { samples: sumOf(counts), perSecond: growth ** fastest };
}

function nameOf(kind: string, { connectionId, model, tier }: PaceSubject): string {
  return `${kind} ${connectionId} ${tier} ${model}`;
}
