/**
 * The format of a backup and of a move: a header, then frames in order. It connects the four parts that read a database, write a
 * file, read a file and load a database.
 */
import type { AppliedMigration } from '../applied-migrations.ts';
import type { CatalogTable, Partition, TableTotals } from './table-catalog.ts';

export type TransferredMigration = Omit<AppliedMigration, 'readable_from'>;

export interface TransferHeader {
  /** Id of the transfer. An interrupted load only resumes with the same id. */
  readonly id: string;
  readonly createdAt: string;
  /** Version of the program that wrote the data. */
  readonly version: string;
  readonly engine: 'embedded' | 'postgres';
  readonly migrations: readonly TransferredMigration[];
  readonly tables: readonly CatalogTable[];
  readonly partitions: readonly Partition[];
  /** A known text encrypted with the encryption key, in base64; null if the database has no secrets yet. */
  readonly keyCheck: string | null;
  /** Generation of the hold log that belonged to the database; null on PostgreSQL. */
  readonly holdGeneration: string | null;
}

export type TransferFrame =
  /** Rows in the text format of `COPY`, with the columns that the header lists for the table. */
  | { readonly kind: 'rows'; readonly table: string; readonly rows: number; readonly data: Uint8Array }
  /** Open holds as JSON. */
  | { readonly kind: 'holds'; readonly records: readonly string[] }
  | {
      readonly kind: 'end';
      readonly tables: Readonly<Record<string, TableTotals>>;
      readonly holds: number;
    };

export interface TransferSource {
  readonly header: TransferHeader;
  /** Returns the frames, always in the same order. A resumed load skips the first `from` frames; the end frame is always included. */
  frames(from?: number): AsyncIterable<TransferFrame>;
}
