/** Compares the tables and shards of a Citus cluster with the declarations of the schema. */
import type { Queryable } from '../database.ts';
import { nodeAddress, readNodes } from './citus-cluster.ts';
import { type PlacedTable, type Placements, placedTables, readPlacements } from './placement.ts';

/** Returns the problems of a database's distribution as sentences; an empty list if there are none. */
export async function distributionProblems(db: Queryable, placements?: Placements): Promise<string[]> {
  const tables = await placedTables(db, placements ?? (await readPlacements()));
  return [
    ...tables.flatMap(tableProblems),
    ...colocationProblem(tables),
    ...(await nodeProblems(db)),
    ...(await shardProblems(db)),
  ];
}

function tableProblems(table: PlacedTable): readonly string[] {
  const { name, kind, present, tenantColumn, presentColumn, problems } = table;
  if (problems.length > 0) {
    return problems;
  }
  if (kind !== present) {
    return [`table ${name} must be a ${kind} table, but is a ${present} one`];
  }
  return kind === 'distributed' && tenantColumn !== presentColumn
    ? [`table ${name} is distributed by ${presentColumn}, not by ${tenantColumn}`]
    : [];
}

function colocationProblem(tables: readonly PlacedTable[]): string[] {
  const groups = new Set(
    tables.flatMap(({ present, colocationId }) => (present === 'distributed' ? [colocationId] : [])),
  );
  return groups.size > 1 ? ['the distributed tables are not colocated with each other'] : [];
}

async function nodeProblems(db: Queryable): Promise<string[]> {
  const nodes = await readNodes(db);
  const inactive = nodes.filter(({ isActive }) => !isActive);
  return [
    ...inactive.map((node) => `node ${nodeAddress(node)} is not active`),
    ...(nodes.some(({ isCoordinator }) => isCoordinator) ? [] : ['the coordinator has no address']),
  ];
}

async function shardProblems(db: Queryable): Promise<string[]> {
  const rows = await db.query<{ name: string; shards: number }>(
    `SELECT s.logicalrelid::regclass::text AS name, count(*)::int4 AS shards
       FROM pg_dist_shard s JOIN pg_class c ON c.oid = s.logicalrelid
      WHERE c.relnamespace = current_schema()::regnamespace
        AND NOT EXISTS (SELECT 1 FROM pg_dist_placement p JOIN pg_dist_node n USING (groupid)
                         WHERE p.shardid = s.shardid AND p.shardstate = 1 AND n.noderole = 'primary')
      GROUP BY 1 ORDER BY 1`,
    [],
  );
  return rows.map(({ name, shards }) => `${shards} shards of table ${name} have no active placement`);
}
