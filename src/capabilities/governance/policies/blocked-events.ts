/**
 * Emits `policy.blocked` events, at most one per minute, rule and key in each process. Enqueuing only touches memory; the event is
 * written in the background.
 */
import type { EventType } from '../../../contract/events.ts';
import type { Database } from '../../../platform/db/database.ts';
import { FairShare } from '../../../platform/fair-share.ts';
import type { Ids } from '../../../platform/ids.ts';
import type { Job } from '../../../platform/jobs/jobs.ts';
import { enqueueEvents } from '../../../platform/outbox/outbox.ts';
import type { Clock } from '../../../platform/time/clock.ts';

export interface BlockedRequest {
  readonly orgId: string;
  readonly ruleId: string;
  readonly reason: string;
  readonly attempted: string;
  readonly keyId: string;
  readonly model: string;
  readonly action: string | null;
}

export interface BlockedEvents {
  enqueue(block: BlockedRequest): void;
  readonly job: Job;
}

const eventType: EventType = 'policy.blocked';
/** Minimum interval between two events of the same rule and key. */
const intervalMs = 60_000;
const cachedMax = 50_000;
const queuedMax = 10_000;
const perBatch = 200;

export interface BlockedEventDependencies {
  readonly db: Database;
  readonly ids: Ids;
  readonly clock: Clock;
}

export function createBlockedEvents({ db, ids, clock }: BlockedEventDependencies): BlockedEvents {
  /** Time of the last event of each rule and key. Cleared when it is full, after which an event may repeat early. */
  const lastEventMs = new Map<string, number>();
  let queue: (BlockedRequest & { readonly at: Date })[] = [];
  const places = new FairShare({ capacity: queuedMax });

  return {
    enqueue(block) {
      const at = clock.now();
      const key = `${block.orgId} ${block.ruleId} ${block.keyId}`;
      const last = lastEventMs.get(key);
      const isRecent = last !== undefined && at.getTime() - last < intervalMs;
      if (isRecent || !places.tryTake(block.orgId)) {
        return;
      }
      if (lastEventMs.size >= cachedMax) {
        lastEventMs.clear();
      }
      lastEventMs.set(key, at.getTime());
      queue.push({ ...block, at });
    },
    job: {
      id: 'emit-policy-blocked-events',
      everyMs: 500,
      async runOnce() {
        const batch = queue.slice(0, perBatch);
        if (batch.length === 0) {
          return false;
        }
        await enqueueEvents(
          db,
          batch.map(({ orgId, at, ...block }) => ({
            id: ids.next('evt'),
            tenantId: orgId,
            type: eventType,
            createdAt: at,
            data: {
              rule_id: block.ruleId,
              reason: block.reason,
              attempted: block.attempted,
              key_id: block.keyId,
              model: block.model,
              action: block.action,
            },
          })),
        );
        queue = queue.slice(batch.length);
        for (const { orgId } of batch) {
          places.release(orgId);
        }
        return queue.length > 0;
      },
    },
  };
}
