/**
 * Writes postings: identities, entries, tallies, hold ends and alerts. Rows are inserted in bulk, except for alerts and late
 * settlements, which have a statement each.
 */
import { forEachName, limitDimensions } from '../../contract/run-dimensions.ts';
import { writeParts } from '../../kernel/cost-parts.ts';
import { inUnit } from '../../kernel/denial.ts';
import { alertKey, matchedValues, shownKind } from '../../kernel/limits.ts';
import type { Alert } from '../../kernel/settlement.ts';
import {
  insertEach,
  insertMany,
  jsonText,
  type Queryable,
  senderOf,
  type Transaction,
  type TransactionStatements,
} from '../../platform/db/database.ts';
import { deleteBatch } from '../../platform/db/delete-batch.ts';
import type { Ids } from '../../platform/ids.ts';
import { enqueueEvent } from '../../platform/outbox/outbox.ts';
import { type Hold, storedEnd } from '../holds/hold.ts';
import { storeKeys } from '../holds/hold-keys.ts';
import { createsRun, type Posted, type Posting } from '../posting.ts';

export async function insertIdentities(tx: Transaction, posted: readonly Posted[]): Promise<void> {
  const newRuns = posted.filter(({ posting }) => createsRun(posting));
  await insertEach(
    senderOf(tx, newRuns),
    'run_identities',
    {
      org_id: 'text',
      run_id: 'text',
      external_id: 'text',
      charged_at: 'timestamptz',
      content_digest: 'text',
    },
    newRuns,
    (one) => ({
      org_id: one.orgId,
      run_id: one.posting.runId,
      external_id: one.posting.externalId,
      charged_at: new Date(one.chargedAtMs),
      content_digest: one.posting.contentDigest ?? null,
    }),
  );
  for (const { orgId, posting } of posted) {
    if (posting.kind === 'resettle') {
      await tx.query(
        'UPDATE run_identities SET external_id = $3, content_digest = $4 WHERE org_id = $1 AND run_id = $2',
        [orgId, posting.runId, posting.externalId, posting.contentDigest ?? null],
      );
    }
  }
}

const entryColumns = {
  org_id: 'text',
  charged_at: 'timestamptz',
  id: 'text',
  run_id: 'text',
  kind: 'text',
  booked_at: 'timestamptz',
  usd_nanos: 'int8',
  tokens: 'int8',
  requests: 'int8',
  ...forEachName(limitDimensions, 'text' as const),
  tags: 'jsonb',
  prepaid_nanos: 'int8',
  uncovered_nanos: 'int8',
  packs: 'jsonb',
  marks: 'text[]',
  note: 'text',
  actor: 'jsonb',
  parts: 'text',
} as const;

export async function insertEntries(tx: Transaction, posted: readonly Posted[]): Promise<void> {
  const charges = posted.filter(({ charged }) => charged !== null);
  await insertEach(senderOf(tx, charges), 'ledger_entries', entryColumns, charges, entryRow);
}

function entryRow(one: Posted): Record<keyof typeof entryColumns, unknown> {
  const { posting, scope, charged } = one;
  const burned = charged?.burned ?? [];
  return {
    org_id: one.orgId,
    charged_at: new Date(one.chargedAtMs),
    id: posting.entryId,
    run_id: posting.runId,
    kind: entryKind(posting),
    booked_at: new Date(one.postedAtMs),
    usd_nanos: posting.amounts.usd,
    tokens: posting.amounts.tokens,
    requests: posting.amounts.requests,
    key_id: scope.key_id,
    model: scope.model,
    workflow: scope.workflow,
    deployment: scope.deployment,
    department: scope.department,
    customer_id: scope.customer_id,
    chain_id: scope.chain_id,
    provider: scope.provider,
    team: scope.team,
    member_id: scope.member_id,
    project: scope.project,
    tags: scope.tags,
    prepaid_nanos: charged?.prepaid ?? 0n,
    uncovered_nanos: charged?.uncovered ?? 0n,
    packs: burned.length === 0 ? null : burned.map(({ key, amount }) => [packId(key), amount]),
    marks: one.marks,
    note: posting.note ?? null,
    actor: posting.actor ?? null,
    parts: writeParts(posting.parts),
  };
}

function entryKind({ kind }: Posting): 'charge' | 'record' | 'adjustment' {
  if (kind === 'record') {
    return 'record';
  }
  return kind === 'adjust' || kind === 'reverse' ? 'adjustment' : 'charge';
}

/** Returns the id of the limit that a counter belongs to. */
export function packId(counterKey: string): string {
  return counterKey.slice(0, counterKey.indexOf('@'));
}

