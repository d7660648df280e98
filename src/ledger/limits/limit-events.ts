/**
 * Emits an event when a limit starts to deny requests: once per limit and window, across all requests, processes and restarts. An
 * allowed request does no work here, a denied request one lookup in memory. The event is written in the background, under a key
 * that is unique in the database.
 */

import type { ErrorCode } from '../../contract/errors.ts';
import type { EventType } from '../../contract/events.ts';
import { type Denial, inUnit } from '../../kernel/denial.ts';
import {
  alertKey,
  applicable,
  counterKey,
  emptyScope,
  type Limit,
  type Match,
  type MatchField,
  type OrgLimits,
  type Scope,
  shownKind,
  valueIn,
  WILDCARD,
} from '../../kernel/limits.ts';
import { fixedWindow, lifetime, type Window } from '../../kernel/windows.ts';
import type { Database, Queryable } from '../../platform/db/database.ts';
import { FairShare } from '../../platform/fair-share.ts';
import type { Ids } from '../../platform/ids.ts';
import type { Job } from '../../platform/jobs/jobs.ts';
import { enqueueEvents } from '../../platform/outbox/outbox.ts';
import type { Clock } from '../../platform/time/clock.ts';
import type { OrgLimitsCache } from './org-limits.ts';

/** The fields of a limit that an event contains. */
export type EventLimit = Pick<Limit, 'id' | 'kind' | 'unit' | 'match' | 'capacity'>;
/** The fields of a request that are known when it is denied. */
export type EventScope = Pick<Scope, 'key_id'> & Partial<Scope>;

export interface LimitEvents {
  /** Handles the denial of a request by a limit of the ledger. */
  limitDenied(orgId: string, scope: Scope, denial: Denial): void;
  /** Handles the denial of a request by a rate limit. A rate limit has no window, so at most one event per hour is emitted. */
  rateDenied(orgId: string, scope: EventScope, limit: EventLimit, rateKey: string, code: ErrorCode): void;
  readonly job: Job;
}

interface PendingEvent {
  readonly orgId: string;
  readonly key: string;
  readonly limit: EventLimit;
  readonly window: Window;
  readonly used: bigint;
  readonly scope: EventScope;
  readonly code: ErrorCode;
  readonly at: Date;
}

export interface LimitEventDependencies {
  readonly db: Database;
  readonly ids: Ids;
  readonly clock: Clock;
  readonly orgLimits: Pick<OrgLimitsCache, 'peek' | 'get'>;
}

const eventType: EventType = 'limit.exhausted';
/** Marker in `limit_alerts.threshold`, which otherwise contains percentages. */
const exhaustedThreshold = 0;
const rateWindowSeconds = 3_600;
const cachedKeysMax = 50_000;
const pendingMax = 10_000;
const eventsPerBatch = 200;

