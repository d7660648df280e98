/**
 * Explains why the embedded engine did not start. PGlite's own errors ("Aborted()") are not useful; PostgreSQL writes the reason to
 * its error output before it ends.
 */
import { describeSystemText, restoreAdvice } from '../../files/storage-problem.ts';

/** The error that the worker thread throws if the engine does not start. */
export interface EngineFailure extends Error {
  /** Number of an error that PGlite's file system threw. */
  readonly errno?: number | undefined;
  /** The last lines of PostgreSQL's error output. */
  readonly output: readonly string[];
}

/** Returns true if the engine failed to start; false for other errors of the thread, such as too little memory. */
export function isEngineFailure(error: Error): error is EngineFailure {
  return 'output' in error;
}

/** The embedded database cannot be opened. The message has its path, the reason and a remedy. */
export class EmbeddedDatabaseNotOpened extends Error {
  override readonly name = 'EmbeddedDatabaseNotOpened';
}

export function engineNotStarted(directory: string, failure: EngineFailure): EmbeddedDatabaseNotOpened {
  return new EmbeddedDatabaseNotOpened(explain(directory, failure), { cause: failure });
}

/** Error numbers of emscripten, whose file system throws them outside of PostgreSQL. */
const textsOfErrno: Readonly<Record<number, string>> = {
  2: 'Permission denied',
  19: 'Disk quota exceeded',
  29: 'Input/output error',
  51: 'No space left on device',
  63: 'Operation not permitted',
  69: 'Read-only file system',
};

function explain(directory: string, failure: EngineFailure): string {
  const reason = reasonOf(failure);
  return (
    describeSystemText(reason, directory) ??
    describeOtherVersion(reason, directory) ??
    describeDamage(directory, reason)
  );
}

/** Describes a database whose files are missing or have other contents. */
export function describeDamage(directory: string, reason: string): string {
  const advice = restoreAdvice.charAt(0).toUpperCase() + restoreAdvice.slice(1);
  return `the embedded database in ${directory} is damaged or incomplete (${reason}). ${advice}.`;
}

const otherVersion =
  /initialized by PostgreSQL version (\d+)\S*, which is not compatible with this version (\d+)/;

function describeOtherVersion(reason: string, directory: string): string | undefined {
  const [, created, own] = otherVersion.exec(reason) ?? [];
  if (created === undefined) {
    return undefined;
  }
  const found = `the embedded database in ${directory} was created by PostgreSQL ${created}, and this version of Purser has PostgreSQL ${own}`;
  return Number(created) > Number(own)
    ? `${found}. Run the version of Purser that created it or a newer one, or restore a backup of this version with \`purser restore FILE --replace\`.`
    : `${found}. With the version of Purser that created it, run \`purser backup FILE\`; then run \`purser restore FILE --replace\` with this one.`;
}

/** Returns the message and the detail of the error that ended PostgreSQL, without timestamps. */
function reasonOf({ message, errno, output }: EngineFailure): string {
  const texts = output.flatMap((line) => /(FATAL|PANIC|DETAIL): {2}(.+)/.exec(line)?.[2] ?? []);
  return texts.length > 0
    ? texts.map((text) => text.replace(/\.$/, '')).join('; ')
    : (textsOfErrno[errno ?? -1] ?? message);
}
