/** Reads the failed cases of a random test, and how to replay them, from vitest's JSON report. */

export interface Failure {
  /** Undefined if vitest failed outside a test. */
  readonly test: string | undefined;
  readonly seed: number;
  /** The path that fast-check reports; undefined if the test derives further seeds from its own. */
  readonly path: string | undefined;
  readonly message: string;
}

export interface Report {
  readonly testResults: readonly {
    readonly message?: string;
    readonly status?: string;
    readonly assertionResults: readonly {
      readonly status: string;
      readonly fullName: string;
      readonly title: string;
      readonly failureMessages?: readonly string[];
    }[];
  }[];
}

export function failuresIn(report: Report | undefined, seeds: readonly number[]): Failure[] {
  return (report?.testResults ?? []).flatMap(
    ({ status, message: ofFile = '', assertionResults }): Failure[] => {
      const failed = assertionResults
        .filter((result) => result.status === 'failed')
        .map(({ fullName, title, failureMessages = [] }) => {
          const message = `${fullName}\n${failureMessages.join('\n')}`;
          return { test: title, ...caseOf(fullName, message, seeds), message };
        });
      return failed.length > 0 || status !== 'failed'
        ? failed
        : [{ test: undefined, seed: firstOf(seeds), path: undefined, message: ofFile }];
    },
  );
}

/** The seed is in the title of a test with its own seed, otherwise in the message of fast-check. */
function caseOf(fullName: string, message: string, seeds: readonly number[]): Pick<Failure, 'seed' | 'path'> {
  const titled = /\(seed (\d+)\)/.exec(fullName)?.[1];
  if (titled !== undefined) {
    return { seed: Number(titled), path: undefined };
  }
  const [, seed, path] = /\{ seed: (-?\d+), path: "([\d:]+)"/.exec(message) ?? [];
  return { seed: seed === undefined ? firstOf(seeds) : Number(seed), path };
}

function firstOf(seeds: readonly number[]): number {
  const [first] = seeds;
  if (first === undefined) {
    throw new Error('a turn has at least one seed');
  }
  return first;
}

export function replayCommand(
  { name, project }: { readonly name: string; readonly project: string },
  { test, seed, path }: Pick<Failure, 'test' | 'seed' | 'path'>,
): string {
  const ofTest = path === undefined || test === undefined ? '' : ` --path ${path} --test ${quoted(test)}`;
  return `npm run fuzz -- --only ${name} --project ${project} --seed ${seed}${ofTest}`;
}

/** Quotes for a POSIX shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
