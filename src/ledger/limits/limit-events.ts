/**
 * Tells, by an event, that a limit has begun to refuse: once per limit and window, however many requests, processes and
 * restarts there are. Nothing of it is on the way of an allow, and on the way of a refusal it is a look into memory: the
 * event is written in the background, under a key that is unique in the database.
 */

import type { ErrorCode } from '../../contract/errors.ts';
import type { EventType } from '../../contract/events.ts';
import { type Denial, inUnit } from '../../kernel/denial.ts';
import { applicable, counterKey, type Limit, type Scope } from '../../kernel/limits.ts';
import { fixedWindow, lifetime, type Window } from '../../kernel/windows.ts';
import type { Database, Queryable } from '../../platform/db/database.ts';
import type { Ids } from '../../platform/ids.ts';
import type { Job } from '../../platform/jobs/jobs.ts';
import { enqueueEvents } from '../../platform/outbox/outbox.ts';
import type { Clock } from '../../platform/time/clock.ts';
import type { OrgLimitsCache } from './org-limits.ts';

/** As much of a limit as an event tells. */
export type EventLimit = Pick<Limit, 'id' | 'kind' | 'unit' | 'match' | 'capacity'>;
/** As much of a request as is known where it was refused. */
export type EventScope = Pick<Scope, 'key_id'> & Partial<Scope>;

export interface LimitEvents {
  /** A gate of the books refused. */
  limitDenied(orgId: string, scope: Scope, denial: Denial): void;
  /** A rate refused. It has no window, so it is told of at most once an hour. */
  rateDenied(orgId: string, scope: EventScope, limit: EventLimit, counted: string, code: ErrorCode): void;
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
  readonly orgLimits: Pick<OrgLimitsCache, 'peek'>;
}

const eventType: EventType = 'limit.exhausted';
/** Of `limit_alerts`: thresholds are percents, and this is none. */
const exhaustedThreshold = 0;
const rateWindowSeconds = 3_600;
const cachedKeysMax = 50_000;
const waitingMax = 10_000;
const perBatch = 200;

export function createLimitEvents({ db, ids, clock, orgLimits }: LimitEventDependencies): LimitEvents {
  const remembered = new Set<string>();
  let waiting: PendingEvent[] = [];

  function tell(told: Omit<PendingEvent, 'at'>): void {
    const name = `${told.orgId} ${told.key}`;
    if (remembered.has(name) || waiting.length >= waitingMax) {
      return;
    }
    if (remembered.size >= cachedKeysMax) {
      // What is told twice is found out by the database.
      remembered.clear();
    }
    remembered.add(name);
    waiting.push({ ...told, at: clock.now() });
  }

  /** The customer's credits are gone when its latest pack is. */
  function latestPack(orgId: string, scope: Scope): Limit | undefined {
    const limits = orgLimits.peek(orgId);
    return limits && applicable(limits, scope).findLast(({ kind }) => kind === 'credits');
  }

  async function writeSome(): Promise<boolean> {
    const batch = waiting.slice(0, perBatch);
    if (batch.length === 0) {
      return false;
    }
    await db.transaction((tx) => write(tx, ids, batch));
    waiting = waiting.slice(batch.length);
    return waiting.length > 0;
  }

  return {
    limitDenied(orgId, scope, { code, by }) {
      const limit = by?.limit ?? latestPack(orgId, scope);
      if (limit !== undefined) {
        const window = by?.window ?? lifetime;
        tell({
          orgId,
          limit,
          window,
          scope,
          code,
          used: by?.used ?? limit.capacity,
          key: keyOf(limit, window, scope),
        });
      }
    },
    rateDenied(orgId, scope, limit, counted, code) {
      const window = fixedWindow(rateWindowSeconds, clock.now().getTime());
      const key = `${counted}@${window.startMs}`;
      tell({ orgId, limit, window, scope, code, used: limit.capacity, key });
    },
    job: {
      id: 'emit-limit-events',
      everyMs: 500,
      runOnce: writeSome,
      async stop() {
        while (await writeSome()) {
          // The next batch.
        }
      },
    },
  };
}

/** What has no window is exhausted anew once more was bought. */
function keyOf(limit: Limit, window: Window, scope: Scope): string {
  const key = counterKey(limit, window, scope);
  return limit.span.kind === 'lifetime' ? `${key}#${limit.capacity}` : key;
}

async function write(tx: Queryable, ids: Ids, batch: readonly PendingEvent[]): Promise<void> {
  const fresh = await tx.query<{ org_id: string; counter_key: string }>(
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
  const names = new Set(fresh.map(({ org_id, counter_key }) => `${org_id} ${counter_key}`));
  await enqueueEvents(
    tx,
    batch
      .filter(({ orgId, key }) => names.has(`${orgId} ${key}`))
      .map((told) => ({
        id: ids.next('evt'),
        tenantId: told.orgId,
        type: eventType,
        createdAt: told.at,
        data: dataOf(told),
      })),
  );
}

function dataOf({ limit, window, used, scope, code }: PendingEvent): object {
  return {
    limit_id: limit.id,
    kind: limit.kind,
    match: limit.match,
    unit: limit.unit,
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
