/**
 * Distributes the tables of the schema over a Citus cluster, as `placement.ts` places them. Each table has a transaction of its own,
 * so a run that was interrupted is continued by the next one, and a run with nothing to do changes nothing.
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
  readPlacements,
} from './placement.ts';
import { distributionProblems } from './verify-distribution.ts';

/** Distributed tables refer to reference tables, so those come first. */
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
 * Places the tables that a migration has added to a distributed database. Does nothing on others. A table that cannot be placed
 * stays on the coordinator, and `purser doctor` reports it.
 */
export async function distributeNewTables(db: Database): Promise<void> {
  if (await isDistributed(db)) {
    await placeTables(db, {});
  }
}

async function placeTables(db: Database, { placements, onTable }: DistributeOptions): Promise<number> {
  const declared = placements ?? (await readPlacements());
  const tables = await placedTables(db, declared);
  await distributeFunctions(db);
  let placed = 0;
  for (const kind of order) {
    for (const { name } of tables.filter(
      (table) => table.kind === kind && !isPlaced(table) && table.problems.length === 0,
    )) {
      const table = await db.transaction((tx) => placeTable(tx, name, declared), { patient: true });
      if (table !== undefined) {
        placed += 1;
        onTable?.(table);
      }
    }
  }
  return placed;
}

function isPlaced({ kind, present }: PlacedTable): boolean {
  return kind === present;
}

/** Returns undefined if another process has placed the table. */
async function placeTable(
  tx: Transaction,
  name: string,
  placements: Placements,
): Promise<PlacedTable | undefined> {
  await lockMigrations(tx);
  const tables = await placedTables(tx, placements);
  const table = tables.find((one) => one.name === name);
  if (table === undefined || isPlaced(table)) {
    return undefined;
  }
  if (table.present === 'distributed' || table.present === 'reference') {
    throw new CitusUnavailable(
      `table ${name} is a ${table.present} table, but must be on ${table.kind === 'distributed' ? 'the workers, by tenant' : `the coordinator (${table.kind})`}; run \`SELECT undistribute_table('${name}')\`, then try again`,
    );
  }
  switch (table.kind) {
    case 'reference':
      await tx.query('SELECT create_reference_table($1::text::regclass)', [name]);
      break;
    case 'coordinator':
      await tx.query(
        'SELECT citus_add_local_table_to_metadata($1::text::regclass, cascade_via_foreign_keys => true)',
        [name],
      );
      break;
    case 'distributed': {
      const [first] = tables.filter(
        ({ kind, present }) => kind === 'distributed' && present === 'distributed',
      );
      await tx.query('SELECT create_distributed_table($1::text::regclass, $2, colocate_with => $3)', [
        name,
        table.tenantColumn,
        first?.name ?? 'none',
      ]);
      break;
    }
    case 'untracked':
      break;
  }
  if (table.kind === 'distributed' || table.kind === 'reference') {
    await removeCopiedRows(tx, name);
  }
  return table;
}

/** Rows that were copied to the workers stay in the table of the coordinator, invisible, and occupy space. */
async function removeCopiedRows(tx: Transaction, name: string): Promise<void> {
  await tx.query('SELECT truncate_local_data_after_distributing_table($1::text::regclass)', [name]);
}

/** Statements that use a function of the schema run on the workers. */
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
