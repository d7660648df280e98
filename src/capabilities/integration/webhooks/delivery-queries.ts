/** Statements about deliveries. Outcomes are written in batches, one statement for all. */
import { insertMany, type Queryable } from '../../../platform/db/database.ts';
import type { PageOf } from '../../../platform/http/routes/list.ts';
import { decodeCursor, encodeCursor, pageSize } from '../../../platform/http/routes/list.ts';
import type { MailError } from '../../../platform/mail/mailer.ts';
import { testEvent } from './event-patterns.ts';
import type { AttemptView, DeliveryFailure, DeliveryFilters, DeliveryState } from './schema.ts';
import type { SubscriptionQueue } from './subscription-queues.ts';

/** An attempt by HTTP or by e-mail. */
export type StoredAttempt = Omit<AttemptView, 'error'> & { readonly error: AttemptView['error'] | MailError };

export interface DeliveryRow {
  readonly org_id: string;
  readonly subscription_id: string;
  readonly id: string;
  readonly event_id: string;
  readonly event_type: string;
  readonly state: DeliveryState;
  readonly failure: DeliveryFailure | null;
  readonly due_at: Date;
  readonly attempt_count: number;
  readonly attempts: readonly StoredAttempt[];
  readonly created_at: Date;
  readonly ended_at: Date | null;
  /** The address of an e-mail. */
  readonly recipient: string | null;
}

const columns =
  'org_id, subscription_id, id, event_id, event_type, state, failure, due_at, attempt_count, attempts, created_at, ended_at, recipient';

/**
 * Number of stored attempts per delivery: more than the schedule has, so that redeliveries are listed beside the first
 * ones.
 */
const attemptsKept = 20;

export type NewDelivery = Pick<
  DeliveryRow,
  'org_id' | 'subscription_id' | 'id' | 'event_id' | 'event_type' | 'state' | 'failure' | 'recipient'
>;

export async function insertDeliveries(
  tx: Queryable,
  deliveries: readonly NewDelivery[],
  now: Date,
): Promise<void> {
  await insertMany(
    tx,
    'webhook_deliveries',
    {
      org_id: 'text',
      subscription_id: 'text',
      id: 'text',
      event_id: 'text',
      event_type: 'text',
      state: 'text',
      failure: 'text',
      due_at: 'timestamptz',
      created_at: 'timestamptz',
      ended_at: 'timestamptz',
      recipient: 'text',
    },
    deliveries.map((delivery) => ({
      ...delivery,
      due_at: now,
      created_at: now,
      ended_at: delivery.state === 'waiting' ? null : now,
    })),
  );
}

/** A delivery that is due, with its event; null if the event was deleted, or the org was removed and its data is being deleted. */
export interface DueDelivery {
  readonly id: string;
  readonly attempt_count: number;
  readonly due_at: Date;
  readonly event_id: string;
  readonly recipient: string | null;
  readonly type: string | null;
  readonly created_at: Date | null;
  readonly data: object | null;
}

export async function selectDue(
  db: Queryable,
  queue: SubscriptionQueue,
  at: Date,
  limit: number,
): Promise<DueDelivery[]> {
  return db.query<DueDelivery>(
    `SELECT d.id, d.attempt_count, d.due_at, d.event_id, d.recipient, o.type, o.created_at, o.data
       FROM (SELECT id, attempt_count, event_id, due_at, recipient FROM webhook_deliveries
              WHERE org_id = $1 AND subscription_id = $2 AND state = 'waiting' AND due_at <= $3
              ORDER BY due_at, id LIMIT $4) d
       LEFT JOIN outbox o ON o.tenant_id = $1 AND o.id = d.event_id
         AND NOT EXISTS (SELECT 1 FROM orgs WHERE id = $1 AND removed_at IS NOT NULL)
      ORDER BY d.due_at, d.id`,
    [queue.org_id, queue.subscription_id, at, limit],
  );
}

/** Result of an attempt. */
export interface DeliveryOutcome extends SubscriptionQueue {
  /** The state of the delivery when it was read. */
  readonly delivery: Pick<DueDelivery, 'id' | 'attempt_count' | 'due_at'>;
  readonly state: DeliveryState;
  readonly failure: DeliveryFailure | null;
  /** Null once the delivery has ended. */
  readonly due_at: Date | null;
  readonly attempt: StoredAttempt | null;
  readonly at: Date;
}

/**
 * Writes the outcomes. A delivery that was ended or requeued in the meantime keeps that state; the attempt is recorded
 * anyway. Idempotent, because a write is repeated if it is unknown whether it was committed.
 */
