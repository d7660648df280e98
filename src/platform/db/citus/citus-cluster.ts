/** The Citus cluster of a database: finds out whether there is one, and returns its nodes. */
import type { Database, Queryable } from '../database.ts';

/** The database cannot be distributed. The message has the reason and a remedy. */
export class CitusUnavailable extends Error {
  override readonly name = 'CitusUnavailable';
}

export interface CitusNode {
  readonly name: string;
  readonly port: number;
  readonly isCoordinator: boolean;
  readonly isActive: boolean;
  readonly hasShards: boolean;
}

/** Returns true if tables of the current schema are distributed. */
export async function isDistributed(db: Pick<Database, 'engine' | 'query'>): Promise<boolean> {
  if (db.engine !== 'postgres' || !(await hasCitus(db))) {
    return false;
  }
  const rows = await db.query(
    `SELECT 1 AS one FROM pg_dist_partition p JOIN pg_class c ON c.oid = p.logicalrelid
      WHERE p.partmethod = 'h' AND c.relnamespace = current_schema()::regnamespace LIMIT 1`,
    [],
  );
  return rows.length > 0;
}

export async function hasCitus(db: Queryable): Promise<boolean> {
  return (await db.query(`SELECT 1 AS one FROM pg_extension WHERE extname = 'citus'`, [])).length > 0;
}

export function readNodes(db: Queryable): Promise<CitusNode[]> {
  return db.query<CitusNode>(
    `SELECT nodename AS name, nodeport AS port, groupid = 0 AS "isCoordinator", isactive AS "isActive",
            shouldhaveshards AS "hasShards"
       FROM pg_dist_node WHERE noderole = 'primary' ORDER BY groupid, nodename, nodeport`,
    [],
  );
}

/** Throws if the tables of this database cannot be distributed. Returns the nodes of the cluster otherwise. */
export async function requireCluster(db: Database): Promise<CitusNode[]> {
  if (db.engine === 'embedded') {
    throw new CitusUnavailable(
      'the embedded database cannot be distributed; set SVC_DATABASE_URL to the coordinator of a Citus cluster',
    );
  }
  if (!(await hasCitus(db))) {
    throw new CitusUnavailable(
      'the extension citus is not installed in this database; add it to shared_preload_libraries on all nodes, and run `CREATE EXTENSION citus` in this database on each of them',
    );
  }
  const nodes = await readNodes(db);
  if (!nodes.some(({ isCoordinator }) => isCoordinator)) {
    throw new CitusUnavailable(
      "the coordinator has no address; run `SELECT citus_set_coordinator_host('<host>', <port>)` with one that the workers can reach",
    );
  }
  if (!nodes.some(({ isActive, hasShards }) => isActive && hasShards)) {
    throw new CitusUnavailable(
      "no node takes shards; add workers with `SELECT citus_add_node('<host>', <port>)`",
    );
  }
  const inactive = nodes.filter(({ isActive }) => !isActive);
  if (inactive.length > 0) {
    throw new CitusUnavailable(
      `not active: ${inactive.map(nodeAddress).join(', ')}; activate them with citus_activate_node, or remove them`,
    );
  }
  return nodes;
}

export function nodeAddress({ name, port }: CitusNode): string {
  return `${name}:${port}`;
}
