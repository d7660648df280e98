/** Rules that are not saved: looked at in a dry run, and named by their place. */
import { checkExpressions } from './policies.ts';
import { ruleOf, type SwitchedRule } from './rules.ts';
import type { CreatePolicy } from './schema.ts';

/** A draft is held to what saved rules are held to. */
export function draftRules(bodies: readonly CreatePolicy[]): SwitchedRule[] {
  const rules = bodies.map((body, index) => ({ id: `rules[${index}]`, version: 1n, ...ruleOf(body) }));
  checkExpressions(rules, (index) => `rules[${index}].expression`);
  return rules;
}
