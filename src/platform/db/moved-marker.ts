/**
 * Marks an embedded data directory whose content is being moved or was moved to PostgreSQL. It must not be opened again by
 * accident, because both databases would then be written to.
 */
import { open, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { readIfPresent } from '../files/durable-files.ts';

export interface MovedMarker {
  /** Id of the move, so that an interrupted move can continue. */
  readonly id: string;
  readonly state: 'moving' | 'moved';
  /** The target without credentials, such as `db.internal:5432/purser`. */
  readonly to: string;
  /** Version of the program, because another version might read the directory in another order. */
  readonly version: string;
  readonly at: string;
}

const fileName = 'moved.json';

export class DirectoryMoved extends Error {
  constructor(directory: string, { state, to }: MovedMarker) {
    super(
      state === 'moved'
        ? `the data directory ${directory} was moved to PostgreSQL at ${to}. Set SVC_DATABASE_URL to use that database. ` +
            'To use the directory again as it was before the move, run `purser move --undo`.'
        : `the data directory ${directory} is being moved to PostgreSQL at ${to}. Run \`purser move\` again to continue, ` +
            'or `purser move --undo` to give the move up.',
    );
    this.name = 'DirectoryMoved';
  }
}

export function readMovedMarker(dataDir: string): MovedMarker | undefined {
  const text = readIfPresent(join(dataDir, fileName));
  return text === undefined ? undefined : (JSON.parse(text) as MovedMarker);
}

export function requireNotMoved(dataDir: string): void {
  const marker = readMovedMarker(dataDir);
  if (marker !== undefined) {
    throw new DirectoryMoved(dataDir, marker);
  }
}

export async function writeMovedMarker(dataDir: string, marker: MovedMarker): Promise<void> {
  const path = join(dataDir, fileName);
  const draft = await open(`${path}.new`, 'w', 0o600);
  try {
    await draft.writeFile(`${JSON.stringify(marker)}\n`);
    await draft.sync();
  } finally {
    await draft.close();
  }
  await rename(`${path}.new`, path);
}

export async function removeMovedMarker(dataDir: string): Promise<void> {
  await rm(join(dataDir, fileName), { force: true });
}
