/** Explains which rules are evaluated for a request and which one decides. Requests no approvals and emits no events. */
import { attemptedOf, evaluateRule, type RuleOutcome } from '../../../kernel/policy.ts';
import { expressionInputOf, type PolicyInput } from './expression-input.ts';
import { type CompiledRule, compileRules, type SwitchedRule } from './rules.ts';
import type { Evaluation } from './schema.ts';

export function explain(
  sources: readonly SwitchedRule[],
  attempt: PolicyInput,
  timezone: string,
): Evaluation {
  const disabled = new Set(sources.filter(({ enabled }) => !enabled).map(({ id }) => id));
  const subject = { model: attempt.model, action: attempt.action ?? '' };
  const input = expressionInputOf(attempt, timezone);
  const considered: Evaluation['considered'] = [];
  let ending: { readonly rule: CompiledRule; readonly outcome: RuleOutcome } | undefined;
  for (const rule of compileRules(sources)) {
    const about = { rule_id: rule.id, priority: Number(rule.priority), effect: rule.effect };
    if (disabled.has(rule.id)) {
      considered.push({ ...about, outcome: 'disabled', explanation: 'The rule is disabled.' });
    } else if (ending !== undefined) {
      const explanation = `Not evaluated: ${ending.rule.id} decided first.`;
      considered.push({ ...about, outcome: 'not_reached', explanation });
    } else {
      const outcome = evaluateRule(rule, subject, () => input);
      considered.push({ ...about, ...explanationOf(rule, outcome, subject) });
      if (outcome === 'decided' || typeof outcome === 'object') {
        ending = { rule, outcome };
      }
    }
  }
  if (ending === undefined) {
    return { verdict: 'allow', rule_id: null, reason: null, attempted: null, considered };
  }
  const { rule, outcome } = ending;
  return {
    verdict: outcome === 'decided' ? rule.effect : 'error',
    rule_id: rule.id,
    reason: rule.reason,
    attempted: attemptedOf(rule, subject),
    considered,
  };
}

function explanationOf(
  rule: CompiledRule,
  outcome: RuleOutcome,
  { model, action }: { readonly model: string; readonly action: string },
): Pick<Evaluation['considered'][number], 'outcome' | 'explanation'> {
  if (typeof outcome === 'object') {
    return { outcome: 'failed', explanation: `The expression failed: ${outcome.fault}.` };
  }
  switch (outcome) {
    case 'decided':
      return {
        outcome: 'decided',
        explanation: `The rule matches and decides: ${rule.effect}.`,
      };
    case 'model':
      return { outcome: 'passed_over', explanation: `None of its models matches ${quoted(model)}.` };
    case 'action':
      return {
        outcome: 'passed_over',
        explanation: `None of its actions matches ${action === '' ? 'a request without an action' : quoted(action)}.`,
      };
    case 'expression':
      return { outcome: 'passed_over', explanation: 'Its expression is false.' };
  }
}

function quoted(text: string): string {
  return `“${text}”`;
}
