/**
 * Where each table of the schema lives on a Citus cluster:
 *
 *   distributed   by its tenant column, on the workers. All of them are colocated: the rows of a tenant are on one worker.
 *   reference     a copy on every node, because distributed tables refer to it.
 *   coordinator   on the coordinator alone: small, and searched before the tenant is known.
 *
 * `migrations/placement.json` declares the tables that are not distributed.
 */
import { readFile } from 'node:fs/promises';
import type { Queryable } from '../database.ts';

export const tenantColumns = ['org_id', 'tenant_id'] as const;

export interface Placements {
  readonly reference: readonly string[];
  readonly coordinator: readonly string[];
  /**
   * Tables of the coordinator that are never written together with others. They are not registered with Citus, so that it does not
   * join their transactions. All other tables are registered: Citus commits writes to them atomically with writes on the workers.
   */
  readonly untracked: readonly string[];
}

export async function readPlacements(
  file: URL = new URL('../../../../migrations/placement.json', import.meta.url),
): Promise<Placements> {
  return JSON.parse(await readFile(file, 'utf8')) as Placements;
}

export type PlacementKind = 'distributed' | 'reference' | 'coordinator' | 'untracked';

export interface PlacedTable {
  readonly name: string;
  readonly kind: PlacementKind;
  /** Null if the table is not distributed. */
  readonly tenantColumn: string | null;
  /** The current placement; `untracked` if the table is not registered with Citus. */
  readonly present: PlacementKind;
  readonly presentColumn: string | null;
  readonly colocationId: number | null;
  /** Reasons that prevent a distribution of the table. */
  readonly problems: readonly string[];
}

interface TableRow {
  readonly name: string;
  readonly columns: readonly string[];
  /** Unique indexes and primary keys, with their columns. */
  readonly unique_indexes: readonly { readonly name: string; readonly columns: readonly string[] }[];
  readonly method: string | null;
  readonly model: string | null;
  readonly present_column: string | null;
  readonly colocation_id: number | null;
}

/** Returns all tables of the schema, with their declared and their current placement. */
export async function placedTables(db: Queryable, placements: Placements): Promise<PlacedTable[]> {
  const rows = await db.query<TableRow>(
    `SELECT c.relname::text AS name,
            ARRAY(SELECT a.attname::text FROM pg_attribute a
                   WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped) AS columns,
            coalesce((SELECT jsonb_agg(jsonb_build_object('name', i.indexrelid::regclass::text, 'columns',
                        ARRAY(SELECT a.attname::text FROM pg_attribute a
                               WHERE a.attrelid = c.oid AND a.attnum = ANY(i.indkey))))
                       FROM pg_index i WHERE i.indrelid = c.oid AND i.indisunique), '[]') AS unique_indexes,
            p.partmethod::text AS method, p.repmodel::text AS model, p.colocationid::int4 AS colocation_id,
            CASE WHEN p.partkey IS NOT NULL THEN column_to_column_name(p.logicalrelid, p.partkey) END AS present_column
       FROM pg_class c LEFT JOIN pg_dist_partition p ON p.logicalrelid = c.oid
      WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
        AND NOT EXISTS (SELECT 1 FROM pg_depend d WHERE d.objid = c.oid AND d.deptype = 'e')
      ORDER BY c.relname::text COLLATE "C"`,
    [],
  );
  return rows.map((row) => {
    const kind = kindOf(row.name, placements);
    const tenantColumn = kind === 'distributed' ? (tenantColumnOf(row) ?? null) : null;
    return {
      name: row.name,
      kind,
      tenantColumn,
      present: presentKind(row),
      presentColumn: row.present_column,
      colocationId: row.colocation_id,
      problems: kind === 'distributed' ? problemsOf(row, tenantColumn) : [],
    };
  });
}

function kindOf(name: string, { reference, coordinator, untracked }: Placements): PlacementKind {
  if (untracked.includes(name)) {
    return 'untracked';
  }
  if (reference.includes(name)) {
    return 'reference';
  }
  return coordinator.includes(name) ? 'coordinator' : 'distributed';
}

function tenantColumnOf({ columns }: TableRow): string | undefined {
  return tenantColumns.find((column) => columns.includes(column));
}

function problemsOf({ name, unique_indexes }: TableRow, tenantColumn: string | null): string[] {
  if (tenantColumn === null) {
    return [
      `table ${name} has no column ${tenantColumns.join(' or ')}, and migrations/placement.json does not declare it`,
    ];
  }
  return unique_indexes
    .filter(({ columns }) => !columns.includes(tenantColumn))
    .map((index) => `the unique index ${index.name} of table ${name} does not contain ${tenantColumn}`);
}

/** Returns the current placement of a table. */
export async function presentKindOf(db: Queryable, name: string): Promise<PlacementKind> {
  const [row] = await db.query<Pick<TableRow, 'method' | 'model'>>(
    `SELECT partmethod::text AS method, repmodel::text AS model FROM pg_dist_partition
      WHERE logicalrelid = $1::text::regclass`,
    [name],
  );
  return presentKind(row ?? { method: null, model: null });
}

/** Returns the placement that Citus encodes as a partition method and a replication model. */
function presentKind({ method, model }: Pick<TableRow, 'method' | 'model'>): PlacementKind {
  if (method === null) {
    return 'untracked';
  }
  if (method === 'h') {
    return 'distributed';
  }
  return model === 't' ? 'reference' : 'coordinator';
}
