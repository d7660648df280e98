/**
 * The form of a backup and of a move: a header, then frames in order. Reading a database, writing a file,
 * reading a file and loading a database all use this form, so that each is written once.
 */
import type { AppliedMigration } from '../applied-migrations.ts';
import type { Partition, Table, TableTotals } from './table-catalog.ts';

export type TransferredMigration = Omit<AppliedMigration, 'readable_from'>;

export interface TransferHeader {
  /** Identifies the transfer; a load that was interrupted is resumed with the same one. */
  readonly id: string;
  readonly createdAt: string;
  /** Version of the program that wrote it. */
  readonly version: string;
  readonly engine: 'embedded' | 'postgres';
  readonly migrations: readonly TransferredMigration[];
  readonly tables: readonly Table[];
  readonly partitions: readonly Partition[];
  /** A known text under the encryption key, in base64; null if the database has no secrets yet. */
  readonly keyCheck: string | null;
  /** Generation of the hold log that belonged to the database; null on PostgreSQL. */
  readonly holdGeneration: string | null;
}

export type TransferFrame =
  /** Rows in the text format of `COPY`, with the columns that the header lists for the table. */
  | { readonly kind: 'rows'; readonly table: string; readonly rows: number; readonly data: Uint8Array }
  /** Open holds, each as JSON. */
  | { readonly kind: 'holds'; readonly records: readonly string[] }
  | {
      readonly kind: 'end';
      readonly tables: Readonly<Record<string, TableTotals>>;
      readonly holds: number;
    };

export interface TransferSource {
  readonly header: TransferHeader;
  /** In the same order each time. A load that continues leaves out the first `from` frames; the end is always included. */
  frames(from?: number): AsyncIterable<TransferFrame>;
}
