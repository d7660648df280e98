/** Requests for temporary raises: anyone whom a limit denies asks, and an administrator approves or denies. */
import { apiError, apiErrorWithDetails, found, invalidField } from '../../../contract/api-error.ts';
import { formatUsd } from '../../../kernel/money.ts';
import { positiveNanosOf } from '../../../ledger/limits/limit-fields.ts';
import type { RaiseRow } from '../../../ledger/limits/limit-raises.ts';
import { findLimitsEvenEnded, type LimitRow, lockLimit } from '../../../ledger/limits/limits.ts';
import type { Transaction } from '../../../platform/db/database.ts';
import type { Caller } from '../../../platform/http/routes/access.ts';
import type { Ids } from '../../../platform/ids.ts';
import { isOwnRequest } from '../../governance/approvals/index.ts';
import { raisableKinds } from './raisable-kinds.ts';
import { countsEachValue, createRaise, type RaisedLimit, raisedValue, validUntil } from './raises.ts';
import {
  countPending,
  insertRequest,
  lockRequest,
  type RequestRow,
  updateRequest,
} from './request-queries.ts';
import type { ApproveRaiseRequest, CreateRaiseRequest, RaiseRequestView, RequestState } from './schema.ts';

/** Maximum number of pending requests of one key or member. */
const pendingMax = 20;

/** A request that nobody has decided on by the end of the raise can have no effect any more. */
export function stateOf({ state, until }: RequestRow, now: Date): RequestState {
  return state === 'pending' && until <= now ? 'lapsed' : state;
}

export function viewRequest(limit: RaisedLimit, row: RequestRow, now: Date): RaiseRequestView {
  return {
    id: row.id,
    state: stateOf(row, now),
    limit_id: row.limit_id,
    limit_kind: limit.kind,
    limit_name: limit.name,
    scope_id: row.value,
    amount_usd: formatUsd(row.amount),
    until: row.until.toISOString(),
    reason: row.reason,
    requested_by: row.requested_by,
    requested_at: row.requested_at.toISOString(),
    decided_by: row.decided_by,
    decided_at: row.decided_at?.toISOString() ?? null,
    decision_reason: row.decision_reason,
    raise_id: row.raise_id,
  };
}

interface RequestOf {
  readonly caller: Caller;
  readonly now: Date;
}

export async function requestRaise(
  tx: Transaction,
  ids: Ids,
  { caller, now }: RequestOf,
  body: CreateRaiseRequest,
): Promise<{ readonly limit: LimitRow; readonly row: RequestRow }> {
  const orgId = caller.tenantId;
  const limit = await lockRaisable(tx, orgId, body.limit_id);
  if (limit === undefined) {
    throw invalidField('limit_id', 'invalid_value', 'No limit that can be raised has this id.');
  }
  if (body.scope_id === undefined && countsEachValue(limit)) {
    throw invalidField('scope_id', 'required', 'Required: the limit counts each value.');
  }
  const row: RequestRow = {
    org_id: orgId,
    id: ids.next('rrq'),
    limit_id: limit.id,
    value: raisedValue(limit, body.scope_id),
    amount: positiveNanosOf('amount_usd', body.amount_usd),
    until: validUntil(body.until, now),
    reason: body.reason,
    state: 'pending',
    requested_by: caller.keyId,
    requested_at: now,
    decided_by: null,
    decided_at: null,
    decision_reason: null,
    raise_id: null,
  };
  const pending = await countPending(tx, row, now);
  if (pending.alike > 0) {
    throw apiError('conflict', 'You have already asked for this limit. Wait for the decision.');
  }
  if (pending.all >= pendingMax) {
    throw apiError('conflict', `You have ${pendingMax} pending requests. Wait for their decisions.`);
  }
  await insertRequest(tx, row);
  return { limit, row };
}

/** Locks a live limit of a kind that can be raised. */
async function lockRaisable(tx: Transaction, orgId: string, limitId: string): Promise<LimitRow | undefined> {
  const [limit] = await findLimitsEvenEnded(tx, orgId, [limitId]);
  return limit !== undefined && raisableKinds.some(({ kind }) => kind === limit.kind)
    ? lockLimit(tx, orgId, limit.kind, limitId)
    : undefined;
}

export interface RequestDecision extends RequestOf {
  readonly requestId: string;
}

export interface DecidedRequest {
  readonly limit: LimitRow;
  readonly before: RequestRow;
  readonly after: RequestRow;
}

/** Approves a request and raises the limit, in one transaction. */
export async function approveRequest(
  tx: Transaction,
  ids: Ids,
  decision: RequestDecision,
  { amount_usd, until, reason }: ApproveRaiseRequest,
): Promise<DecidedRequest & { readonly raise: RaiseRow }> {
  const { caller, now } = decision;
  const { limit, before } = await lockPending(tx, decision);
  const raise = await createRaise(tx, ids, {
    limit,
    body: {
      amount_usd: amount_usd ?? formatUsd(before.amount),
      until: until ?? before.until.toISOString(),
      reason: before.reason,
      ...(before.value !== null && { scope_id: before.value }),
    },
    callerId: caller.keyId,
    now,
    requestId: before.id,
  });
  const after = await decide(tx, before, decision, { state: 'approved', reason, raiseId: raise.id });
  return { limit, before, after, raise };
}

export async function denyRequest(
  tx: Transaction,
  decision: RequestDecision,
  reason: string | undefined,
): Promise<DecidedRequest> {
  const { limit, before } = await lockPending(tx, decision);
  return { limit, before, after: await decide(tx, before, decision, { state: 'denied', reason }) };
}

async function decide(
  tx: Transaction,
  before: RequestRow,
  { caller, now }: RequestDecision,
  {
    state,
    reason = null,
    raiseId,
  }: {
    readonly state: 'approved' | 'denied';
    readonly reason?: string | null | undefined;
    readonly raiseId?: string;
  },
): Promise<RequestRow> {
  const after: RequestRow = {
    ...before,
    state,
    decided_by: caller.keyId,
    decided_at: now,
    decision_reason: reason,
    raise_id: raiseId ?? null,
  };
  await updateRequest(tx, after);
  return after;
}

/** Locks the limit and the request, in the order of a new request, so that the second of two decisions sees the first. */
async function lockPending(
  tx: Transaction,
  { caller, now, requestId }: RequestDecision,
): Promise<{ readonly limit: LimitRow; readonly before: RequestRow }> {
  const orgId = caller.tenantId;
  const before = found(await lockRequest(tx, orgId, requestId));
  const limit = await lockRaisable(tx, orgId, before.limit_id);
  if (limit?.kind === 'customer' && !caller.scopes.has('customers:write')) {
    throw apiErrorWithDetails('missing_scope', { required: 'customers:write' });
  }
  if (await isOwnRequest(tx, orgId, before.requested_by, caller.keyId)) {
    throw apiError('forbidden', 'You cannot decide on your own request. Use a different key.');
  }
  const state = stateOf(before, now);
  if (state !== 'pending') {
    throw apiError('conflict', `The request is not pending: its state is \`${state}\`.`);
  }
  if (limit === undefined) {
    throw apiError('conflict', 'The limit was deleted.');
  }
  return { limit, before };
}