export function createLimitEvents({ db, ids, clock, orgLimits }: LimitEventDependencies): LimitEvents {
  const enqueuedKeys = new Set<string>();
  let pending: PendingEvent[] = [];
  /** Denials for credits whose org had no cached limits, by org and customer. */
  const withoutLimits = new Map<string, Pick<PendingEvent, 'orgId' | 'code'> & { readonly scope: Scope }>();
  /** Limits the places per org, so that an org with many denials does not crowd out the events of others. */
  const places = new FairShare({ capacity: pendingMax });

  function enqueue(event: Omit<PendingEvent, 'at'>): void {
    const name = `${event.orgId} ${event.key}`;
    if (enqueuedKeys.has(name) || !places.tryTake(event.orgId)) {
      return;
    }
    if (enqueuedKeys.size >= cachedKeysMax) {
      // The same events may be enqueued again; the database rejects duplicates.
      enqueuedKeys.clear();
    }
    enqueuedKeys.add(name);
    pending.push({ ...event, at: clock.now() });
  }

  /** A denial for credits names no limit, so its event names the newest credit pack of the customer. */
  function creditsDenied(orgId: string, scope: Scope, limits: OrgLimits, code: ErrorCode): void {
    const pack = applicable(limits, scope).findLast(({ kind }) => kind === 'credits');
    if (pack !== undefined) {
      const key = alertKey(pack, counterKey(pack, lifetime, scope));
      enqueue({ orgId, limit: pack, window: lifetime, scope, code, used: pack.capacity, key });
    }
  }

  /** Loads the limits of orgs that were not cached at the denial, and enqueues their events. */
  async function findPacks(): Promise<void> {
    for (const [name, { orgId, scope, code }] of withoutLimits) {
      creditsDenied(orgId, scope, await orgLimits.get(orgId), code);
      withoutLimits.delete(name);
    }
  }

  function rateDenied(...[orgId, scope, limit, rateKey, code]: Parameters<LimitEvents['rateDenied']>): void {
    const window = fixedWindow(rateWindowSeconds, clock.now().getTime());
    const key = `${rateKey}@${window.startMs}`;
    enqueue({ orgId, limit, window, scope, code, used: limit.capacity, key });
  }

  async function writeBatch(): Promise<boolean> {
    await findPacks();
    const batch = pending.slice(0, eventsPerBatch);
    if (batch.length === 0) {
      return false;
    }
    await db.transaction((tx) => write(tx, ids, batch));
    pending = pending.slice(batch.length);
    for (const { orgId } of batch) {
      places.release(orgId);
    }
    return pending.length > 0;
  }

  return {
    limitDenied(orgId, scope, { code, by }) {
      if (by === null) {
        const limits = orgLimits.peek(orgId);
        if (limits !== undefined) {
          creditsDenied(orgId, scope, limits, code);
        } else if (withoutLimits.size < pendingMax) {
          withoutLimits.set(`${orgId} ${scope.customer_id}`, { orgId, scope, code });
        }
        return;
      }
      const { limit, window, used } = by;
      if (limit.kind === 'concurrency') {
        return rateDenied(orgId, scope, limit, counterKey(limit, lifetime, scope), code);
      }
      const key = alertKey(limit, counterKey(limit, window, scope));
      enqueue({ orgId, limit, window, scope, code, used, key });
    },
    rateDenied,
    job: {
      id: 'emit-limit-events',
      everyMs: 500,
      runOnce: writeBatch,
      async stop() {
        while (await writeBatch()) {
          // Continues with the next batch.
        }
      },
    },
  };
}

async function write(tx: Queryable, ids: Ids, batch: readonly PendingEvent[]): Promise<void> {
  const inserted = await tx.query<{ org_id: string; counter_key: string }>(
    `INSERT INTO limit_alerts (org_id, counter_key, threshold, at)
     SELECT unnest($1::text[]), unnest($2::text[]), $3, unnest($4::timestamptz[])
     ON CONFLICT DO NOTHING RETURNING org_id, counter_key`,
    [
      batch.map(({ orgId }) => orgId),
      batch.map(({ key }) => key),
      exhaustedThreshold,
      batch.map(({ at }) => at),
    ],
  );
  const insertedKeys = new Set(inserted.map(({ org_id, counter_key }) => `${org_id} ${counter_key}`));
  await enqueueEvents(
    tx,
    batch
      .filter(({ orgId, key }) => insertedKeys.has(`${orgId} ${key}`))
      .map((event) => ({
        id: ids.next('evt'),
        tenantId: event.orgId,
        type: eventType,
        createdAt: event.at,
        data: dataOf(event),
      })),
  );
}

/** Returns the match with the known values of the request in place of wildcards. */
function matchedBy(match: Match, scope: EventScope): Match {
  const values = { ...emptyScope, ...scope };
  return Object.fromEntries(
    (Object.entries(match) as [MatchField, string][]).map(([field, value]) => [
      field,
      value === WILDCARD ? (valueIn(values, field) ?? WILDCARD) : value,
    ]),
  );
}

function dataOf({ limit, window, used, scope, code }: PendingEvent): object {
  return {
    limit_id: limit.id,
    ...shownKind(limit),
    match: limit.match,
    matched: matchedBy(limit.match, scope),
    limit: inUnit(limit, limit.capacity),
    used: inUnit(limit, used),
    window_start: new Date(window.startMs).toISOString(),
    window_end: window === lifetime ? null : new Date(window.endMs).toISOString(),
    scope: {
      key_id: scope.key_id,
      model: scope.model ?? null,
      customer_id: scope.customer_id ?? null,
      chain_id: scope.chain_id ?? null,
    },
    code,
  };
}
