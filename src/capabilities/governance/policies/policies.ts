/** Creates, changes and deletes rules. Each change creates a version and ends the rule's approvals. */

import { apiError, found, invalidFields } from '../../../contract/api-error.ts';
import type { FieldError } from '../../../contract/errors.ts';
import type { Transaction } from '../../../platform/db/database.ts';
import type { Caller } from '../../../platform/http/routes/access.ts';
import { changeOf } from '../../../platform/http/routes/outcomes.ts';
import type { Change } from '../../../platform/http/routes/route.ts';
import type { Ids } from '../../../platform/ids.ts';
import { lockOrg } from '../../access/orgs/index.ts';
import { endApprovalsOfRule } from '../approvals/index.ts';
import { compileExpression, isSyntaxFault } from './expression.ts';
import {
  insertPolicy,
  insertVersion,
  type PolicyRow,
  policiesChanged,
  selectPolicies,
  updatePolicy,
} from './queries.ts';
import { ruleOf } from './rules.ts';
import { type CreatePolicy, type PatchPolicy, type PolicyView, rulesPerOrgMax } from './schema.ts';

/** Maximum number of worst-case steps for one run, over all rules of an org. */
const costPerOrgMax = 200_000;

export function viewPolicy(row: PolicyRow): PolicyView {
  return {
    id: row.id,
    version: Number(row.version),
    effect: row.effect,
    models: row.models && [...row.models],
    actions: row.actions && [...row.actions],
    expression: row.expression,
    priority: Number(row.priority),
    reason: row.reason,
    enabled: row.enabled,
    owner: row.owner,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  };
}

export interface PolicyCall {
  readonly ids: Ids;
  readonly caller: Caller;
  readonly now: Date;
}

export interface PolicyOutcome {
  readonly row: PolicyRow;
  readonly changes: readonly Change[];
}

export async function createPolicy(
  tx: Transaction,
  { ids, caller, now }: PolicyCall,
  body: CreatePolicy,
): Promise<PolicyOutcome> {
  const others = await lockRules(tx, caller.tenantId);
  if (others.length >= rulesPerOrgMax) {
    throw apiError('conflict', `The organization already has the maximum of ${rulesPerOrgMax} rules.`);
  }
  const row: PolicyRow = {
    org_id: caller.tenantId,
    id: ids.next('pol'),
    version: 1n,
    ...ruleOf(body),
    owner: body.owner ?? null,
    created_at: now,
    updated_at: now,
    deleted_at: null,
  };
  checkExpressions([row, ...others], () => 'expression', 1);
  await insertPolicy(tx, row);
  await keepVersion(tx, row, caller);
  return { row, changes: [changeOf('policy', row, { after: viewPolicy(row) })] };
}

export async function changePolicy(
  tx: Transaction,
  { caller, now }: PolicyCall,
  policyId: string,
  { priority, ...body }: PatchPolicy,
): Promise<PolicyOutcome> {
  const rules = await lockRules(tx, caller.tenantId);
  const before = requireRule(rules, policyId);
  const row: PolicyRow = {
    ...before,
    ...body,
    ...(priority !== undefined && { priority: BigInt(priority) }),
    version: before.version + 1n,
    updated_at: now,
  };
  checkExpressions([row, ...rules.filter((rule) => rule !== before)], () => 'expression', 1);
  return replace(tx, caller, before, row, viewPolicy(row));
}

export async function deletePolicy(
  tx: Transaction,
  { caller, now }: PolicyCall,
  policyId: string,
): Promise<PolicyOutcome> {
  const before = requireRule(await lockRules(tx, caller.tenantId), policyId);
  const row = { ...before, version: before.version + 1n, updated_at: now, deleted_at: now };
  return replace(tx, caller, before, row, { ...viewPolicy(row), deleted_at: now.toISOString() });
}

async function replace(
  tx: Transaction,
  caller: Caller,
  before: PolicyRow,
  row: PolicyRow,
  after: object,
): Promise<PolicyOutcome> {
  await updatePolicy(tx, row);
  await keepVersion(tx, row, caller);
  const ended = await endApprovalsOfRule(tx, row.org_id, row.id, row.updated_at);
  return { row, changes: [changeOf('policy', row, { before: viewPolicy(before), after }), ...ended] };
}

async function keepVersion(tx: Transaction, row: PolicyRow, caller: Caller): Promise<void> {
  await insertVersion(tx, row, caller.keyId, { ...viewPolicy(row), deleted: row.deleted_at !== null });
  await policiesChanged.notify(tx, row.org_id);
}

/** Locks the rules of an org. Changes are serialized, because the number and the total cost of the rules are bounded. */
async function lockRules(tx: Transaction, orgId: string): Promise<PolicyRow[]> {
  await lockOrg(tx, orgId);
  return selectPolicies(tx, orgId);
}

function requireRule(rules: readonly PolicyRow[], policyId: string): PolicyRow {
  return found(rules.find(({ id }) => id === policyId));
}

/**
 * Throws if one of the first `reportedRules` expressions is invalid, or if the cost of all rules together is too high.
 */
export function checkExpressions(
  rules: readonly { readonly expression: string | null }[],
  fieldOf: (index: number) => string,
  reportedRules = rules.length,
): void {
  const fieldErrors: FieldError[] = [];
  let cost = 0;
  for (const [index, { expression }] of rules.entries()) {
    const compiled = expression === null ? undefined : compileExpression(expression);
    if (compiled !== undefined && !isSyntaxFault(compiled)) {
      cost += compiled.cost;
    } else if (compiled !== undefined && index < reportedRules) {
      const message = `At character ${compiled.position + 1}: ${compiled.message}.`;
      fieldErrors.push({ field: fieldOf(index), code: 'invalid_value', message });
    }
  }
  if (fieldErrors.length === 0 && cost > costPerOrgMax) {
    const message = `All rules together may take ${Math.ceil(cost)} steps, the maximum is ${costPerOrgMax}.`;
    fieldErrors.push({ field: fieldOf(0), code: 'out_of_range', message });
  }
  if (fieldErrors.length > 0) {
    throw invalidFields(fieldErrors);
  }
}
