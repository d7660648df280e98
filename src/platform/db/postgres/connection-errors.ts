/** Classifies errors of connections and statements. */
import pg from 'pg';
import { DatabaseUnavailable, stateMeansUnavailable } from '../database.ts';

/**
 * Returns true if a migration changed the columns of a prepared statement. A new connection prepares the statement again. The
 * SQLSTATE alone is not enough: statements that the server or Citus does not support have the same one.
 */
function isStalePlan({ code, routine }: pg.DatabaseError): boolean {
  return code === '0A000' && routine === 'RevalidateCachedQuery';
}

/** Returns true if an error comes from the connection. An error without an SQLSTATE does, unless it is a bug in this program. */
export function isConnectionError(error: unknown): boolean {
  if (error instanceof pg.DatabaseError) {
    return stateMeansUnavailable(error.code ?? '') || isStalePlan(error) || isErrorOfOtherServer(error);
  }
  return error instanceof Error && !(error instanceof TypeError) && !(error instanceof RangeError);
}

/** Messages of Citus about a worker that was lost during a statement. These internal errors have no specific SQLSTATE. */
const lostWorker =
  /^(failure on connection marked as essential|could not commit transaction for shard|server closed the connection|connection not open|could not (send|receive) data)/;

/** Returns true if the server could not reach another server, such as a Citus worker. The connection to the server itself still works. */
export function isErrorOfOtherServer(error: unknown): boolean {
  if (!(error instanceof pg.DatabaseError) || error.severity !== 'ERROR') {
    return false;
  }
  const { code = '', message } = error;
  return code.startsWith('08') || (code === 'XX000' && lostWorker.test(message));
}

export function asUnavailable(error: unknown): DatabaseUnavailable {
  if (error instanceof DatabaseUnavailable) {
    return error;
  }
  return new DatabaseUnavailable(error instanceof Error ? error.message : String(error), { cause: error });
}

/** Network errors that may be temporary: the server or its name may appear later. */
const transientCodes = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'EHOSTDOWN',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  // The socket of a server that is not running yet.
  'ENOENT',
]);

/** Messages of `pg`, whose own errors have no code. */
const transientMessages = /timeout|terminated unexpectedly|connection ended/i;

/** Returns true if a later connection may succeed; false after a wrong password, a missing database or a TLS error. */
export function isTransient(error: unknown): boolean {
  if (error instanceof pg.DatabaseError) {
    return stateMeansUnavailable(error.code ?? '');
  }
  if (error instanceof DatabaseUnavailable) {
    return true;
  }
  const { code, message } = error as NodeJS.ErrnoException;
  return code === undefined ? transientMessages.test(message) : transientCodes.has(code);
}
