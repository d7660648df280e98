/**
 * Checks runs against the org's rules on models and actions, after the rate limits and before the ledger. A denied run gets its
 * debits from rate limits back. For orgs without rules, the check only reads caches.
 */
import { ApiError, apiError, apiErrorWithDetails } from '../../../contract/api-error.ts';
import { attemptedOf, type RuleVerdict, verdictOf } from '../../../kernel/policy.ts';
import { withRunIndex } from '../../../ledger/ledger-errors.ts';
import { createYielder } from '../../../platform/jobs/yielder.ts';
import type { Log } from '../../../platform/log.ts';
import type { ApprovalRequest, Approvals } from '../approvals/index.ts';
import type { BlockedEvents } from './blocked-events.ts';
import { type ExpressionInput, expressionInputOf, type PolicyInput } from './expression-input.ts';
import type { PolicyCache } from './policy-cache.ts';
import type { CompiledRule } from './rules.ts';

export interface PolicyCheckDependencies {
  readonly memory: PolicyCache;
  readonly approvals: Approvals;
  readonly blocked: BlockedEvents;
  readonly log: Log;
  timezoneOf(orgId: string): string | Promise<string>;
}

export interface PolicyCheckRequest {
  readonly orgId: string;
  readonly now: Date;
  /** The attempts. Undefined entries are not checked, because they are not new admissions. */
  readonly attempts: readonly (PolicyInput | undefined)[];
  /** True if errors must contain the index of the attempt. */
  readonly bulk: boolean;
  /** Returns true if the run already exists and needs no admission. Only called if the verdict is not `allow`. */
  isKnown(index: number): Promise<boolean>;
}

/** Ids of the approvals that attempts may use, by the index of the attempt. */
export type PermitIds = ReadonlyMap<number, string>;

/** The rule that denies an attempt in a preview, unless the attempt is approved. */
export interface PolicyDenial {
  readonly code: 'policy_blocked' | 'policy_approval_required' | 'policy_expression_error';
  readonly ruleId: string;
  /** True if an existing approval allows the attempt. */
  readonly isApproved: boolean;
}

const denialCodes = {
  block: 'policy_blocked',
  require_approval: 'policy_approval_required',
  error: 'policy_expression_error',
} as const;

export interface PolicyCheck {
  /** Returns true if the org has enabled rules. */
  isGoverned(orgId: string): boolean | Promise<boolean>;
  /** Throws the error of the first attempt that is not allowed. */
  check(request: PolicyCheckRequest): Promise<PermitIds>;
  /**
   * Returns the denial of each attempt; undefined if the rules allow it. Returns an empty array if no rules are enabled. Requests
   * no approvals and emits no events.
   */
  preview(orgId: string, attempts: readonly PolicyInput[], now: Date): Promise<(PolicyDenial | undefined)[]>;
  /** Returns the error of an attempt whose approval was used up or withdrawn before the attempt could use it. */
  permitSpentError(request: PolicyCheckRequest, index: number): Promise<ApiError>;
}

const none: PermitIds = new Map();

