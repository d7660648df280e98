/**
 * Reads a whole database as frames. Tables are read in ranges of pages, so that memory is bounded and no key is needed. The caller
 * must ensure that nothing changes in the meantime: with a snapshot transaction, or because no other process has opened the
 * directory.
 */
import type { BulkConnection } from './bulk-connection.ts';
import type { TransferFrame, TransferHeader, TransferredMigration, TransferSource } from './frames.ts';
import {
  columnList,
  quoted,
  readPartitions,
  readStoredParts,
  readTables,
  readTotals,
  type StoredPart,
  type TableTotals,
} from './table-catalog.ts';

export interface DatabaseSourceOptions {
  readonly id: string;
  readonly createdAt: Date;
  readonly version: string;
  readonly engine: TransferHeader['engine'];
  /** Returns true for tables that describe this instance and must not be copied. */
  isExcluded(table: string): boolean;
  /** Returns the open holds as JSON, in batches. */
  holds(): AsyncIterable<readonly string[]> | Iterable<readonly string[]>;
}

/** Size of the pages of one frame. The text of the rows may be twice as long. */
const frameBytes = 8 * 1_024 * 1_024;

export async function openDatabaseSource(
  connection: BulkConnection,
  options: DatabaseSourceOptions,
): Promise<TransferSource> {
  const tables = await readTables(connection, options.isExcluded);
  const [check] = await connection.query<{ sealed: Uint8Array }>('SELECT sealed FROM secrets_key_check');
  const [log] = await connection.query<{ generation: string }>('SELECT generation FROM hold_log_generation');
  const header: TransferHeader = {
    id: options.id,
    createdAt: options.createdAt.toISOString(),
    version: options.version,
    engine: options.engine,
    migrations: await connection.query<TransferredMigration & Record<string, unknown>>(
      'SELECT version, name, checksum FROM schema_migrations ORDER BY version',
    ),
    tables,
    partitions: await readPartitions(connection),
    keyCheck: check === undefined ? null : Buffer.from(check.sealed).toString('base64'),
    holdGeneration: log?.generation ?? null,
  };
  const parts = await readStoredParts(connection);

  async function* frames(from = 0): AsyncGenerator<TransferFrame> {
    const totals: Record<string, TableTotals> = {};
    let index = 0;
    for (const table of tables) {
      for (const part of parts.filter((one) => one.table === table.name)) {
        for (const range of pageRanges(part)) {
          if (index >= from) {
            const data = await connection.copyOut(
              `COPY (SELECT ${columnList(table)} FROM ONLY ${quoted(part.name)}
                      WHERE ctid >= '(${range.from},0)' AND ctid < '(${range.to},0)') TO STDOUT`,
            );
            yield { kind: 'rows', table: table.name, rows: countLines(data), data };
          }
          index += 1;
        }
      }
      totals[table.name] = await readTotals(connection, table);
    }
    let holds = 0;
    for await (const records of options.holds()) {
      holds += records.length;
      if (index >= from) {
        yield { kind: 'holds', records };
      }
      index += 1;
    }
    yield { kind: 'end', tables: totals, holds };
  }

  return { header, frames };
}

/**
 * Splits a table into ranges of pages. Values that are stored outside of their row make the text of a page longer, so their ranges
 * have fewer pages.
 */
function* pageRanges({
  pages,
  bytes,
  bytesWithLongValues,
}: StoredPart): Generator<{ from: number; to: number }> {
  const bytesPerPage =
    pages === 0 ? 1 : Number(bytes > bytesWithLongValues ? bytes : bytesWithLongValues) / pages;
  const step = Math.max(1, Math.floor(frameBytes / bytesPerPage));
  for (let from = 0; from < pages; from += step) {
    yield { from, to: from + step };
  }
}

const newline = 0x0a;

/** Counts the rows in the text format of `COPY`, which escapes newlines within values. */
export function countLines(data: Uint8Array): number {
  let lines = 0;
  for (let at = data.indexOf(newline); at !== -1; at = data.indexOf(newline, at + 1)) {
    lines += 1;
  }
  return lines;
}
