/** Emits an event when a call has generated faster than its hold assumed: once a day for each model and connection. */
import type { EventType } from '../../contract/events.ts';
import type { Database } from '../../platform/db/database.ts';
import type { Ids } from '../../platform/ids.ts';
import type { Log } from '../../platform/log.ts';
import { enqueueEvent } from '../../platform/outbox/outbox.ts';
import type { Clock } from '../../platform/time/clock.ts';

export interface ExceededPace {
  readonly orgId: string;
  readonly connectionId: string;
  readonly model: string;
  readonly runId: string | null;
  readonly outputTokens: number;
  /** The most that the hold assumed for the duration of the call. */
  readonly assumedTokens: number;
  readonly elapsedMs: number;
}

export interface PaceEvents {
  /** Writes the event in the background, unless the day has one for the model and connection. */
  exceeded(call: ExceededPace): void;
  /** Resolves once all events are written. Never rejects. */
  flush(): Promise<void>;
}

export interface PaceEventDependencies {
  readonly db: Database;
  readonly ids: Ids;
  readonly clock: Clock;
  readonly log: Log;
  wants(orgId: string, type: EventType): boolean;
}

const type: EventType = 'gateway.pace_exceeded';
const dayMs = 86_400_000;
const cachedKeysMax = 10_000;

export function createPaceEvents({ db, ids, clock, log, wants }: PaceEventDependencies): PaceEvents {
  const written = new Set<string>();
  const pending = new Set<Promise<void>>();

  async function write(key: string, at: Date, call: ExceededPace): Promise<void> {
    await db.transaction(async (tx) => {
      const inserted = await tx.query(
        `INSERT INTO limit_alerts (org_id, counter_key, threshold, at) VALUES ($1, $2, 0, $3)
         ON CONFLICT DO NOTHING RETURNING counter_key`,
        [call.orgId, key, at],
      );
      if (inserted.length > 0) {
        const id = ids.next('evt');
        await enqueueEvent(tx, { id, tenantId: call.orgId, type, createdAt: at, data: dataOf(call) });
      }
    });
  }

  return {
    exceeded(call) {
      const at = clock.now();
      const key = `pace ${call.connectionId} ${call.model}@${Math.floor(at.getTime() / dayMs)}`;
      const name = `${call.orgId} ${key}`;
      if (written.has(name) || !wants(call.orgId, type)) {
        return;
      }
      if (written.size >= cachedKeysMax) {
        // The same events may be written again; the database rejects duplicates.
        written.clear();
      }
      written.add(name);
      const writing = write(key, at, call)
        .catch((error) => {
          written.delete(name);
          log.warn({ error }, 'an event about the pace of a model was not written');
        })
        .finally(() => pending.delete(writing));
      pending.add(writing);
    },
    async flush() {
      await Promise.all(pending);
    },
  };
}

function dataOf({
  connectionId,
  model,
  runId,
  outputTokens,
  assumedTokens,
  elapsedMs,
}: ExceededPace): object {
  return {
    model,
    connection_id: connectionId,
    run_id: runId,
    output_tokens: outputTokens,
    assumed_output_tokens: assumedTokens,
    duration_ms: Math.round(elapsedMs),
  };
}
