/** Describes why the files of a directory cannot be read or written: the cause, the path and the remedy. */

/**
 * Free space from which the embedded database accepts writes again after its disk was almost full. It is above the minimum, so that
 * the database does not alternate between the two states.
 */
export const freeBytesToResume = 64 * 1_048_576;

interface StorageProblem {
  /** Codes of Node's errors. */
  readonly codes: readonly string[];
  /** Messages of the operating system, as PostgreSQL quotes them. */
  readonly texts: RegExp;
  describe(directory: string, detail: string): string;
}

const elsewhere = 'or set SVC_DATA_DIR to another directory';

const problems: readonly StorageProblem[] = [
  {
    codes: ['ENOSPC', 'EDQUOT'],
    texts: /No space left on device|Disk quota exceeded/,
    describe: fullDisk,
  },
  {
    codes: ['EROFS'],
    texts: /Read-only file system/,
    describe: (directory, detail) =>
      `${directory} is on a read-only file system (${detail}). Mount it writable, ${elsewhere}.`,
  },
  {
    codes: ['EACCES', 'EPERM'],
    texts: /Permission denied|Operation not permitted|has wrong ownership/,
    describe: (directory, detail) =>
      `the user of this process (${userName()}) cannot use ${directory} (${detail}). ` +
      `Make that user the owner of the directory and of everything in it, ${elsewhere}.`,
  },
  {
    codes: ['ENOTDIR', 'EEXIST'],
    texts: /Not a directory/,
    describe: (directory, detail) =>
      `${directory} is not a directory (${detail}). Set SVC_DATA_DIR to a directory.`,
  },
  {
    codes: ['EIO'],
    texts: /Input\/output error/,
    describe: (directory, detail) =>
      `the disk of ${directory} reported an error (${detail}). Check the disk. If files are lost, ${restoreAdvice}.`,
  },
];

/** The remedy for damaged files. */
export const restoreAdvice =
  'restore a backup with `purser restore FILE --replace`, which moves the damaged database aside';

export function fullDisk(directory: string, detail: string): string {
  const megabytes = freeBytesToResume / 1_048_576;
  return `the disk of ${directory} is full (${detail}). Free at least ${megabytes} MB on it, then start again.`;
}

/** Describes an error of Node's file system; undefined if it is not one of `problems`. */
export function describeFileError(error: unknown, directory: string): string | undefined {
  if (!(error instanceof Error)) {
    return undefined;
  }
  const { code, message } = error as NodeJS.ErrnoException;
  return problems.find(({ codes }) => codes.includes(code ?? ''))?.describe(directory, message);
}

/** Describes an error message of PostgreSQL; undefined if it does not quote any of `problems`. */
export function describeSystemText(text: string, directory: string): string | undefined {
  return problems.find(({ texts }) => texts.test(text))?.describe(directory, text);
}

function userName(): string {
  return `uid ${process.getuid?.() ?? 'unknown'}`;
}
