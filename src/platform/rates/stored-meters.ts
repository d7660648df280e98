/** Rate meters in the table `rate_meters`, whose row locks serialize them. */
import { createHash } from 'node:crypto';
import type { Queryable, Transaction } from '../db/database.ts';
import { deleteBatch } from '../db/delete-batch.ts';
import type { MeterState, Meters } from './meters.ts';
import type { RateDebit } from './rate-limiter.ts';

export interface MeterRow {
  readonly orgId: string;
  /** Digest of the key of a debit, which may contain the id of a customer. */
  readonly key: string;
  readonly debit: RateDebit;
}

/** Returns one row for each meter of the debits, in the lock order that all processes use. */
export function rowsOf(debits: readonly RateDebit[]): MeterRow[] {
  const byKey = new Map(debits.map((debit) => [debit.key, debit]));
  return [...byKey.values()]
    .map((debit) => ({ orgId: orgIdOf(debit), key: digestOf(debit.key), debit }))
    .sort((a, b) => (`${a.orgId} ${a.key}` < `${b.orgId} ${b.key}` ? -1 : 1));
}

export function orgIdOf({ key }: RateDebit): string {
  return key.slice(0, key.indexOf(':'));
}

function digestOf(key: string): string {
  return createHash('sha256').update(key).digest('base64url');
}

interface LockedMeter {
  readonly org_id: string;
  readonly key: string;
  readonly state: string | null;
  readonly now: Date;
}

/**
 * Locks the meters, creates missing ones, and restores their states. Returns the time of the database, and the states of the rows
 * that have one.
 */
export async function lockMeters(
  tx: Transaction,
  rows: readonly MeterRow[],
  meters: Meters,
): Promise<{ readonly now: Date; readonly states: ReadonlyMap<MeterRow, MeterState> }> {
  let locked = await selectForUpdate(tx, rows);
  if (locked.length < rows.length) {
    await insertMissing(tx, rows);
    locked = await selectForUpdate(tx, rows);
  }
  const texts = new Map(locked.map(({ org_id, key, state }) => [`${org_id} ${key}`, state]));
  const states = new Map<MeterRow, MeterState>();
  for (const row of rows) {
    const text = texts.get(`${row.orgId} ${row.key}`);
    if (text != null) {
      const state = stateOf(text);
      states.set(row, state);
      meters.restore(row.debit, state);
    }
  }
  return { now: new Date(Math.max(...locked.map(({ now }) => now.getTime()))), states };
}

function selectForUpdate(tx: Queryable, rows: readonly MeterRow[]): Promise<LockedMeter[]> {
  return tx.query<LockedMeter>(
    `SELECT org_id, key, state, clock_timestamp()::timestamptz(3) AS now FROM rate_meters
      WHERE org_id = ANY($1) AND key = ANY($2) ORDER BY org_id, key FOR UPDATE`,
    [[...new Set(rows.map(({ orgId }) => orgId))], rows.map(({ key }) => key)],
  );
}

async function insertMissing(tx: Queryable, rows: readonly MeterRow[]): Promise<void> {
  await tx.query(
    `INSERT INTO rate_meters (org_id, key) SELECT * FROM unnest($1::text[], $2::text[]) ON CONFLICT DO NOTHING`,
    [rows.map(({ orgId }) => orgId), rows.map(({ key }) => key)],
  );
}

/** Maximum time that a state is kept. A meter may recover later, because its limit was changed to zero. */
const keptMsMax = 400 * 86_400_000;

/** Writes the states that have changed since they were read. */
export async function writeMeters(
  tx: Queryable,
  rows: readonly MeterRow[],
  meters: Meters,
  before: ReadonlyMap<MeterRow, MeterState>,
  nowMs: number,
): Promise<void> {
  const written = rows.flatMap((row) => {
    const meter = meters.read(row.debit);
    return meter === undefined || meter.state === before.get(row) ? [] : [{ ...row, ...meter }];
  });
  if (written.length === 0) {
    return;
  }
  await tx.query(
    `UPDATE rate_meters m SET state = u.state, untouched_at = u.untouched_at
       FROM unnest($1::text[], $2::text[], $3::text[], $4::timestamptz[]) AS u(org_id, key, state, untouched_at)
      WHERE m.org_id = u.org_id AND m.key = u.key AND m.org_id = ANY($5)`,
    [
      written.map(({ orgId }) => orgId),
      written.map(({ key }) => key),
      written.map(({ state }) => textOf(state)),
      written.map(({ untouchedAtMs }) => new Date(Math.min(untouchedAtMs, nowMs + keptMsMax))),
      [...new Set(written.map(({ orgId }) => orgId))],
    ],
  );
}

/** Deletes some of the meters that equal untouched ones. Returns true if there may be more. */
export function deleteUntouched(db: Queryable, now: Date): Promise<boolean> {
  const where = 'untouched_at <= $1';
  return deleteBatch(db, { table: 'rate_meters', key: 'org_id, key', where, params: [now], limit: 500 });
}

type StoredState =
  | readonly [level: string, stepsPerUnit: string, atMs: number]
  | readonly (readonly [firstAtMs: number, lastAtMs: number, amount: string])[];

function textOf(state: MeterState): string {
  const stored: StoredState =
    'level' in state
      ? [String(state.level), String(state.stepsPerUnit), state.atMs]
      : state.map(({ firstAtMs, lastAtMs, amount }) => [firstAtMs, lastAtMs, String(amount)]);
  return JSON.stringify(stored);
}

function stateOf(text: string): MeterState {
  const stored = JSON.parse(text) as StoredState;
  if (typeof stored[0] === 'string') {
    const [level, stepsPerUnit, atMs] = stored as Extract<StoredState, readonly [string, string, number]>;
    return { level: BigInt(level), stepsPerUnit: BigInt(stepsPerUnit), atMs };
  }
  return (stored as readonly (readonly [number, number, string])[]).map(([firstAtMs, lastAtMs, amount]) => ({
    firstAtMs,
    lastAtMs,
    amount: BigInt(amount),
  }));
}
