/** Open holds, and the changes that a caller can make to one: extend and void here, increase in `hold-increases.ts`. */
import { apiError } from '../../../contract/api-error.ts';
import { debitsOf } from '../../../kernel/admission.ts';
import type { Unit } from '../../../kernel/limits.ts';
import { formatUsd } from '../../../kernel/money.ts';
import type { FailOpenLookup } from '../../../ledger/fail-open-lookup.ts';
import { type Hold, runIdOf } from '../../../ledger/holds/hold.ts';
import type { HoldChange } from '../../../ledger/holds/hold-request.ts';
import type { Ledger } from '../../../ledger/ledger.ts';
import { findEnds } from '../../../ledger/postings/ledger-writes.ts';
import type { Database } from '../../../platform/db/database.ts';
import { decodeCursor, encodeCursor, type PageOf, pageSize } from '../../../platform/http/routes/list.ts';
import type { StoreResponse } from '../../../platform/http/routes/route.ts';
import { limitIdOf } from './counter-keys.ts';
import { findUnits } from './limit-kinds.ts';
import type { HoldFilters, HoldView } from './schema.ts';

export interface HoldDependencies {
  readonly db: Database;
  readonly ledger: Pick<Ledger, 'reads' | 'extend' | 'void'>;
  readonly failOpen: FailOpenLookup;
}

export async function listHolds(
  { db, ledger }: Pick<HoldDependencies, 'db' | 'ledger'>,
  orgId: string,
  { limit = pageSize.fallback, cursor, sort = 'admitted_at' }: HoldFilters,
): Promise<PageOf<HoldView>> {
  // A cursor contains the id only: ids are ordered by admission.
  const after = cursor === undefined ? undefined : decodeCursor(cursor, sort, 'text').id;
  const holds = await ledger.reads.holds(orgId, {
    limit: limit + 1,
    after,
    newestFirst: sort.startsWith('-'),
  });
  const data = await viewHolds(db, orgId, holds.slice(0, limit));
  const last = data.at(-1);
  const more = holds.length > limit && last !== undefined;
  return { data, next_cursor: more ? encodeCursor(sort, '', last.decision_id) : null };
}

/**
 * The idempotent response is stored in a separate transaction after the change. If the process stops in between, no
 * response was sent: the retry extends again, from its own time on, and extending twice has the same effect as
 * extending once to the later end.
 */
export async function extendHold(
  deps: HoldDependencies,
  orgId: string,
  holdId: string,
  seconds: number,
  storeResponse: StoreResponse | undefined,
): Promise<HoldView> {
  await deps.failOpen.importNow(orgId, [holdId]);
  rejectCallInProgress(await deps.ledger.reads.findHold(orgId, holdId));
  const change = await deps.ledger.extend(orgId, holdId, seconds);
  return viewAndStore(deps, changed(deps, orgId, holdId, change), storeResponse);
}

/** Returns the view of a changed hold, and stores it as the idempotent response. */
export async function viewAndStore(
  { db }: HoldDependencies,
  hold: Hold,
  storeResponse: StoreResponse | undefined,
): Promise<HoldView> {
  const [view] = await viewHolds(db, hold.orgId, [hold]);
  if (view === undefined) {
    throw new Error('hold not shown');
  }
  if (storeResponse !== undefined) {
    await db.transaction((tx) => storeResponse(tx, view));
  }
  return view;
}

/**
 * Here too the idempotent response is stored after the change, so a retry may find a hold that its own first attempt
 * has voided without a response. The end of the hold records that it was voided, which is what was requested: with an
 * `Idempotency-Key` the retry succeeds. Without one, a second void is a conflict, as for any hold that has ended.
 */
export async function voidHold(
  deps: HoldDependencies,
  orgId: string,
  holdId: string,
  storeResponse: StoreResponse | undefined,
): Promise<void> {
  const { db, ledger, failOpen } = deps;
  await failOpen.importNow(orgId, [holdId]);
  rejectCallInProgress(await ledger.reads.findHold(orgId, holdId));
  const change = await ledger.void(orgId, holdId);
  if (storeResponse === undefined) {
    changed(deps, orgId, holdId, change);
    return;
  }
  if (change.kind !== 'ended' || !(await wasVoided(db, orgId, holdId))) {
    changed(deps, orgId, holdId, change);
  }
  await db.transaction((tx) => storeResponse(tx, undefined));
}

/** Returns true if a decision of the org has this id: its hold is open or has ended, or it was given fail-open. */
export async function ownsDecision(
  { db, ledger, failOpen }: HoldDependencies,
  orgId: string,
  decisionId: string,
): Promise<boolean> {
  return (
    failOpen.decidedAtMs(orgId, decisionId) !== undefined ||
    (await ledger.reads.findHold(orgId, decisionId)) !== undefined ||
    (await findEnds(db, [orgId], [decisionId])).length > 0
  );
}

/** Only the gateway changes the hold of one of its calls. */
export function rejectCallInProgress(hold: Hold | undefined): void {
  if (hold?.postIfUnsettled === true) {
    throw apiError(
      'conflict',
      'The hold belongs to a call in progress through the gateway, and ends with it.',
    );
  }
}

async function wasVoided(db: Database, orgId: string, holdId: string): Promise<boolean> {
  const [end] = await findEnds(db, [orgId], [holdId]);
  return end?.ended_as === 'voided';
}

/** Returns the changed hold; throws if there is none. */
export function changed(
  { failOpen }: Pick<HoldDependencies, 'failOpen'>,
  orgId: string,
  holdId: string,
  change: HoldChange,
): Hold {
  switch (change.kind) {
    case 'changed':
      return change.hold;
    case 'unknown':
      if (failOpen.decidedAtMs(orgId, holdId) !== undefined) {
        // Another process gave the decision fail-open and imports it.
        throw apiError(
          'service_unavailable',
          'This decision was made while the ledger was unavailable and is not in the ledger yet. Try again later.',
        );
      }
      throw apiError('not_found');
    case 'ended':
      throw apiError('conflict', 'The hold has already ended.');
  }
}

async function viewHolds(db: Database, orgId: string, holds: readonly Hold[]): Promise<HoldView[]> {
  const ids = new Set(
    holds.flatMap(({ shares, packs }) => [...shares, ...packs].map(({ key }) => limitIdOf(key))),
  );
  const units = await findUnits(db, orgId, [...ids]);
  return holds.map((hold) => viewHold(hold, units));
}

function viewHold(hold: Hold, units: ReadonlyMap<string, Unit>): HoldView {
  const { scope, amounts } = hold;
  return {
    decision_id: hold.id,
    run_id: runIdOf(hold),
    surface: hold.surface,
    held_usd: formatUsd(amounts.usd),
    tokens: Number(amounts.tokens),
    ...scope,
    tags: scope.tags ?? {},
    admitted_at: new Date(hold.admittedAtMs).toISOString(),
    expires_at: new Date(hold.expiresAtMs).toISOString(),
    limits: debitsOf(hold).map(({ key, amount }) => {
      const limitId = limitIdOf(key);
      const isMoney = (units.get(limitId) ?? 'usd') === 'usd';
      return { limit_id: limitId, amount: isMoney ? formatUsd(amount) : Number(amount) };
    }),
  };
}
