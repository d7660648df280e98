/**
 * Distributes the tables of the schema over a Citus cluster, as declared in `placement.ts`. Each table has a separate transaction.
 * So the next run continues an interrupted one, and a run on a fully distributed database changes nothing.
 */
import { lockMigrations } from '../applied-migrations.ts';
import type { Database, Transaction } from '../database.ts';
import { describeBuilds, runningBuilds } from '../running-builds.ts';
import { CitusUnavailable, isDistributed, requireCluster } from './citus-cluster.ts';
import {
  type PlacedTable,
  type PlacementKind,
  type Placements,
  placedTables,
  presentKindOf,
  readPlacements,
} from './placement.ts';
import { distributionProblems } from './verify-distribution.ts';

/** Reference tables come first, because distributed tables refer to them. */
const order: readonly PlacementKind[] = ['reference', 'coordinator', 'distributed'];

export interface DistributeOptions {
  readonly placements?: Placements;
  /** Called after each table. */
  onTable?(table: PlacedTable): void;
}

/** Distributes a database that no service uses. Returns the number of tables that were placed. */
export async function distribute(db: Database, options: DistributeOptions = {}): Promise<number> {
  await requireCluster(db);
  const running = (await isDistributed(db)) ? [] : await runningBuilds(db);
  if (running.length > 0) {
    throw new CitusUnavailable(
      `processes of Purser are running: ${describeBuilds(running)}; stop them, then try again`,
    );
  }
  const unplaceable = (await placedTables(db, options.placements ?? (await readPlacements()))).flatMap(
    (table) => table.problems,
  );
  if (unplaceable.length > 0) {
    throw new CitusUnavailable(`cannot be distributed: ${unplaceable.join('; ')}`);
  }
  const placed = await placeTables(db, options);
  const problems = await distributionProblems(db, options.placements);
  if (problems.length > 0) {
    throw new CitusUnavailable(problems.join('; '));
  }
  return placed;
}

/**
 * Places the tables that a migration has added to a distributed database. Does nothing on other databases. A table that cannot be
 * placed stays on the coordinator, and `purser doctor` reports it.
 */
export async function distributeNewTables(db: Database): Promise<void> {
  if (await isDistributed(db)) {
    await placeTables(db, {});
  }
}

async function placeTables(db: Database, { placements, onTable }: DistributeOptions): Promise<number> {
  const tables = await placedTables(db, placements ?? (await readPlacements()));
  await distributeFunctions(db);
  let placed = 0;
  let colocateWith = tables.find(({ kind, present }) => kind === 'distributed' && present === kind)?.name;
  for (const kind of order) {
    for (const table of tables.filter((one) => one.kind === kind && isToBePlaced(one))) {
      if (await db.transaction((tx) => placeTable(tx, table, colocateWith), { patient: true })) {
        placed += 1;
        onTable?.(table);
      }
      if (kind === 'distributed') {
        colocateWith ??= table.name;
      }
    }
  }
  return placed;
}

function isToBePlaced({ kind, present, problems }: PlacedTable): boolean {
  return kind !== present && problems.length === 0;
}

/** Places a table. Returns false if another process has placed it already, or if it was placed together with a table that refers to it. */
async function placeTable(
  tx: Transaction,
  { name, kind, present, tenantColumn }: PlacedTable,
  colocateWith: string | undefined,
): Promise<boolean> {
  await lockMigrations(tx);
  if ((await presentKindOf(tx, name)) === kind) {
    return false;
  }
  if (present === 'distributed' || present === 'reference') {
    throw new CitusUnavailable(
      `table ${name} is a ${present} table, but must be a ${kind} one; run \`SELECT undistribute_table('${name}')\`, then try again`,
    );
  }
  switch (kind) {
    case 'reference':
      await tx.query('SELECT create_reference_table($1::text::regclass)', [name]);
      await removeCopiedRows(tx, name);
      break;
    case 'coordinator':
      await tx.query(
        'SELECT citus_add_local_table_to_metadata($1::text::regclass, cascade_via_foreign_keys => true)',
        [name],
      );
      break;
    case 'distributed':
      await tx.query('SELECT create_distributed_table($1::text::regclass, $2, colocate_with => $3)', [
        name,
        tenantColumn,
        colocateWith ?? 'none',
      ]);
      await removeCopiedRows(tx, name);
      break;
    case 'untracked':
      break;
  }
  return true;
}

/** Deletes the rows on the coordinator that were copied to the workers. They are invisible but occupy space. */
async function removeCopiedRows(tx: Transaction, name: string): Promise<void> {
  await tx.query('SELECT truncate_local_data_after_distributing_table($1::text::regclass)', [name]);
}

/** Distributes the functions of the schema, because statements that use them run on the workers. */
async function distributeFunctions(db: Database): Promise<void> {
  const functions = await db.query<{ name: string }>(
    `SELECT p.oid::regprocedure::text AS name FROM pg_proc p
      WHERE p.pronamespace = current_schema()::regnamespace
        AND NOT EXISTS (SELECT 1 FROM pg_depend d WHERE d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e')
        AND NOT EXISTS (SELECT 1 FROM pg_dist_object o WHERE o.classid = 'pg_proc'::regclass AND o.objid = p.oid)
      ORDER BY 1`,
    [],
  );
  for (const { name } of functions) {
    await db.query('SELECT create_distributed_function($1::text::regprocedure)', [name]);
  }
}
