/**
 * Erases a customer's id from every table that stores it, except the audit log (`redactEntries`). Large tables are
 * processed in bounded batches. In a row of the customer, tags, metadata and content are deleted, and the id is
 * replaced within chain ids, notes and messages too (`namePattern`); an external id that contains it is replaced or
 * deleted as a whole. Entries and holds keep the tags that budgets count by (`keptTags`). In other rows, except counter keys,
 * only values that equal the id are replaced.
 */

import {
  type KeptDimension,
  limitDimensions,
  runDimensionNames,
  type UsageDimension,
  usageDimensions,
} from '../../../contract/run-dimensions.ts';
import { WILDCARD } from '../../../kernel/limits.ts';
import { dayMs } from '../../../kernel/rollup-parts.ts';
import { namePattern } from '../../../ledger/holds/customer-pseudonyms.ts';
import { notifyLimitChanged } from '../../../ledger/limits/change-notifications.ts';
import {
  type UsageDimensions,
  usageDigest,
  usageIdentity,
  usageMeasures,
} from '../../../ledger/usage/usage-columns.ts';
import type { Transaction } from '../../../platform/db/database.ts';
import { type CustomerDigest, eraseStoredResponses } from '../../../platform/http/pipeline/idempotency.ts';
import { platformTenant } from '../../../platform/http/routes/access.ts';
import { keyChanged } from '../../access/keys/index.ts';
import { renamedPath } from '../audit/index.ts';
import {
  type BatchedTable,
  type BatchResult,
  type ErasureBatch,
  eraseRows,
  eraseRowsWithin,
  rowsPerBatch,
} from './batched-rows.ts';
import {
  containsId,
  erasedDimensions,
  jsonString,
  keptTags,
  renamedJson,
  renamedName,
} from './renaming-sql.ts';

/** Fields of a match whose value may be the id of a customer. The wildcard is not: it stands for every customer. */
const holdsCustomers = `(key = 'customer_id' OR key LIKE 'tag:%') AND value <> '${WILDCARD}'`;

/** Ends the limits, credit packs and rates of the customer, deletes their names and replaces the id in them and their raises. */
export async function eraseLimits(tx: Transaction, { orgId, from, to, now }: ErasureBatch): Promise<number> {
  const isOfCustomer = `EXISTS (SELECT 1 FROM jsonb_each_text(match) WHERE value = $2 AND ${holdsCustomers})`;
  // Raises are found by the match of their limit, so they are renamed before it.
  for (const table of ['limit_raises', 'raise_requests']) {
    await tx.query(
      `UPDATE ${table} AS raise
          SET value = CASE WHEN raise.value = $2 THEN $3 ELSE raise.value END,
              reason = regexp_replace(raise.reason, $4, $3::text, 'g')
         FROM limits
        WHERE raise.org_id = $1 AND limits.org_id = $1 AND limits.id = raise.limit_id
          AND (${isOfCustomer} OR raise.value = $2 AND EXISTS (
                 SELECT 1 FROM jsonb_each_text(match)
                  WHERE value = '${WILDCARD}' AND (key = 'customer_id' OR key LIKE 'tag:%')))`,
      [orgId, from, to, namePattern(from)],
    );
  }
  const ended = await tx.query(
    `UPDATE limits SET name = NULL, ended_at = coalesce(ended_at, $4), match = (
              SELECT jsonb_object_agg(key, CASE WHEN value = $2 AND ${holdsCustomers} THEN $3 ELSE value END)
                FROM jsonb_each_text(match))
      WHERE org_id = $1 AND ${isOfCustomer}
      RETURNING 1 AS one`,
    [orgId, from, to, now],
  );
  await notifyLimitChanged(tx, orgId);
  return ended.length;
}

/** Resets the cursor of the exhaustion watch if it contains the id; the watch then starts over. */
export async function eraseForecastCursor(
  tx: Transaction,
  { orgId, from }: ErasureBatch,
): Promise<BatchResult> {
  const reset = await tx.query(
    `UPDATE forecast_checks SET after_group = '' WHERE org_id = $1 AND strpos(after_group, $2) > 0 RETURNING 1 AS one`,
    [orgId, JSON.stringify(from)],
  );
  return { changed: reset.length, next: null };
}

/**
 * An `external_id` that contains the customer's id becomes a unique one. A repeated run with the old `external_id`
 * would be a new run.
 */
const renameIdentities = `
  UPDATE run_identities i SET external_id = $3 || '-' || i.run_id, content_digest = NULL FROM changed
   WHERE i.org_id = $1 AND i.run_id = changed.run_id AND i.external_id ~ $6`;
