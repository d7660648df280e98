/** Temporary raises of limits: their rules, and their view. */
import { apiError, found, invalidField } from '../../../contract/api-error.ts';
import { fieldsOf, WILDCARD } from '../../../kernel/limits.ts';
import { formatUsd, maxNanos } from '../../../kernel/money.ts';
import { positiveNanosOf } from '../../../ledger/limits/limit-fields.ts';
import {
  endRaiseEarly,
  insertRaise,
  lockRaise,
  type RaiseRow,
  selectActiveRaises,
} from '../../../ledger/limits/limit-raises.ts';
import type { LimitRow } from '../../../ledger/limits/limits.ts';
import type { Transaction } from '../../../platform/db/database.ts';
import type { Ids } from '../../../platform/ids.ts';
import type { CreateRaise, RaiseView } from './schema.ts';

const untilMaxMs = 366 * 86_400_000;
/** Maximum number of active raises of a limit. Decisions add them up, once for each change and each value. */
const activeMax = 200;

/** The fields of a limit that its raises show. */
export type RaisedLimit = Pick<LimitRow, 'id' | 'kind' | 'name'>;

/** A raise has ended at its time, whether its row is marked or not. */
export function viewRaise(limit: RaisedLimit, row: RaiseRow, now: Date): RaiseView {
  const endedAt = row.ended_at ?? (row.until <= now ? row.until : null);
  return {
    id: row.id,
    limit_id: row.limit_id,
    limit_kind: limit.kind,
    limit_name: limit.name,
    scope_id: row.value,
    amount_usd: formatUsd(row.amount),
    until: row.until.toISOString(),
    reason: row.reason,
    state: endedAt === null ? 'active' : 'ended',
    created_by: row.created_by,
    created_at: row.created_at.toISOString(),
    ended_at: endedAt?.toISOString() ?? null,
    ended_by: row.ended_by,
    request_id: row.request_id,
  };
}

export interface RaiseRequest {
  /** The row of the limit, locked. */
  readonly limit: LimitRow;
  readonly body: CreateRaise;
  readonly callerId: string;
  readonly now: Date;
  /** The request that is approved. */
  readonly requestId?: string | null;
}

/** Raises a limit. Its row must be locked, so that concurrent raises cannot exceed what is allowed together. */
export async function createRaise(
  tx: Transaction,
  ids: Ids,
  { limit, body, callerId, now, requestId = null }: RaiseRequest,
): Promise<RaiseRow> {
  const row: RaiseRow = {
    org_id: limit.org_id,
    id: ids.next('rse'),
    limit_id: limit.id,
    value: raisedValue(limit, body.scope_id),
    amount: positiveNanosOf('amount_usd', body.amount_usd),
    until: validUntil(body.until, now),
    reason: body.reason,
    created_by: callerId,
    created_at: now,
    ended_at: null,
    ended_by: null,
    request_id: requestId,
  };
  const active = await selectActiveRaises(tx, limit.org_id, limit.id, now);
  if (active.length >= activeMax) {
    throw apiError(
      'conflict',
      `The limit has ${activeMax} active raises. End one of them, or change the limit.`,
    );
  }
  if (active.reduce((sum, { amount }) => sum + amount, limit.capacity + row.amount) > maxNanos) {
    throw invalidField('amount_usd', 'out_of_range', 'The raised limit must be less than 9 billion.');
  }
  await insertRaise(tx, row);
  return row;
}

export function countsEachValue({ match }: LimitRow): boolean {
  return fieldsOf(match).some((field) => match[field] === WILDCARD);
}

export function raisedValue(limit: LimitRow, scopeId: string | undefined): string | null {
  if (scopeId !== undefined && !countsEachValue(limit)) {
    throw invalidField('scope_id', 'invalid_value', 'Must be left out: the limit does not count each value.');
  }
  return scopeId ?? null;
}

/** Returns the end of a raise, which must be in the future and at most a year ahead. */
export function validUntil(until: string, now: Date): Date {
  const at = new Date(until);
  if (at <= now) {
    throw invalidField('until', 'out_of_range', 'Must be in the future.');
  }
  if (at.getTime() > now.getTime() + untilMaxMs) {
    throw invalidField('until', 'out_of_range', 'Must be at most one year ahead.');
  }
  return at;
}

export interface EndedRaise {
  readonly before: RaiseRow;
  readonly after: RaiseRow;
}

export interface RaiseEnd {
  readonly limit: LimitRow;
  readonly raiseId: string;
  readonly callerId: string;
  readonly now: Date;
}

/** Ends a raise early. Holds that it admitted stay. */
export async function endRaise(
  tx: Transaction,
  { limit, raiseId, callerId, now }: RaiseEnd,
): Promise<EndedRaise> {
  const before = found(await lockRaise(tx, limit.org_id, limit.id, raiseId));
  if (before.ended_at !== null || before.until <= now) {
    throw apiError('conflict', 'The raise has already ended.');
  }
  const after = { ...before, ended_at: now, ended_by: callerId };
  await endRaiseEarly(tx, after);
  return { before, after };
}
