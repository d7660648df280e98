/**
 * Tells, by an event, that a rule has blocked something: at most once a minute for each rule and key, by each process.
 * On the way of a refusal it is a look into memory; the event is written in the background.
 */
import type { EventType } from '../../../contract/events.ts';
import type { Database } from '../../../platform/db/database.ts';
import type { Ids } from '../../../platform/ids.ts';
import type { Job } from '../../../platform/jobs/jobs.ts';
import { enqueueEvents } from '../../../platform/outbox/outbox.ts';
import type { Clock } from '../../../platform/time/clock.ts';

export interface Block {
  readonly orgId: string;
  readonly ruleId: string;
  readonly reason: string;
  readonly attempted: string;
  readonly keyId: string;
  readonly model: string;
  readonly action: string | null;
}

export interface BlockedEvents {
  tell(block: Block): void;
  readonly job: Job;
}

const eventType: EventType = 'policy.blocked';
const pauseMs = 60_000;
const rememberedMax = 50_000;
const waitingMax = 10_000;
const perBatch = 200;

export interface BlockedEventDependencies {
  readonly db: Database;
  readonly ids: Ids;
  readonly clock: Clock;
}

export function createBlockedEvents({ db, ids, clock }: BlockedEventDependencies): BlockedEvents {
  /** When each rule and key was last told of. */
  const told = new Map<string, number>();
  let waiting: (Block & { readonly at: Date })[] = [];

  return {
    tell(block) {
      const at = clock.now();
      const name = `${block.orgId} ${block.ruleId} ${block.keyId}`;
      const last = told.get(name);
      if (waiting.length >= waitingMax || (last !== undefined && at.getTime() - last < pauseMs)) {
        return;
      }
      if (told.size >= rememberedMax) {
        told.clear();
      }
      told.set(name, at.getTime());
      waiting.push({ ...block, at });
    },
    job: {
      id: 'emit-policy-blocked-events',
      everyMs: 500,
      async runOnce() {
        const batch = waiting.slice(0, perBatch);
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
        waiting = waiting.slice(batch.length);
        return waiting.length > 0;
      },
    },
  };
}
