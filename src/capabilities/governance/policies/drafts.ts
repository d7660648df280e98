/** Rules that are not saved. A dry run evaluates them, and identifies them by position. */
import { checkExpressions } from './policies.ts';
import { ruleOf, type SwitchedRule } from './rules.ts';
import type { CreatePolicy } from './schema.ts';

/** Compiles drafts. They must meet the same requirements as saved rules. */
export function draftRules(bodies: readonly CreatePolicy[]): SwitchedRule[] {
  const rules = bodies.map((body, index) => ({ id: `rules[${index}]`, version: 1n, ...ruleOf(body) }));
  checkExpressions(rules, (index) => `rules[${index}].expression`);
  return rules;
}
