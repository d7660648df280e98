/**
 * The gate that every run passes before anything is counted: the org's rules on models and actions. Without rules it is a
 * look into memory. Whoever is refused here has taken nothing.
 */
import { ApiError, apiError, apiErrorWithDetails } from '../../../contract/api-error.ts';
import { attemptedOf, type Verdict, verdictOf } from '../../../kernel/policy.ts';
import { withRunIndex } from '../../../ledger/ledger-errors.ts';
import { createYielder } from '../../../platform/jobs/yielder.ts';
import type { Log } from '../../../platform/log.ts';
import type { ApprovalRequest, Approvals } from '../approvals/index.ts';
import type { BlockedEvents } from './blocked-events.ts';
import { type Attempt, type ExpressionInput, expressionInputOf } from './expression-input.ts';
import type { PolicyMemory } from './policy-cache.ts';
import type { CompiledRule } from './rules.ts';

export interface GateDependencies {
  readonly memory: PolicyMemory;
  readonly approvals: Approvals;
  readonly blocked: BlockedEvents;
  readonly log: Log;
  timezoneOf(orgId: string): string | Promise<string>;
}

export interface GateRequest {
  readonly orgId: string;
  readonly now: Date;
  /** Undefined: not asked, since it is no new admission. */
  readonly attempts: readonly (Attempt | undefined)[];
  /** A refusal says which of them it was. */
  readonly bulk: boolean;
  /** Asked only where one would be refused: whether it is nothing new, so that no gate is there for it. */
  isKnown(index: number): Promise<boolean>;
}

/** What the attempts that need one may use to pass, by their index. */
export type PermitIds = ReadonlyMap<number, string>;

/** What a rule has against an attempt that is only considered. */
export interface Objection {
  readonly code: 'policy_blocked' | 'policy_approval_required' | 'policy_expression_error';
  readonly ruleId: string;
  /** A run could use an approval that is there. */
  readonly isApproved: boolean;
}

const objectionCodes = {
  block: 'policy_blocked',
  require_approval: 'policy_approval_required',
  error: 'policy_expression_error',
} as const;

export interface PolicyCheck {
  /** Whether there is anything to ask. */
  isGoverned(orgId: string): boolean | Promise<boolean>;
  /** Throws what refuses the first that may not pass. */
  check(request: GateRequest): Promise<PermitIds>;
  /** What the rules have against each, undefined for nothing. Asks for no approval and tells nobody. */
  look(orgId: string, attempts: readonly Attempt[], now: Date): Promise<(Objection | undefined)[]>;
  /** What was approved was used up, or withdrawn, before this attempt could use it. */
  permitSpentError(request: GateRequest, index: number): Promise<ApiError>;
}

const none: PermitIds = new Map();

