/**
 * What a backup file contains and what a move transfers: a header, then frames in order. Reading a database, writing a file,
 * reading a file and loading a database all use this form, so that each is written once.
 */
import type { Partition, Table, TableTotals } from './table-catalog.ts';

export interface TransferHeader {
  /** Identifies the transfer; a load that was interrupted is resumed with the same one. */
  readonly id: string;
  readonly createdAt: string;
  /** Version of the program that wrote it. */
  readonly version: string;
  readonly engine: 'embedded' | 'postgres';
  readonly migrations: readonly AppliedMigration[];
  readonly tables: readonly Table[];
  readonly partitions: readonly Partition[];
  /** A known text under the encryption key, in base64; null if the database has no secrets yet. */
  readonly keyCheck: string | null;
  /** Generation of the hold log that belonged to the database; null on PostgreSQL. */
  readonly holdGeneration: string | null;
}

export interface AppliedMigration {
  readonly version: number;
  readonly name: string;
  readonly checksum: string;
}

export type Frame =
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
  frames(from?: number): AsyncIterable<Frame>;
}
