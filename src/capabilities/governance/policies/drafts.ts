/** Rules that are not saved: evaluated in a dry run, and identified by their position. */
import { checkExpressions } from './policies.ts';
import { ruleOf, type SwitchedRule } from './rules.ts';
import type { CreatePolicy } from './schema.ts';

/** Drafts must meet the same requirements as saved rules. */
export function draftRules(bodies: readonly CreatePolicy[]): SwitchedRule[] {
  const rules = bodies.map((body, index) => ({ id: `rules[${index}]`, version: 1n, ...ruleOf(body) }));
  checkExpressions(rules, (index) => `rules[${index}].expression`);
  return rules;
}