export async function recordOutcomes(tx: Queryable, outcomes: readonly DeliveryOutcome[]): Promise<void> {
  const isAsRead = "(d.state = 'waiting' AND d.attempt_count = r.attempt_count AND d.due_at = r.was_due_at)";
  await tx.query(
    `UPDATE webhook_deliveries d
        SET state = CASE WHEN ${isAsRead} THEN r.state ELSE d.state END,
            failure = CASE WHEN ${isAsRead} THEN r.failure ELSE d.failure END,
            due_at = CASE WHEN ${isAsRead} THEN coalesce(r.due_at, d.due_at) ELSE d.due_at END,
            attempt_count = CASE WHEN ${isAsRead} THEN d.attempt_count + 1 ELSE d.attempt_count END,
            ended_at = CASE WHEN NOT ${isAsRead} THEN d.ended_at WHEN r.state = 'waiting' THEN NULL ELSE r.at END,
            attempts = CASE
              WHEN r.attempt IS NULL OR (NOT ${isAsRead} AND d.attempts -> -1 = r.attempt::jsonb) THEN d.attempts
              WHEN jsonb_array_length(d.attempts) >= ${attemptsKept} THEN (d.attempts - 0) || r.attempt::jsonb
              ELSE d.attempts || r.attempt::jsonb END
       FROM unnest($1::text[], $2::text[], $3::text[], $4::int4[], $5::timestamptz[], $6::text[], $7::text[],
                   $8::timestamptz[], $9::text[], $10::timestamptz[])
            AS r(org_id, subscription_id, id, attempt_count, was_due_at, state, failure, due_at, attempt, at)
      WHERE d.org_id = r.org_id AND d.subscription_id = r.subscription_id AND d.id = r.id AND d.org_id = ANY($1)`,
    [
      outcomes.map(({ org_id }) => org_id),
      outcomes.map(({ subscription_id }) => subscription_id),
      outcomes.map(({ delivery }) => delivery.id),
      outcomes.map(({ delivery }) => delivery.attempt_count),
      outcomes.map(({ delivery }) => delivery.due_at),
      outcomes.map(({ state }) => state),
      outcomes.map(({ failure }) => failure),
      outcomes.map(({ due_at }) => due_at),
      outcomes.map(({ attempt }) => (attempt === null ? null : JSON.stringify(attempt))),
      outcomes.map(({ at }) => at),
    ],
  );
}

/** Fails some of the waiting deliveries of a disabled or deleted subscription; returns their number. */
export async function failWaiting(
  db: Queryable,
  queue: SubscriptionQueue,
  at: Date,
  limit: number,
): Promise<number> {
  const failed = await db.query(
    `UPDATE webhook_deliveries SET state = 'failed', failure = 'disabled', ended_at = $3
      WHERE org_id = $1 AND subscription_id = $2 AND id IN (
        SELECT id FROM webhook_deliveries
         WHERE org_id = $1 AND subscription_id = $2 AND state = 'waiting' LIMIT $4)
        -- Asked here as well: it may have been resumed a moment ago, by another process.
        AND NOT EXISTS (SELECT 1 FROM webhook_subscriptions s
                         WHERE s.org_id = $1 AND s.id = $2 AND s.status <> 'disabled' AND s.deleted_at IS NULL)
     RETURNING 1 AS one`,
    [queue.org_id, queue.subscription_id, at, limit],
  );
  return failed.length;
}

/** Number of waiting deliveries, counted up to a bound. */
export async function countWaiting(db: Queryable, queue: SubscriptionQueue, max: number): Promise<number> {
  const [row] = await db.query<{ count: bigint }>(
    `SELECT count(*) AS count FROM (
       SELECT 1 FROM webhook_deliveries
        WHERE org_id = $1 AND subscription_id = $2 AND state = 'waiting' LIMIT $3) AS found`,
    [queue.org_id, queue.subscription_id, max],
  );
  return Number(row?.count ?? 0n);
}

export async function findDelivery(
  db: Queryable,
  queue: SubscriptionQueue,
  deliveryId: string,
): Promise<DeliveryRow | undefined> {
  const [row] = await db.query<DeliveryRow>(
    `SELECT ${columns} FROM webhook_deliveries WHERE org_id = $1 AND subscription_id = $2 AND id = $3`,
    [queue.org_id, queue.subscription_id, deliveryId],
  );
  return row;
}

export interface TestMails {
  readonly recipient: string;
  readonly count: number;
  readonly oldest: Date;
}

