/**
 * Keeps limits out of the database that processes of release 0.1.0 may read and would misunderstand: 0.1.0 treats a limit whose
 * fields it does not know as a limit of the whole org. `purser migrate --contract` applies the migration below once no such process
 * runs. From then on such processes do not start (docs/design/records/0144).
 */
import type { Match, MatchField } from '../../kernel/limits.ts';
import { isApplied } from '../../platform/db/applied-migrations.ts';
import type { Transaction } from '../../platform/db/database.ts';

const migration = { version: 45 };

const firstFields: readonly string[] = [
  'department',
  'workflow',
  'deployment',
  'customer_id',
  'chain_id',
  'key_id',
  'model',
  'route_class',
] satisfies MatchField[];

/** Transactions that found the migration applied. Migrations are never undone. */
const withMigration = new WeakSet<Transaction>();

/** Returns true if every process that can use the database understands the match. */
export async function isReadableByAll(tx: Transaction, match: Match): Promise<boolean> {
  if (Object.keys(match).every((field) => firstFields.includes(field)) || withMigration.has(tx)) {
    return true;
  }
  const found = await isApplied(tx, migration);
  if (found) {
    withMigration.add(tx);
  }
  return found;
}
