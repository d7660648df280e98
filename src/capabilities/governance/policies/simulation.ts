/** Replays past runs against draft rules. Returns the number of changed verdicts and the first 100 of them. */
import { type RuleVerdict, verdictOf } from '../../../kernel/policy.ts';
import type { ReportProgress } from '../../../platform/http/routes/route.ts';
import { createYielder } from '../../../platform/jobs/yielder.ts';
import { type ExpressionInput, expressionInputOf, type PolicyInput } from './expression-input.ts';
import type { CompiledRule } from './rules.ts';
import type { Simulation } from './schema.ts';

export interface SimulatedRun {
  readonly runId: string;
  readonly chargedAt: Date;
  readonly attempt: PolicyInput;
}

const changesShown = 100;

export interface RuleComparison {
  readonly runs: readonly SimulatedRun[];
  readonly inForce: readonly CompiledRule[];
  readonly draft: readonly CompiledRule[];
  readonly timezone: string;
  readonly progress: ReportProgress;
}

export async function simulate({
  runs,
  inForce,
  draft,
  timezone,
  progress,
}: RuleComparison): Promise<Simulation> {
  const yielder = createYielder();
  const counts = { allow: 0, block: 0, require_approval: 0, error: 0 };
  const changes: Simulation['changes'] = [];
  let changed = 0;
  for (const [index, { runId, chargedAt, attempt }] of runs.entries()) {
    const { model, action } = attempt;
    const subject = { model, action: action ?? '' };
    const input = expressionInputOf(attempt, timezone);
    const now = verdictOf<ExpressionInput, CompiledRule>(inForce, subject, () => input);
    const then = verdictOf<ExpressionInput, CompiledRule>(draft, subject, () => input);
    counts[then.kind] += 1;
    if (now.kind !== then.kind) {
      changed += 1;
      if (changes.length < changesShown) {
        const charged_at = chargedAt.toISOString();
        changes.push({ run_id: runId, model, action, charged_at, now: saidBy(now), draft: saidBy(then) });
      }
    }
    await yielder.yieldIfDue();
    await progress({ done: index + 1, of: runs.length, unit: 'runs' });
  }
  return { runs: runs.length, unchanged: runs.length - changed, changed, draft: counts, changes };
}

function saidBy({ kind, rule }: RuleVerdict<CompiledRule>): Simulation['changes'][number]['now'] {
  return { verdict: kind, rule_id: rule?.id ?? null, reason: rule?.reason ?? null };
}