export function createPolicyCheck(deps: PolicyCheckDependencies): PolicyCheck {
  const { memory, approvals, blocked, log, timezoneOf } = deps;

  function judge(
    rules: readonly CompiledRule[],
    attempt: PolicyInput,
    timezone: string,
  ): RuleVerdict<CompiledRule> {
    return verdictOf<ExpressionInput, CompiledRule>(
      rules,
      subjectOf(attempt),
      once(() => expressionInputOf(attempt, timezone)),
    );
  }

  function expressionError(orgId: string, rule: CompiledRule, fault: string): ApiError {
    log.warn(
      { tenant: orgId, rule: rule.id, version: Number(rule.version), fault },
      'policy rule evaluation failed',
    );
    return apiErrorWithDetails('policy_expression_error', { rule_id: rule.id });
  }

  function blockedError(orgId: string, rule: CompiledRule, attempt: PolicyInput): ApiError {
    const attempted = attemptedOf(rule, subjectOf(attempt));
    const { reason } = rule;
    blocked.enqueue({
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

  /** Returns the id of a usable approval, or the error with the id of the approval to wait for. */
  async function requestApproval(
    { orgId, now }: PolicyCheckRequest,
    rule: CompiledRule,
    attempt: PolicyInput,
    isSpent: boolean,
  ): Promise<string | ApiError> {
    const { reason } = rule;
    const approvalRequest = approvalRequestOf(orgId, rule, attempt);
    const { attempted } = approvalRequest;
    const { id, approved } = await approvals.request(approvalRequest, now);
    return approved && !isSpent
      ? id
      : apiErrorWithDetails('policy_approval_required', {
          reason,
          attempted,
          rule_id: rule.id,
          approval_id: id,
        });
  }

  /** Returns the id of an approval that allows the attempt, or the error. */
  function resolveVerdict(
    request: PolicyCheckRequest,
    verdict: Exclude<RuleVerdict<CompiledRule>, { kind: 'allow' }>,
    attempt: PolicyInput,
    isSpent = false,
  ): ApiError | Promise<string | ApiError> {
    switch (verdict.kind) {
      case 'block':
        return blockedError(request.orgId, verdict.rule, attempt);
      case 'require_approval':
        return requestApproval(request, verdict.rule, attempt, isSpent);
      case 'error':
        return expressionError(request.orgId, verdict.rule, verdict.fault);
    }
  }

  async function rulesAndZone(orgId: string): Promise<readonly [readonly CompiledRule[], string]> {
    return [await memory.rulesOf(orgId), await timezoneOf(orgId)];
  }

  return {
    isGoverned: memory.hasPolicies,
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
          const permit = await resolveVerdict(request, verdict, attempt);
          if (permit instanceof ApiError) {
            throw request.bulk ? withRunIndex(permit, index) : permit;
          }
          permits.set(index, permit);
        }
        await yielder.yieldIfDue();
      }
      return permits;
    },
    async preview(orgId, attempts, now) {
      const [rules, timezone] = await rulesAndZone(orgId);
      const verdicts: RuleVerdict<CompiledRule>[] = [];
      const yielder = createYielder();
      for (const attempt of rules.length === 0 ? [] : attempts) {
        verdicts.push(judge(rules, attempt, timezone));
        await yielder.yieldIfDue();
      }
      const needApproval = verdicts.flatMap((verdict, index) =>
        verdict.kind === 'require_approval' ? [{ index, rule: verdict.rule }] : [],
      );
      const found = await approvals.findApproved(
        orgId,
        needApproval.map(({ index, rule }) => approvalRequestOf(orgId, rule, attempts[index] as PolicyInput)),
        now,
      );
      const approved = new Set(needApproval.filter((_, place) => found[place]).map(({ index }) => index));
      return verdicts.map((verdict, index): PolicyDenial | undefined =>
        verdict.kind === 'allow'
          ? undefined
          : {
              code: denialCodes[verdict.kind],
              ruleId: verdict.rule.id,
              isApproved: approved.has(index),
            },
      );
    },
    async permitSpentError(request, index) {
      const [rules, timezone] = await rulesAndZone(request.orgId);
      const attempt = request.attempts[index] as PolicyInput;
      const verdict = judge(rules, attempt, timezone);
      const resolved =
        verdict.kind === 'allow' ? undefined : await resolveVerdict(request, verdict, attempt, true);
      // If the rules have just changed, the caller must retry, which checks the new rules.
      const error = resolved instanceof ApiError ? resolved : apiError('service_unavailable');
      return request.bulk ? withRunIndex(error, index) : error;
    },
  };
}

function approvalRequestOf(orgId: string, rule: CompiledRule, attempt: PolicyInput): ApprovalRequest {
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

function subjectOf({ model, action }: PolicyInput): { model: string; action: string } {
  return { model, action: action ?? '' };
}

function once<Value>(make: () => Value): () => Value {
  let made: Value | undefined;
  return () => {
    made ??= make();
    return made;
  };
}
