/** Locks orgs. Only the holder of an org's lock decides for it, and sees all writes of the previous holder. */
import type { Transaction } from '../../platform/db/database.ts';

export interface LockedOrg {
  readonly orgId: string;
  readonly version: bigint;
  readonly now: Date;
  readonly lastAt: Date;
  /** True if the org had no row to lock. Counters that were read after the first attempt were then read without a lock. */
  readonly wasMissing?: boolean;
}

const columns = `org_id AS "orgId", limits_version AS version, clock_timestamp()::timestamptz(3) AS now, last_at AS "lastAt"`;

/**
 * Prevents a shard move. On Citus a row lock does not stop a move of its shard: once the shard is on another worker, another
 * process can lock the row there, and both decide. A write stops the move until the transaction ends, even a write that changes no
 * row. It must be sent before the lock.
 */
async function keepInPlace(tx: Transaction, orgIds: readonly string[]): Promise<void> {
  if (tx.isDistributed) {
    await tx.query(
      `UPDATE ledger_orgs SET last_at = last_at WHERE org_id = ANY($1) AND last_at = '-infinity'`,
      [orgIds],
    );
  }
}

/** Locks one org, no matter how long that takes. */
export async function lockOrg(tx: Transaction, orgId: string): Promise<LockedOrg> {
  const statement = `SELECT ${columns} FROM ledger_orgs WHERE org_id = $1 FOR UPDATE`;
  const [, [row]] = await Promise.all([keepInPlace(tx, [orgId]), tx.query<LockedOrg>(statement, [orgId])]);
  if (row !== undefined) {
    return row;
  }
  await tx.query('INSERT INTO ledger_orgs (org_id) VALUES ($1) ON CONFLICT DO NOTHING', [orgId]);
  const [created] = await tx.query<LockedOrg>(statement, [orgId]);
  if (created === undefined) {
    throw new Error('ledger_orgs row is missing after its insert');
  }
  return { ...created, wasMissing: true };
}

/** Locks those orgs that no other transaction has locked. Leaves out orgs that have no row yet. */
export async function lockFreeOrgs(tx: Transaction, orgIds: readonly string[]): Promise<LockedOrg[]> {
  const [, locked] = await Promise.all([
    keepInPlace(tx, orgIds),
    tx.query<LockedOrg>(`SELECT ${columns} FROM ledger_orgs WHERE org_id = ANY($1) FOR UPDATE SKIP LOCKED`, [
      orgIds,
    ]),
  ]);
  return locked;
}

/** Most processes that decide for the same orgs release them sooner. A longer wait must not delay the other orgs. */
const waitMs = 100;

/**
 * Locks the orgs in a fixed order, so that processes cannot deadlock. Fails with a lock timeout if an org stays locked. Leaves out
 * orgs that have no row yet.
 */
export async function lockOrgs(tx: Transaction, orgIds: readonly string[]): Promise<LockedOrg[]> {
  const [, , locked] = await Promise.all([
    tx.query(`SELECT set_config('lock_timeout', $1, true)`, [`${waitMs}ms`]),
    keepInPlace(tx, orgIds),
    tx.query<LockedOrg>(
      `SELECT ${columns} FROM ledger_orgs WHERE org_id = ANY($1) ORDER BY org_id FOR UPDATE`,
      [orgIds],
    ),
  ]);
  return locked;
}