/** Counts the test messages to these recipients since a time, also of deleted subscriptions; most first. */
export async function countTestMails(
  db: Queryable,
  orgId: string,
  recipients: readonly string[],
  since: Date,
): Promise<TestMails[]> {
  return db.query<TestMails>(
    // Only of subscriptions by e-mail: those of webhooks may have very many deliveries.
    `SELECT recipient, count(*)::int4 AS count, min(created_at) AS oldest FROM webhook_deliveries
      WHERE org_id = $1 AND event_type = $2 AND recipient = ANY($3) AND created_at > $4
        AND subscription_id IN (SELECT id FROM webhook_subscriptions WHERE org_id = $1 AND format = 'email')
      GROUP BY recipient ORDER BY count(*) DESC`,
    [orgId, testEvent, recipients, since],
  );
}

export interface StoredEvent {
  readonly type: string;
  readonly created_at: Date;
  readonly data: object;
}

export async function findEvent(
  db: Queryable,
  orgId: string,
  eventId: string,
): Promise<StoredEvent | undefined> {
  const [row] = await db.query<StoredEvent>(
    'SELECT type, created_at, data FROM outbox WHERE tenant_id = $1 AND id = $2',
    [orgId, eventId],
  );
  return row;
}

/** Requeues a delivery, from the start of the retry schedule. */
export async function requeueDelivery(
  tx: Queryable,
  queue: SubscriptionQueue,
  deliveryId: string,
  at: Date,
): Promise<DeliveryRow | undefined> {
  const [row] = await tx.query<DeliveryRow>(
    `UPDATE webhook_deliveries SET state = 'waiting', failure = NULL, due_at = $4, attempt_count = 0, ended_at = NULL
      WHERE org_id = $1 AND subscription_id = $2 AND id = $3 RETURNING ${columns}`,
    [queue.org_id, queue.subscription_id, deliveryId, at],
  );
  return row;
}

export interface DeliveryRange {
  readonly from: Date;
  readonly to: Date;
  readonly state: 'failed' | 'delivered';
  /** Last delivery of the previous part; null: from the start. */
  readonly after: string | null;
}

/**
 * Requeues the deliveries of a time range after a given one, oldest first; returns their number and the last of them.
 * They are selected by an array of ids, because with outdated statistics the planner would choose a nested loop join.
 */
export async function requeueRange(
  tx: Queryable,
  queue: SubscriptionQueue,
  { from, to, state, after }: DeliveryRange,
  at: Date,
  limit: number,
): Promise<{ count: number; last: string | null }> {
  const [row] = await tx.query<{ count: number; last: string | null }>(
    `WITH picked AS (
       SELECT id FROM webhook_deliveries
        WHERE org_id = $1 AND subscription_id = $2 AND created_at >= $3 AND created_at < $4 AND state = $5
          AND ($8::text IS NULL OR id > $8)
        ORDER BY id LIMIT $7),
     put AS (
       UPDATE webhook_deliveries SET state = 'waiting', failure = NULL, due_at = $6, attempt_count = 0, ended_at = NULL
        WHERE org_id = $1 AND subscription_id = $2 AND id = ANY (ARRAY (SELECT id FROM picked)))
     SELECT count(*)::int4 AS count, max(id) AS last FROM picked`,
    [queue.org_id, queue.subscription_id, from, to, state, at, limit, after],
  );
  return row ?? { count: 0, last: null };
}

/** Lists the newest deliveries first by default. Ids are ordered by time, so the list uses the primary key. */
export async function listDeliveries(
  db: Queryable,
  queue: SubscriptionQueue,
  query: DeliveryFilters,
): Promise<PageOf<DeliveryRow>> {
  const limit = query.limit ?? pageSize.fallback;
  const sort = query.sort ?? '-created_at';
  const [comparison, direction] = sort.startsWith('-') ? ['<', 'DESC'] : ['>', 'ASC'];
  const after = query.cursor === undefined ? null : decodeCursor(query.cursor, sort, 'text').id;
  const rows = await db.query<DeliveryRow>(
    `SELECT ${columns} FROM webhook_deliveries
      WHERE org_id = $1 AND subscription_id = $2 AND ($3::text IS NULL OR id ${comparison} $3)
        AND ($4::text IS NULL OR state = $4) AND ($5::text IS NULL OR event_type = $5)
        AND ($6::text IS NULL OR event_id = $6)
        AND ($7::timestamptz IS NULL OR created_at >= $7) AND ($8::timestamptz IS NULL OR created_at < $8)
      ORDER BY id ${direction} LIMIT $9`,
    [
      queue.org_id,
      queue.subscription_id,
      after,
      query.state ?? null,
      query.event_type ?? null,
      query.event_id ?? null,
      query.from === undefined ? null : new Date(query.from),
      query.to === undefined ? null : new Date(query.to),
      limit + 1,
    ],
  );
  const data = rows.slice(0, limit);
  const last = data.at(-1);
  const more = rows.length > limit && last !== undefined;
  return { data, next_cursor: more ? encodeCursor(sort, '', last.id) : null };
}
