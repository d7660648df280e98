/** The tables of a database as its catalog describes them: columns, partitions, and an order that satisfies foreign keys. */
import type { BulkConnection } from './bulk-connection.ts';

export interface CatalogTable {
  readonly name: string;
  /** The names are sorted, because their order in the table depends on the order of the migrations. */
  readonly columns: readonly string[];
}

export interface Partition {
  readonly name: string;
  readonly parent: string;
  /** SQL of the bound, such as `FOR VALUES FROM ('…') TO ('…')`. */
  readonly bound: string;
}

/** A part of a table that stores rows: the table itself, or one of its partitions. */
export interface StoredPart {
  readonly table: string;
  readonly name: string;
  readonly pages: number;
  /** Bytes in the pages of the part, without and with long values that are stored outside of them. */
  readonly bytes: bigint;
  readonly bytesWithLongValues: bigint;
}

const schema = 'current_schema()::regnamespace';

/** Returns the tables, each after those that it refers to. */
export async function readTables(
  connection: BulkConnection,
  isExcluded: (table: string) => boolean,
): Promise<CatalogTable[]> {
  const rows = await connection.query<{ name: string; columns: string[] }>(
    `SELECT c.relname::text AS name,
            (SELECT array_agg(a.attname::text ORDER BY a.attname::text COLLATE "C") FROM pg_attribute a
              WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = '') AS columns
       FROM pg_class c
      WHERE c.relnamespace = ${schema} AND c.relkind IN ('r', 'p') AND NOT c.relispartition
      ORDER BY c.relname::text COLLATE "C"`,
  );
  const references = await connection.query<{ from: string; to: string }>(
    `SELECT f.relname::text AS from, t.relname::text AS to
       FROM pg_constraint k JOIN pg_class f ON f.oid = k.conrelid JOIN pg_class t ON t.oid = k.confrelid
      WHERE k.contype = 'f' AND k.connamespace = ${schema} AND f.oid <> t.oid`,
  );
  return inOrderOfReferences(
    rows.filter(({ name }) => !isExcluded(name)),
    references,
  );
}

function inOrderOfReferences(
  tables: readonly CatalogTable[],
  references: readonly { from: string; to: string }[],
): CatalogTable[] {
  const ordered: CatalogTable[] = [];
  const left = new Set(tables);
  while (left.size > 0) {
    const names = new Set([...left].map(({ name }) => name));
    const next = [...left].filter(
      ({ name }) => !references.some(({ from, to }) => from === name && names.has(to)),
    );
    if (next.length === 0) {
      throw new Error(`the tables ${[...names].join(', ')} refer to each other in a circle`);
    }
    for (const table of next) {
      ordered.push(table);
      left.delete(table);
    }
  }
  return ordered;
}

export function readPartitions(connection: BulkConnection): Promise<Partition[]> {
  return connection.query<Partition & Record<string, unknown>>(
    `SELECT c.relname::text AS name, p.relname::text AS parent, pg_get_expr(c.relpartbound, c.oid) AS bound
       FROM pg_class c JOIN pg_inherits i ON i.inhrelid = c.oid JOIN pg_class p ON p.oid = i.inhparent
      WHERE c.relnamespace = ${schema} AND c.relkind = 'r' AND c.relispartition
      ORDER BY c.relname::text COLLATE "C"`,
  );
}

export async function readStoredParts(connection: BulkConnection): Promise<StoredPart[]> {
  const rows = await connection.query<Omit<StoredPart, 'pages'> & { pages: bigint }>(
    `SELECT coalesce(p.relname, c.relname)::text AS table, c.relname::text AS name,
            pg_relation_size(c.oid) / current_setting('block_size')::int8 AS pages,
            pg_relation_size(c.oid) AS bytes, pg_table_size(c.oid) AS "bytesWithLongValues"
       FROM pg_class c LEFT JOIN pg_inherits i ON i.inhrelid = c.oid LEFT JOIN pg_class p ON p.oid = i.inhparent
      WHERE c.relnamespace = ${schema} AND c.relkind = 'r'
      ORDER BY c.relname::text COLLATE "C"`,
  );
  return rows.map((row) => ({ ...row, pages: Number(row.pages) }));
}

export function quoted(identifier: string): string {
  return `"${identifier.replaceAll('"', '""')}"`;
}

export function columnList({ columns }: Pick<CatalogTable, 'columns'>): string {
  return columns.map(quoted).join(', ');
}

/** Number of rows, and a digest of their content that does not depend on their order. */
export interface TableTotals {
  readonly rows: string;
  readonly digest: string;
}

/** Returns the totals of a table. Both engines give values the same text in the session of a `BulkConnection`. */
export async function readTotals(connection: BulkConnection, table: CatalogTable): Promise<TableTotals> {
  const [totals] = await connection.query<TableTotals>(
    `SELECT count(*)::text AS rows, coalesce(sum(hashtextextended(ROW(${columnList(table)})::text, 0)), 0)::text AS digest
       FROM ${quoted(table.name)}`,
  );
  return totals as TableTotals;
}
