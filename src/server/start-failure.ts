/** Explains failures of a start that are reported as plain errors: of files, or of the embedded database while it is used. */
import { join } from 'node:path';
import type { Config } from '../config/settings.ts';
import { sqlStateOf } from '../platform/db/database.ts';
import { describeDamage } from '../platform/db/pglite/start-failure.ts';
import { remedyOf } from '../platform/db/postgres/connection-remedies.ts';
import { describeFileError, fullDisk } from '../platform/files/storage-problem.ts';

/** The start cannot succeed until something is changed. The message has the problem, its place and the next step. */
export class StartFailed extends Error {
  override readonly name = 'StartFailed';
}

/** Returns an error with an explanation, or the error itself if its message needs none. */
export function explainStartFailure(
  error: unknown,
  config: Pick<Config, 'dataDir' | 'databaseUrl'>,
): unknown {
  const described = describeFileError(error, config.dataDir) ?? describeStatement(error, config);
  return described === undefined ? error : new StartFailed(described, { cause: error });
}

/** SQLSTATEs of a disk without space: the database is read-only while its disk is almost full (`disk-space-guard.ts`). */
const fullStates = new Set(['25006', '53100']);
/** SQLSTATEs of damaged files: corrupted data, a corrupted index, a missing file, an I/O error. */
const damagedStates = new Set(['XX001', 'XX002', '58P01', '58030']);

function describeStatement(
  error: unknown,
  { dataDir, databaseUrl }: Pick<Config, 'dataDir' | 'databaseUrl'>,
): string | undefined {
  const state = sqlStateOf(error);
  if (!(error instanceof Error) || state === undefined) {
    return undefined;
  }
  const { message } = error;
  if (databaseUrl !== undefined) {
    return state === '42501' ? `the database refuses a statement: ${message}. ${remedyOf(error)}` : undefined;
  }
  if (fullStates.has(state)) {
    return fullDisk(dataDir, message);
  }
  return damagedStates.has(state) ? describeDamage(join(dataDir, 'database'), message) : undefined;
}