/** Adds the amounts burned from credit packs and from the prepaid balance to their tallies. */
export async function addToTallies(tx: Transaction, posted: readonly Posted[]): Promise<void> {
  const tallies = new Map<string, { org_id: string; limit_id: string; settled: bigint }>();
  const add = (orgId: string, limitId: string, amount: bigint) => {
    const name = `${orgId} ${limitId}`;
    const tally = tallies.get(name);
    if (tally === undefined) {
      tallies.set(name, { org_id: orgId, limit_id: limitId, settled: amount });
    } else {
      tally.settled += amount;
    }
  };
  /** Refunds to balances that are disabled, so that the charge has no counter for them. */
  const refunds: { orgId: string; amount: bigint }[] = [];
  for (const { orgId, charged } of posted) {
    const { windows = [], burned = [], prepaid: amount = 0n } = charged ?? {};
    const balance = windows.find(({ limit }) => limit.kind === 'prepaid');
    for (const debit of burned) {
      add(orgId, packId(debit.key), debit.amount);
    }
    if (balance !== undefined) {
      add(orgId, balance.limit.id, amount);
    } else if (amount !== 0n) {
      refunds.push({ orgId, amount });
    }
  }
  if (refunds.length > 0) {
    const balances = await findBalances(
      tx,
      refunds.map(({ orgId }) => orgId),
    );
    for (const { orgId, amount } of refunds) {
      add(orgId, balances.get(orgId) as string, amount);
    }
  }
  if (tallies.size > 0) {
    await tx.pipelined.query(
      `INSERT INTO limit_tallies AS there (org_id, limit_id, settled)
       SELECT org_id, limit_id, settled FROM jsonb_to_recordset($1::jsonb) AS r(org_id text, limit_id text, settled int8)
       ON CONFLICT (org_id, limit_id) DO UPDATE SET settled = there.settled + excluded.settled`,
      [jsonText([...tallies.values()])],
    );
  }
}

/** Returns the ids of the prepaid balances of these orgs. An org keeps its balance forever; a disabled balance has ended. */
async function findBalances(tx: Queryable, orgIds: readonly string[]): Promise<Map<string, string>> {
  const rows = await tx.query<{ org_id: string; id: string }>(
    `SELECT org_id, id FROM limits WHERE kind = 'prepaid' AND org_id = ANY($1)`,
    [orgIds],
  );
  return new Map(rows.map(({ org_id, id }) => [org_id, id]));
}

export interface HoldEnd {
  readonly hold: Hold;
  readonly endedAs: 'settled' | 'voided' | 'expired';
  readonly runId: string | null;
}

/**
 * Inserts hold ends. A hold ends once: a second end violates the primary key and aborts the transaction. The idempotency keys of
 * the holds stay used. The exception is the voided hold of a gateway call, because that call was not made.
 */
export async function insertEnds(tx: Queryable, ends: readonly HoldEnd[], atMs: number): Promise<void> {
  await insertMany(
    tx,
    'hold_ends',
    {
      org_id: 'text',
      hold_id: 'text',
      ended_as: 'text',
      ended_at: 'timestamptz',
      run_id: 'text',
      body: 'jsonb',
    },
    ends.map(({ hold, endedAs, runId }) => ({
      org_id: hold.orgId,
      hold_id: hold.id,
      ended_as: endedAs,
      ended_at: new Date(atMs),
      run_id: runId,
      body: storedEnd(hold),
    })),
  );
  const keyed = ends.flatMap(({ hold, endedAs }) =>
    hold.idempotency === null || (endedAs === 'voided' && hold.postIfUnsettled === true) ? [] : [hold],
  );
  if (keyed.length > 0) {
    await storeKeys(tx, keyed);
  }
}

export interface HoldEndRow {
  readonly org_id: string;
  readonly hold_id: string;
  readonly ended_as: HoldEnd['endedAs'];
  readonly ended_at: Date;
  readonly run_id: string | null;
  readonly body: unknown;
}

export async function findEnds(
  db: Queryable,
  orgIds: readonly string[],
  holdIds: readonly string[],
): Promise<HoldEndRow[]> {
  return holdIds.length === 0
    ? []
    : db.query<HoldEndRow>(
        'SELECT org_id, hold_id, ended_as, ended_at, run_id, body FROM hold_ends WHERE org_id = ANY($1) AND hold_id = ANY($2)',
        [orgIds, holdIds],
      );
}

/** Returns whether a hold that is not open has ended or never existed. */
export async function endedOrUnknown(
  db: Queryable,
  orgId: string,
  holdId: string,
): Promise<{ readonly kind: 'ended' | 'unknown' }> {
  const ends = await findEnds(db, [orgId], [holdId]);
  return { kind: ends.length > 0 ? 'ended' : 'unknown' };
}

/** Assigns a run that settles late to a hold that ended without a run. A hold settled by another run keeps that run. */
export async function claimEnded(tx: Queryable, orgId: string, holdId: string, runId: string): Promise<void> {
  await tx.query('UPDATE hold_ends SET run_id = $3 WHERE org_id = $1 AND hold_id = $2 AND run_id IS NULL', [
    orgId,
    holdId,
    runId,
  ]);
}

