/** Output that a provider may charge beyond the maximum of the request: predicted text, summaries of the context, and reasoning. */
import type { Fields } from '../kernel/providers/fields.ts';
import { requestsCompaction } from '../kernel/providers/offered-tools.ts';
import { cachedTextScore } from './body/score-cache.ts';
import type { ParsedCall } from './parse-call.ts';

export interface ExtraOutputRules {
  /** Tokens per point of the text score. */
  readonly ratio: number;
  /** Maximum output of the model in one pass. */
  readonly modelMax: number;
  /** True if the provider is unknown. Some providers have a reasoning budget in addition to the maximum. */
  readonly isAnyProvider: boolean;
}

export function extraOutputTokens({ body, choices }: ParsedCall, rules: ExtraOutputRules): number {
  const predicted = predictedTokensOf(body, rules.ratio);
  const reasoned = rules.isAnyProvider ? separateReasoning(body, rules.modelMax) : 0;
  const summary = requestsCompaction(body) ? rules.modelMax : 0;
  return (predicted + reasoned) * choices + summary;
}

function predictedTokensOf({ prediction }: Fields, ratio: number): number {
  if (prediction == null) {
    return 0;
  }
  const { bytes, score, floor } = cachedTextScore(JSON.stringify(prediction));
  return Math.min(bytes, Math.max(Math.ceil(score * ratio), floor));
}

/**
 * Returns the maximum reasoning outside of `max_tokens`. SiliconFlow and Alibaba limit only the answer by `max_tokens`, and the
 * reasoning before it by this budget.
 */
function separateReasoning({ thinking_budget: budget, enable_thinking: isEnabled }: Fields, most: number) {
  if (budget == null) {
    return isEnabled == null || isEnabled === false ? 0 : most;
  }
  return typeof budget === 'number' && budget >= 0 ? Math.ceil(budget) : most;
}
