/**
 * The fastest that a model was seen to generate at a connection, in tokens per second of one answer. It lowers the documented pace
 * once enough calls have ended, and raises it as soon as a call was faster.
 */
import { fastestPace, type Pace } from '../kernel/pace.ts';
import { type CallCounts, sumOf } from './call-counts.ts';

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

/** Each bucket ends at 1.03 times the end of the previous one: the first at 50 tokens per second, the last at about 20,000. */
const growth = 1.03;
const firstPerSecond = 50;
const shape = { buckets: 204, samplesMax: 2_000 };
/** Calls count for the rest of their period and for the next one, so that a single call does not raise the pace for good. */
const periodMs = 3 * 86_400_000;
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

/** `nowMs` returns the time of day, because counts are kept across restarts. */
export function createPaceHistory(learned: CallCounts, nowMs: () => number): PaceHistory {
  /** Returns the calls of this period and of the previous one. */
  function seen(kind: string, subject: PaceSubject): SeenCalls | undefined {
    const period = Math.floor(nowMs() / periodMs);
    const last = seenIn(learned.find(subject.orgId, paceName(kind, period - 1, subject)));
    const current = seenIn(learned.find(subject.orgId, paceName(kind, period, subject)));
    return last === undefined || current === undefined
      ? (current ?? last)
      : {
          samples: last.samples + current.samples,
          perSecond: Math.max(last.perSecond, current.perSecond),
        };
  }

  return {
    learn(subject, { outputTokens, elapsedMs, answers }) {
      if (outputTokens < measuredTokens) {
        return;
      }
      const perSecond = (outputTokens * 1_000) / (Math.max(measuredMs, elapsedMs) * answers);
      const bucket = Math.min(
        shape.buckets - 1,
        Math.max(0, Math.ceil(Math.log(perSecond / firstPerSecond) / Math.log(growth))),
      );
      const period = Math.floor(nowMs() / periodMs);
      learned.add(subject.orgId, paceName('pace', period, subject), bucket, shape);
      if (elapsedMs >= longMs) {
        learned.add(subject.orgId, paceName('pace-long', period, subject), bucket, shape);
      }
    },
    paceOf(subject, documented) {
      const all = seen('pace', subject);
      if (all === undefined) {
        return documented;
      }
      const long = seen('pace-long', subject);
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

interface SeenCalls {
  readonly samples: number;
  /** The end of the bucket of the fastest call. */
  readonly perSecond: number;
}

function seenIn(counts: Int32Array | undefined): SeenCalls | undefined {
  const fastest = counts?.findLastIndex((count) => count > 0) ?? -1;
  return counts === undefined || fastest === -1
    ? undefined
    : { samples: sumOf(counts), perSecond: firstPerSecond * growth ** fastest };
}

function paceName(kind: string, period: number, { connectionId, model, tier }: PaceSubject): string {
  return `${kind} ${period} ${connectionId} ${tier} ${model}`;
}