/** Records that a run in progress has taken over an unsettled hold. No other run may settle the hold then. */
export async function assignEnded(
  tx: Queryable,
  orgId: string,
  holdId: string,
  runId: string,
): Promise<void> {
  await tx.query(
    `UPDATE hold_ends SET body = jsonb_set(body, '{runId}', to_jsonb($3::text)) WHERE org_id = $1 AND hold_id = $2`,
    [orgId, holdId, runId],
  );
}

/** Deletes hold ends after seven days. Returns true if there may be more. */
export function deleteOldEnds(db: Queryable, limit: number): Promise<boolean> {
  const where = "ended_at < now() - interval '7 days'";
  return deleteBatch(db, { table: 'hold_ends', key: 'org_id, hold_id', where, limit });
}

/**
 * Deletes alerts before a time, and returns true if there may be more. Alerts of limits without a window are kept, because an alert
 * must not be emitted twice; those of single values, such as chains, are deleted. The key of a kept alert ends with `@0` or with the
 * capacity (`limit-events.ts`). The index of migration 0092 has the same condition.
 */
export function deleteOldAlerts(db: Queryable, before: Date, limit: number): Promise<boolean> {
  return deleteBatch(db, {
    table: 'limit_alerts',
    key: 'org_id, counter_key, threshold',
    where: `at < $1 AND (strpos(counter_key, ':') > 0 OR counter_key !~ '(@0|#[0-9]+)$')`,
    params: [before],
    limit,
  });
}

export interface ExistingRunRow {
  readonly org_id: string;
  readonly external_id: string;
  readonly run_id: string;
  readonly content_digest: string | null;
}

/**
 * LATERAL makes PostgreSQL look up each id by index. A single plan that was made while the table was small would scan the whole
 * table forever. The ids of the orgs are only repeated on Citus, which needs them to find the shards: PostgreSQL would use them
 * instead of the external id, and read all runs of the org for each id.
 */
export async function findExistingRuns(
  tx: TransactionStatements,
  wanted: readonly { readonly orgId: string; readonly externalId: string }[],
): Promise<ExistingRunRow[]> {
  return wanted.length === 0
    ? []
    : tx.query<ExistingRunRow>(
        `SELECT wanted.org_id, wanted.external_id, known.run_id, known.content_digest
           FROM unnest($1::text[], $2::text[]) AS wanted(org_id, external_id)
          CROSS JOIN LATERAL (
            SELECT run_id, content_digest FROM run_identities there
             WHERE there.org_id = wanted.org_id AND there.external_id = wanted.external_id
                   ${tx.isDistributed ? 'AND there.org_id = ANY($1)' : ''}
             LIMIT 1
          ) AS known`,
        [wanted.map(({ orgId }) => orgId), wanted.map(({ externalId }) => externalId)],
      );
}

export async function hasRun(db: Queryable, orgId: string, externalId: string): Promise<boolean> {
  const found = await db.query('SELECT 1 AS one FROM run_identities WHERE org_id = $1 AND external_id = $2', [
    orgId,
    externalId,
  ]);
  return found.length > 0;
}

/** Emits one event per threshold and `alertKey`; concurrent emitters are deduplicated by the insert. */
export async function emitAlerts(
  tx: Queryable,
  ids: Ids,
  orgId: string,
  alerts: readonly Alert[],
  atMs: number,
): Promise<void> {
  for (const { limitWindow, percent, settled } of alerts) {
    const { limit, window, key } = limitWindow;
    const inserted = await tx.query(
      `INSERT INTO limit_alerts (org_id, counter_key, threshold, at) VALUES ($1, $2, $3, $4)
       ON CONFLICT DO NOTHING RETURNING 1 AS one`,
      [orgId, alertKey(limit, key), percent, new Date(atMs)],
    );
    if (inserted.length > 0) {
      await enqueueEvent(tx, {
        id: ids.next('evt'),
        tenantId: orgId,
        type: 'limit.threshold_reached',
        createdAt: new Date(atMs),
        data: {
          limit_id: limit.id,
          ...shownKind(limit),
          match: limit.match,
          matched: matchedValues(limit, key),
          threshold_percent: percent,
          limit: inUnit(limit, limit.capacity),
          settled: inUnit(limit, settled),
          window_start: new Date(window.startMs).toISOString(),
          window_end: limit.span.kind === 'lifetime' ? null : new Date(window.endMs).toISOString(),
        },
      });
    }
  }
}

/** Advances the ledger clock of the orgs. The clock never runs backwards, not even across processes and restarts. */
export async function advanceClock(tx: Queryable, orgIds: readonly string[], atMs: number): Promise<void> {
  await tx.query(
    `INSERT INTO ledger_orgs AS there (org_id, last_at) SELECT unnest($1::text[]), $2
     ON CONFLICT (org_id) DO UPDATE SET last_at = greatest(there.last_at, excluded.last_at)`,
    [orgIds, new Date(atMs)],
  );
}
