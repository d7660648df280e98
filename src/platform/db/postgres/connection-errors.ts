/** Classifies errors of connections and statements. */
import pg from 'pg';
import { DatabaseUnavailable, stateMeansUnavailable } from '../database.ts';

/**
 * True if a migration changed the columns of a prepared statement. A new connection prepares it again. Its SQLSTATE alone does not
 * tell: statements that the server, or Citus, does not support have the same.
 */
function isStalePlan({ code, routine }: pg.DatabaseError): boolean {
  return code === '0A000' && routine === 'RevalidateCachedQuery';
}

/** Errors without an SQLSTATE of the server come from the connection, unless they are bugs of ours. */
export function isConnectionError(error: unknown): boolean {
  if (error instanceof pg.DatabaseError) {
    return stateMeansUnavailable(error.code ?? '') || isStalePlan(error) || isErrorOfOtherServer(error);
  }
  return error instanceof Error && !(error instanceof TypeError) && !(error instanceof RangeError);
}

/** Internal errors of Citus about a worker that was lost in the middle of a statement: they have no SQLSTATE of their own. */
const lostWorker =
  /^(failure on connection marked as essential|could not commit transaction for shard|server closed the connection|connection not open|could not (send|receive) data)/;

/** True if the server could not reach another one, such as a worker of Citus: the connection to the server itself is sound. */
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

/** Network errors that may pass: the server or its name is not there yet. */
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
  // The socket of a server that does not run yet.
  'ENOENT',
]);

/** Texts of `pg`, whose own errors have no code. */
const transientMessages = /timeout|terminated unexpectedly|connection ended/i;

/** True if a connection may succeed later; false after a wrong password, a missing database or a TLS error. */
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
