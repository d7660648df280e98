/**
 * Erases a customer's id from the counter keys in records of alerts and forecasts. These are not renamed together with the limits,
 * because they are so many that the org's decisions would be delayed. If a decision has recorded a counter under the pseudonym in
 * the meantime, its row stays.
 */
import type { Transaction } from '../../../platform/db/database.ts';
import { type BatchedTable, type BatchResult, type ErasureBatch, eraseRows } from './batched-rows.ts';
import { renamedName } from './renaming-sql.ts';

/**
 * The part of a counter key after the first colon: the value that the counter is for, or several values as JSON. The capacity
 * follows if the limit has no window.
 */
const counterValue = `substr(counter_key, strpos(counter_key, ':') + 1)`;
const withoutCapacity = `regexp_replace(${counterValue}, '#[0-9]+$', '')`;
const renamedValue = `CASE
  WHEN ${counterValue} = $2 THEN $3
  WHEN ${withoutCapacity} = $2 THEN $3 || substr(${counterValue}, length($2) + 1)
  ELSE ${renamedName(`replace(${counterValue}, $4, '"' || $3 || '"')`)} END`;
const renamedKey = `left(counter_key, strpos(counter_key, ':')) || ${renamedValue}`;

const where = `strpos(counter_key, ':') > 0
  AND (${counterValue} ~ $6 OR ${withoutCapacity} = $2 OR left(${counterValue}, 1) = '[' AND strpos(${counterValue}, $4) > 0)`;

const alerts: BatchedTable = {
  table: 'limit_alerts',
  org: 'org_id',
  key: [
    ['counter_key', 'text'],
    ['threshold', 'int4'],
  ],
  where,
};
const forecasts: BatchedTable = {
  table: 'forecast_notices',
  org: 'org_id',
  key: [['counter_key', 'text']],
  where,
};

const insertRenamed = (table: string, others: string) => `
  INSERT INTO ${table} (org_id, counter_key, ${others}) SELECT org_id, ${renamedKey}, ${others} FROM changed
  ON CONFLICT DO NOTHING`;

export const eraseAlerts = (tx: Transaction, batch: ErasureBatch): Promise<BatchResult> =>
  eraseRows(tx, alerts, batch, insertRenamed(alerts.table, 'threshold, at'));
export const eraseForecasts = (tx: Transaction, batch: ErasureBatch): Promise<BatchResult> =>
  eraseRows(tx, forecasts, batch, insertRenamed(forecasts.table, 'told_at'));
