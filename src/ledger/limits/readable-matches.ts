/**
 * Keeps limits out of the database that processes of release 0.1.0 may read and would misunderstand: it takes a limit whose
 * fields it does not know for one of the whole org. `purser migrate --contract` applies the migration below, which waits until
 * no such process runs and keeps them from starting (docs/decisions/0144).
 */
import type { Match, MatchField } from '../../kernel/limits.ts';
import { isApplied } from '../../platform/db/applied-migrations.ts';
import type { Queryable } from '../../platform/db/database.ts';

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

/** Returns true if every process that can use the database understands the match. */
export async function isReadableByAll(db: Queryable, match: Match): Promise<boolean> {
  return Object.keys(match).every((field) => firstFields.includes(field)) || isApplied(db, migration);
}
