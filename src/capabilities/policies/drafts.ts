/** Rules that are not saved: looked at in a dry run, and named by their place. */
import { checkExpressions } from './policies.ts';
import type { RuleSource } from './rules.ts';
import type { CreatePolicy } from './schema.ts';

export interface DraftRule extends RuleSource {
  readonly enabled: boolean;
}

/** A draft is held to what saved rules are held to. */
export function draftRules(bodies: readonly CreatePolicy[]): DraftRule[] {
  checkExpressions(
    bodies.map(({ expression }) => ({ expression: expression ?? null })),
    (index) => `rules[${index}].expression`,
  );
  return bodies.map((body, index) => ({
    id: `rules[${index}]`,
    version: 1n,
    effect: body.effect,
    models: body.models ?? null,
    actions: body.actions ?? null,
    expression: body.expression ?? null,
    priority: BigInt(body.priority),
    reason: body.reason,
    enabled: body.enabled ?? true,
  }));
}
