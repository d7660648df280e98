/**
 * Exports that are too long for memory. The rows are read in one transaction, as a consistent snapshot, and spooled to disk; from
 * there they are formatted and streamed as the receiver consumes them. So memory use does not grow with the rows, and a slow
 * receiver does not occupy the database. The response starts when all rows are spooled.
 *
 * One export at a time reads the database. The embedded engine has a single connection, and its queue is fair: other
 * requests run before the next export, and so wait for one export at most.
 */

import { apiError, invalidField } from '../../../contract/api-error.ts';
import type { Database, Transaction } from '../../../platform/db/database.ts';
import { FairQueue } from '../../../platform/fair-queue.ts';
import { FairShare } from '../../../platform/fair-share.ts';
import type { StreamResponse } from '../../../platform/http/message/reply.ts';
import { Spool } from '../../../platform/spool.ts';

/** Maximum number of rows of an export; more rows require several exports of shorter periods. */
export const exportRowsMax = 100_000;
const rowsPerPart = 500;

/** Maximum number of exports that are waiting, being read or being sent; each of them uses disk space. */
export const exportsMax = 20;
/** Maximum number of exports per org, so that an org with slow receivers leaves room for others. */
export const exportsPerOrgMax = 5;
const waitMsMax = 60_000;

export interface SpooledExportDependencies {
  readonly db: Database;
  /** Directory of the spool files. Undefined: the system's temporary directory. */
  readonly spoolDir: string | undefined;
  /** Only tests have a lower maximum. */
  readonly rowsMax?: number;
}

/** Numbers of rows: of all parts together, and of one. */
export interface ExportParts {
  readonly limit: number;
  readonly perPart: number;
}

export type TakeLines = (lines: readonly string[]) => Promise<void>;

/** The rows of an export, and their format. */
export interface ExportSource {
  readonly contentType: string;
  /** Reads rows in parts; each row is a line without line breaks. */
  read(tx: Transaction, parts: ExportParts, take: TakeLines): Promise<void>;
  /** Formats the lines. */
  write(lines: AsyncIterable<readonly string[]>): AsyncIterable<string | Uint8Array>;
}

export type SpooledExports = (orgId: string, source: ExportSource) => StreamResponse;

/** All exports of a process share one instance, and so its bounds. */
export function createSpooledExports({
  db,
  spoolDir,
  rowsMax = exportRowsMax,
}: SpooledExportDependencies): SpooledExports {
  const turns = new FairQueue({
    resource: 'the previous export',
    concurrency: 1,
    waitingMax: exportsMax,
    waitMsMax,
  });
  const places = new FairShare({ capacity: exportsMax, perTenantMax: exportsPerOrgMax });

  async function* chunks(orgId: string, source: ExportSource): AsyncGenerator<string | Uint8Array> {
    if (!places.tryTake(orgId)) {
      throw apiError('service_unavailable', 'Too many exports are in progress. Try again later.');
    }
    try {
      const spool = await Spool.open(spoolDir);
      try {
        await turns.run(orgId, () => spoolRows(db, source, { orgId, spool, rowsMax }));
        yield* source.write(spool.lines());
      } finally {
        await spool.close();
      }
    } finally {
      places.release(orgId);
    }
  }

  return (orgId, source) => ({ contentType: source.contentType, chunks: chunks(orgId, source) });
}

async function spoolRows(
  db: Database,
  source: ExportSource,
  { orgId, spool, rowsMax }: { readonly orgId: string; readonly spool: Spool; readonly rowsMax: number },
): Promise<void> {
  const readAll = async (tx: Transaction) => {
    // The transaction may be retried after a rollback, so rows of an earlier attempt are removed.
    await spool.empty();
    let count = 0;
    await source.read(tx, { limit: rowsMax + 1, perPart: rowsPerPart }, async (lines) => {
      count += lines.length;
      if (count > rowsMax) {
        throw invalidField(
          'format',
          'too_many',
          `The result has more than ${rowsMax} rows. Choose a shorter period.`,
        );
      }
      await spool.append(lines);
    });
  };
  await db.transaction(readAll, { tenant: orgId });
}