const renameIdentitiesOfRuns = renameIdentities.replaceAll('changed.run_id', 'changed.id');

const runs = {
  table: 'runs',
  org: 'org_id',
  key: [
    ['charged_at', 'timestamptz'],
    ['id', 'text'],
  ],
  where: 'customer_id = $2',
  set: `${erasedDimensions(runDimensionNames)}, tags = NULL, metadata = NULL, content = NULL,
        external_id = CASE WHEN row.external_id ~ $6 THEN $3 || '-' || row.id ELSE row.external_id END`,
} as const satisfies BatchedTable;
const ledgerEntries = {
  table: 'ledger_entries',
  org: 'org_id',
  key: [
    ['charged_at', 'timestamptz'],
    ['id', 'text'],
  ],
  where: 'customer_id = $2',
  set: `${erasedDimensions(limitDimensions)}, tags = ${keptTags('row.tags')}, note = ${renamedName('row.note')}`,
} as const satisfies BatchedTable;
const holdEnds: BatchedTable = {
  table: 'hold_ends',
  org: 'org_id',
  key: [['hold_id', 'text']],
  where: `body #>> '{scope,customer_id}' = $2`,
  // The reservations of an ended hold are deleted, because a late settlement counts by the scope. Earlier releases
  // stored the idempotent response here, so it is deleted too.
  set: `body = jsonb_set(jsonb_set(jsonb_set(row.body - 'idempotency',
                 '{scope,customer_id}', to_jsonb($3::text)),
                 '{scope,chain_id}', ${jsonString(renamedName(`(row.body #>> '{scope,chain_id}')`))}),
                 '{scope,tags}', coalesce(${keptTags(`row.body #> '{scope,tags}'`)}, 'null'))
               || '{"shares": []}'`,
};
const events: BatchedTable = {
  table: 'outbox',
  org: 'tenant_id',
  key: [['id', 'text']],
  // Chain ids and the values of tags may contain the id.
  where: `${containsId('data')} OR (data #>> '{scope,chain_id}') ~ $6
          OR EXISTS (SELECT 1 FROM jsonb_each_text(data -> 'matched') AS field WHERE field.value ~ $6)`,
  set: `data = ${renamedJson('row.data')}
          || CASE WHEN row.data -> 'matched' IS NULL THEN '{}' ELSE jsonb_set('{}', '{matched}', coalesce((
               SELECT jsonb_object(array_agg(field.key), array_agg(${renamedName('field.value')}))
                 FROM jsonb_each_text(row.data -> 'matched') AS field), '{}')) END
          || CASE WHEN row.data #> '{scope,chain_id}' IS NULL THEN '{}' ELSE jsonb_set('{}', '{scope}', jsonb_set(
               ${renamedJson(`(row.data -> 'scope')`)}, '{chain_id}', ${jsonString(renamedName(`(row.data #>> '{scope,chain_id}')`))})) END
          || CASE WHEN row.type = 'run.finished' THEN '{"tags": {}}' || jsonb_object(ARRAY[
          'external_id', CASE WHEN row.data ->> 'external_id' ~ $6 THEN NULL ELSE row.data ->> 'external_id' END,
          'chain_id', ${renamedName(`(row.data ->> 'chain_id')`)}]) ELSE '{}' END
          || CASE WHEN row.type = 'run.adjusted' AND row.data ->> 'customer_id' = $2
               THEN jsonb_object(ARRAY['reason', ${renamedName(`(row.data ->> 'reason')`)}]) ELSE '{}' END`,
};
/** Deletes stored webhook responses, because they may repeat the event. */
const deleteResponses = `
  UPDATE webhook_deliveries d SET attempts = (
    SELECT coalesce(jsonb_agg(attempt || '{"response": null}'), '[]') FROM jsonb_array_elements(d.attempts) AS attempt)
    FROM changed WHERE d.org_id = $1 AND d.event_id = changed.id AND d.attempts <> '[]'`;
const refusals: BatchedTable = {
  table: 'refusals',
  org: 'org_id',
  key: [['id', 'text']],
  where: `customer_id = $2 OR ${containsId('details')}`,
  set: `customer_id = CASE WHEN row.customer_id = $2 THEN $3 ELSE row.customer_id END, details = ${renamedJson('row.details')},
        message = CASE WHEN row.customer_id = $2 THEN ${renamedName('row.message')} ELSE row.message END`,
};

export const eraseHoldEnds = (tx: Transaction, batch: ErasureBatch) => eraseRows(tx, holdEnds, batch);
export const eraseRuns = (tx: Transaction, batch: ErasureBatch) =>
  eraseRows(tx, runs, batch, renameIdentitiesOfRuns);
export const eraseEntries = (tx: Transaction, batch: ErasureBatch) =>
  eraseRows(tx, ledgerEntries, batch, renameIdentities);
export const eraseEvents = (tx: Transaction, batch: ErasureBatch) =>
  eraseRows(tx, events, batch, deleteResponses);
export const eraseRefusals = (tx: Transaction, batch: ErasureBatch) => eraseRows(tx, refusals, batch);

export async function eraseStoredAnswers(
  tx: Transaction,
  { orgId, from }: ErasureBatch,
  digest: CustomerDigest,
): Promise<BatchResult> {
  let changed = 0;
  // Responses to operators are stored under the platform, without an org. So the responses about customers of other orgs with the
  // same id are erased too.
  for (const tenantId of [orgId, platformTenant]) {
    changed += await eraseStoredResponses(tx, tenantId, digest(tenantId)(from));
  }
  return { changed, next: null };
}

/** Adds the sums of a renamed chain to those that exist under its new name. */
export async function eraseClosedChains(
  tx: Transaction,
  { orgId, from, to }: ErasureBatch,
): Promise<BatchResult> {
  const [row] = await tx.query<{ count: number }>(
    `WITH gone AS (
       DELETE FROM closed_chains
        WHERE org_id = $1 AND chain_id ~ $4
          AND ($2 = ANY (customer_ids)
               OR chain_id IN (SELECT chain_id FROM ledger_entries WHERE org_id = $1 AND customer_id = $2))
       RETURNING *
     ), renamed AS (
       INSERT INTO closed_chains AS there (org_id, chain_id, usd_nanos, tokens, requests, customer_ids)
       SELECT org_id, regexp_replace(chain_id, $4, $3::text, 'g'), usd_nanos, tokens, requests, array_remove(customer_ids, $2)
         FROM gone
       ON CONFLICT (org_id, chain_id) DO UPDATE
         SET usd_nanos = there.usd_nanos + excluded.usd_nanos, tokens = there.tokens + excluded.tokens,
             requests = there.requests + excluded.requests,
             customer_ids = ARRAY(SELECT DISTINCT unnest(there.customer_ids || excluded.customer_ids))
     )
     SELECT count(*)::int4 AS count FROM gone`,
    [orgId, from, to, namePattern(from)],
  );
  // A short id may occur in the name of a chain by chance. The name then stays.
  const others = await tx.query(
    `UPDATE closed_chains SET customer_ids = array_remove(customer_ids, $2)
      WHERE org_id = $1 AND $2 = ANY (customer_ids) RETURNING 1 AS one`,
    [orgId, from],
  );
  return { changed: (row?.count ?? 0) + others.length, next: null };
}

/** Replaces the id in the attribution of keys: their spend continues under the pseudonym until they are changed. */
export async function eraseKeyAttributions(
  tx: Transaction,
  { orgId, from, to }: ErasureBatch,
): Promise<BatchResult> {
  const digests = await tx.query<{ digest: string }>(
    `UPDATE keys SET attribution = attribution
         || CASE WHEN attribution ->> 'customer_id' = $2 THEN jsonb_object(ARRAY['customer_id', $3::text]) ELSE '{}' END
         || CASE WHEN attribution -> 'tags' IS NULL THEN '{}' ELSE jsonb_set('{}', '{tags}', coalesce((
              SELECT jsonb_object(array_agg(name), array_agg(CASE WHEN value = $2 THEN $3 ELSE value END))
                FROM jsonb_each_text(attribution -> 'tags') AS tag(name, value)), '{}')) END
      WHERE org_id = $1 AND (attribution ->> 'customer_id' = $2 OR EXISTS (
              SELECT 1 FROM jsonb_each_text(attribution -> 'tags') AS tag(name, value) WHERE value = $2))
      RETURNING digest`,
    [orgId, from, to],
  );
  for (const { digest } of digests) {
    await keyChanged.notify(tx, digest);
  }
  return { changed: digests.length, next: null };
}

/** Replaces the id in the recorded paths of support requests. */
export async function eraseSupportPaths(
  tx: Transaction,
  { orgId, from, to, cursor }: ErasureBatch,
): Promise<BatchResult> {
  const rows = await tx.query<{ id: string; path: string | null }>(
    'SELECT id, path FROM support_access_log WHERE org_id = $1 AND id > $2 ORDER BY id LIMIT $3',
    [orgId, (cursor as string | null) ?? '', rowsPerBatch],
  );
  const renamed = rows.flatMap(({ id, path }) => {
    const text = path === null ? null : renamedPath(path, from, to);
    return text === path ? [] : [{ id, text }];
  });
  await tx.query(
    `UPDATE support_access_log l SET path = r.path FROM unnest($2::text[], $3::text[]) AS r(id, path)
      WHERE l.org_id = $1 AND l.id = r.id`,
    [orgId, renamed.map(({ id }) => id), renamed.map(({ text }) => text)],
  );
  return { changed: renamed.length, next: rows.length === rowsPerBatch ? rows.at(-1)?.id : null };
}

/**
 * The dimensions that identify a usage row besides its customer. An assignment error means that erasure must rename
 * one.
 */
const keptDimensions: readonly (KeptDimension & UsageDimension)[] = usageDimensions.filter(
  (name) => name !== 'customer_id',
);

interface UsageIdentityRow extends UsageDimensions {
  readonly digest: string;
}

/** Returns the usage rows of the customer in a time range, one for each digest. */
function findUsageRows(
  tx: Transaction,
  { table, time }: UsageTable,
  range: readonly unknown[],
): Promise<UsageIdentityRow[]> {
  return tx.query<UsageIdentityRow>(
    `SELECT DISTINCT digest, ${usageDimensions.join(', ')} FROM ${table}
      WHERE org_id = $1 AND customer_id = $2 AND ${time} >= $3 AND ${time} < $4`,
    range,
  );
}

interface UsageTable {
  readonly table: 'usage_rollups' | 'usage_days';
  readonly time: 'bucket' | 'day';
}
const usageTables: readonly UsageTable[] = [
  { table: 'usage_rollups', time: 'bucket' },
  { table: 'usage_days', time: 'day' },
];

/**
 * Moves the rows with the given digests to the pseudonym and drops their tags; adds them to rows that exist under it.
 */
function moveUsageStatement({ table, time }: UsageTable): string {
  const kept = keptDimensions.join(', ');
  const measures = usageMeasures.join(', ');
  return `
    WITH gone AS (
      DELETE FROM ${table} AS old USING unnest($6::text[], $7::text[]) AS renamed(old_digest, new_digest)
       WHERE org_id = $1 AND customer_id = $2 AND ${time} >= $3 AND ${time} < $4 AND digest = old_digest
      RETURNING old.*, new_digest
    ), moved AS (
      INSERT INTO ${table} AS there (org_id, ${time}, digest, ${kept}, customer_id, tags, ${measures}, latencies, parts)
      SELECT org_id, ${time}, new_digest, ${kept}, $5, '{}', ${usageMeasures.map((name) => `sum(${name})`).join(', ')},
             gathered_latencies(string_agg(latencies, ''::bytea)), gathered_parts(string_agg(parts, ''))
        FROM gone GROUP BY org_id, ${time}, new_digest, ${kept}
      ON CONFLICT (org_id, ${time}, digest) DO UPDATE
        SET ${usageMeasures.map((name) => `${name} = there.${name} + excluded.${name}`).join(', ')},
            latencies = gathered_latencies(there.latencies || excluded.latencies),
            parts = gathered_parts(there.parts || excluded.parts)
    )
    SELECT count(*)::int4 AS count FROM gone`;
}

/**
 * Moves the usage of the earliest day. Buckets and days move together, so that they always agree. Runs and entries of that day that
 * were posted under the id after `eraseRuns` and `eraseEntries` move with them. Only one day is moved, because decisions wait in
 * the meantime.
 */
export async function eraseUsage(tx: Transaction, batch: ErasureBatch): Promise<BatchResult> {
  const { orgId, from, to } = batch;
  const [first] = await tx.query<{ day: Date | null }>(
    'SELECT min(day) AS day FROM usage_days WHERE org_id = $1 AND customer_id = $2',
    [orgId, from],
  );
  if (first?.day == null) {
    return { changed: 0, next: null };
  }
  const span = [first.day, new Date(first.day.getTime() + dayMs)] as const;
  const lateRuns = await eraseRowsWithin(tx, runs, batch, span, renameIdentitiesOfRuns);
  const lateEntries = await eraseRowsWithin(tx, ledgerEntries, batch, span, renameIdentities);
  let changed = lateRuns.changed + lateEntries.changed;
  // A moved day is not found again, so the next batch needs no cursor.
  const next = 'more';
  if (lateRuns.next !== null || lateEntries.next !== null) {
    return { changed, next };
  }
  const range = [orgId, from, ...span];
  for (const table of usageTables) {
    const rows = await findUsageRows(tx, table, range);
    const [row] = await tx.query<{ count: number }>(moveUsageStatement(table), [
      ...range,
      to,
      rows.map(({ digest }) => digest),
      rows.map((dimensions) => usageDigest(usageIdentity({ ...dimensions, customer_id: to }, null))),
    ]);
    changed += row?.count ?? 0;
  }
  return { changed, next };
}
