/** Compiles rules for the kernel, with split patterns and compiled expressions. */
import { type Effect, inOrder, patternOf, type Rule } from '../../../kernel/policy.ts';
import { type Compiled, compileExpression, isSyntaxFault } from './expression.ts';
import type { ExpressionInput } from './expression-input.ts';
import type { CreatePolicy } from './schema.ts';

export interface CompiledRule extends Rule<ExpressionInput> {
  readonly version: bigint;
  readonly expression: string | null;
}

/** The fields of a rule that affect the verdict. */
export interface RuleSource {
  readonly id: string;
  readonly version: bigint;
  readonly effect: Effect;
  readonly models: readonly string[] | null;
  readonly actions: readonly string[] | null;
  readonly expression: string | null;
  readonly priority: bigint;
  readonly reason: string;
}

export interface SwitchedRule extends RuleSource {
  readonly enabled: boolean;
}

/** Returns the rule in a request body, with defaults for missing fields. */
export function ruleOf(body: CreatePolicy): Omit<SwitchedRule, 'id' | 'version'> {
  return {
    effect: body.effect,
    models: body.models ?? null,
    actions: body.actions ?? null,
    expression: body.expression ?? null,
    priority: BigInt(body.priority),
    reason: body.reason,
    enabled: body.enabled ?? true,
  };
}

/** Compiles rules, which must be sorted oldest first. Returns them in evaluation order. */
export function compileRules(sources: readonly RuleSource[]): CompiledRule[] {
  return inOrder<ExpressionInput, CompiledRule>(sources.map(compileRule));
}

function compileRule(source: RuleSource): CompiledRule {
  return {
    id: source.id,
    version: source.version,
    effect: source.effect,
    models: source.models?.map(patternOf) ?? null,
    actions: source.actions?.map(patternOf) ?? null,
    condition: source.expression === null ? null : conditionOf(source.expression),
    expression: source.expression,
    priority: source.priority,
    reason: source.reason,
  };
}

/**
 * Compiles a condition. A new release may make a saved expression invalid. It then fails when it is evaluated, so that no run that
 * reaches the rule is admitted.
 */
function conditionOf(expression: string): Compiled['evaluate'] {
  const compiled = compileExpression(expression);
  return isSyntaxFault(compiled) ? () => ({ fault: compiled.message }) : compiled.evaluate;
}