export function createPolicyGate(deps: GateDependencies): PolicyCheck {
  const { memory, approvals, blocked, log, timezoneOf } = deps;

  function judge(rules: readonly CompiledRule[], attempt: Attempt, timezone: string): Verdict<CompiledRule> {
    return verdictOf<ExpressionInput, CompiledRule>(
      rules,
      subjectOf(attempt),
      once(() => expressionInputOf(attempt, timezone)),
    );
  }

  function refuseError(orgId: string, rule: CompiledRule, fault: string): ApiError {
    log.warn({ tenant: orgId, rule: rule.id, version: Number(rule.version), fault }, 'a policy rule failed');
    return apiErrorWithDetails('policy_expression_error', { rule_id: rule.id });
  }

  function refuseBlock(orgId: string, rule: CompiledRule, attempt: Attempt): ApiError {
    const attempted = attemptedOf(rule, subjectOf(attempt));
    const { reason } = rule;
    blocked.tell({
      orgId,
      ruleId: rule.id,
      reason,
      attempted,
      keyId: attempt.key_id,
      model: attempt.model,
      action: attempt.action,
    });
    return apiErrorWithDetails('policy_blocked', { reason, attempted, rule_id: rule.id });
  }

  /** The id of what may be used, or the refusal that says what to wait for. */
  async function ask(
    { orgId, now }: GateRequest,
    rule: CompiledRule,
    attempt: Attempt,
    isSpent: boolean,
  ): Promise<string | ApiError> {
    const { reason } = rule;
    const asked = askedOf(orgId, rule, attempt);
    const { attempted } = asked;
    const { id, approved } = await approvals.request(asked, now);
    return approved && !isSpent
      ? id
      : apiErrorWithDetails('policy_approval_required', {
          reason,
          attempted,
          rule_id: rule.id,
          approval_id: id,
        });
  }

  function answer(
    request: GateRequest,
    verdict: Exclude<Verdict<CompiledRule>, { kind: 'allow' }>,
    attempt: Attempt,
    isSpent = false,
  ): ApiError | Promise<string | ApiError> {
    switch (verdict.kind) {
      case 'block':
        return refuseBlock(request.orgId, verdict.rule, attempt);
      case 'require_approval':
        return ask(request, verdict.rule, attempt, isSpent);
      case 'error':
        return refuseError(request.orgId, verdict.rule, verdict.fault);
    }
  }

  async function rulesAndZone(orgId: string): Promise<readonly [readonly CompiledRule[], string]> {
    return [await memory.rulesOf(orgId), await timezoneOf(orgId)];
  }

  return {
    isGoverned: memory.isGoverned,
    async check(request) {
      const [rules, timezone] = await rulesAndZone(request.orgId);
      if (rules.length === 0) {
        return none;
      }
      const permits = new Map<number, string>();
      const yielder = createYielder();
      for (const [index, attempt] of request.attempts.entries()) {
        if (attempt === undefined) {
          continue;
        }
        const verdict = judge(rules, attempt, timezone);
        if (verdict.kind !== 'allow' && !(await request.isKnown(index))) {
          const said = await answer(request, verdict, attempt);
          if (said instanceof ApiError) {
            throw request.bulk ? withRunIndex(said, index) : said;
          }
          permits.set(index, said);
        }
        await yielder.yieldIfDue();
      }
      return permits;
    },
    async look(orgId, attempts, now) {
      const [rules, timezone] = await rulesAndZone(orgId);
      const verdicts: Verdict<CompiledRule>[] = [];
      const yielder = createYielder();
      for (const attempt of rules.length === 0 ? [] : attempts) {
        verdicts.push(judge(rules, attempt, timezone));
        await yielder.yieldIfDue();
      }
      const wanting = verdicts.flatMap((verdict, index) =>
        verdict.kind === 'require_approval' ? [{ index, rule: verdict.rule }] : [],
      );
      const found = await approvals.findApproved(
        orgId,
        wanting.map(({ index, rule }) => askedOf(orgId, rule, attempts[index] as Attempt)),
        now,
      );
      const approved = new Set(wanting.filter((_, place) => found[place]).map(({ index }) => index));
      return verdicts.map((verdict, index): Objection | undefined =>
        verdict.kind === 'allow'
          ? undefined
          : {
              code: objectionCodes[verdict.kind],
              ruleId: verdict.rule.id,
              isApproved: approved.has(index),
            },
      );
    },
    async permitSpentError(request, index) {
      const [rules, timezone] = await rulesAndZone(request.orgId);
      const attempt = request.attempts[index] as Attempt;
      const verdict = judge(rules, attempt, timezone);
      const said = verdict.kind === 'allow' ? undefined : await answer(request, verdict, attempt, true);
      // Where the rules were changed just now, the next attempt meets the new ones.
      const error = said instanceof ApiError ? said : apiError('service_unavailable');
      return request.bulk ? withRunIndex(error, index) : error;
    },
  };
}

function askedOf(orgId: string, rule: CompiledRule, attempt: Attempt): ApprovalRequest {
  const subject = subjectOf(attempt);
  return {
    orgId,
    ruleId: rule.id,
    ruleVersion: rule.version,
    ruleReason: rule.reason,
    keyId: attempt.key_id,
    attempted: attemptedOf(rule, subject),
    ...subject,
  };
}

function subjectOf({ model, action }: Attempt): { model: string; action: string } {
  return { model, action: action ?? '' };
}

function once<Value>(make: () => Value): () => Value {
  let made: Value | undefined;
  return () => {
    made ??= make();
    return made;
  };
}
