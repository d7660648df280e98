/**
 * The ratio of input tokens to the text score, per org, model family and text class. It starts high and is learned from settled
 * calls: the 99.9th percentile plus 5 %, of at least 1,000 calls. It is never below the ratio that is safe for o200k.
 *
 * Calls that need few tokens must not lower the estimate of other calls. So an org learns only from its own calls. Its keys are
 * divided into groups, and the group with the highest percentile decides. A group with few calls uses the safe start.
 */

import { percentileBucket, sumOf } from '../../growing-holds/call-counts.ts';
import type { InputParts } from '../../kernel/providers/estimate-input.ts';
import { familyOf } from '../../kernel/providers/model-family.ts';
import type { LearnedCounts } from '../learned/learned-counts.ts';

export interface RatioSubject {
  readonly orgId: string;
  readonly keyId: string;
  readonly model: string;
}

export interface TokenRatios {
  of(subject: RatioSubject, input: InputParts): number;
  /** Adds a call whose input was text only. */
  learn(subject: RatioSubject, input: InputParts, inputTokens: number): void;
}

/** The score is at least the token count of o200k. */
export const safeRatio = 1;
/** Other tokenizers make more tokens than o200k. Where they make many more, the floor of the text covers the difference. */
export const safeRatioOfOthers = 2;

/** So high that the number of bytes is always the smaller estimate. */
export const ratioOfBytes = Number.MAX_SAFE_INTEGER;

const samplesMin = 1_000;
const samplesOfGroupMin = 20;
const percentile = 0.999;
const margin = 1.05;
/** Minimum score of the texts to learn from. In shorter ones, most tokens are those around messages. */
const scoreMin = 200;
const tokensPerPart = 12;

const keyGroups = 8;
const bucketsPerGroup = 48;
const shape = { buckets: keyGroups * bucketsPerGroup, samplesMax: 100_000 };
/** Upper bound of the first bucket, and width of the others. */
const lowestRatio = 0.8;
const bucketWidth = 0.05;
/** Ratio of the last bucket, which has no upper bound. The number of bytes is then the smaller estimate. */
const highestRatio = 16;

export function createTokenRatios(learned: LearnedCounts): TokenRatios {
  return {
    of({ orgId, keyId, model }, { textClass }) {
      const family = familyOf(model);
      const start = family === 'o200k' ? safeRatio : safeRatioOfOthers;
      const counts = learned.find(orgId, ratioName(family, textClass));
      if (counts === undefined || sumOf(counts) < samplesMin) {
        return start;
      }
      const own = groupOf(keyId) * bucketsPerGroup;
      return sumOf(counts, own, own + bucketsPerGroup) < samplesOfGroupMin
        ? Math.max(start, learnedRatio(counts))
        : learnedRatio(counts);
    },
    learn({ orgId, keyId, model }, { textClass, textScore, parts }, inputTokens) {
      if (textScore < scoreMin || textScore < parts * tokensPerPart * 2 || inputTokens <= 0) {
        return;
      }
      const bucket = Math.ceil((inputTokens / textScore - lowestRatio) / bucketWidth);
      const inGroup = Math.max(0, Math.min(bucketsPerGroup - 1, bucket));
      const name = ratioName(familyOf(model), textClass);
      learned.add(orgId, name, groupOf(keyId) * bucketsPerGroup + inGroup, shape);
    },
  };
}

/** Returns the highest ratio of all groups of keys. */
function learnedRatio(counts: Int32Array): number {
  let ratio = safeRatio;
  for (let first = 0; first < counts.length; first += bucketsPerGroup) {
    const bucket = percentileBucket(counts, percentile, first, first + bucketsPerGroup);
    if (bucket === bucketsPerGroup - 1) {
      return highestRatio;
    }
    if (bucket !== undefined) {
      ratio = Math.max(ratio, (lowestRatio + bucket * bucketWidth) * margin);
    }
  }
  return ratio;
}

function ratioName(family: string, textClass: string): string {
  // The name differs from the older `ratio`, whose counts belong to a score that was higher.
  return `tokens ${family} ${textClass}`;
}

function groupOf(keyId: string): number {
  let hash = 0;
  for (let at = 0; at < keyId.length; at += 1) {
    hash = (Math.imul(hash, 31) + keyId.charCodeAt(at)) | 0;
  }
  return (hash >>> 0) % keyGroups;
}
