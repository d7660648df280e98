/**
 * Files and directories that survive a power cut. A file's content is on disk after an fsync of the file, its name after an fsync
 * of its directory.
 */
import {
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  statSync,
  writeSync,
} from 'node:fs';
import { open, readdir } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';

/**
 * `sync`: acknowledged writes are on disk, so they survive a power cut. `os`: the operating system writes them later, so they only
 * survive the end of the process.
 */
export type Durability = 'sync' | 'os';

export function syncDirectory(directory: string): void {
  const descriptor = openSync(directory, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/**
 * Creates a private directory and its missing parents. Does not use `recursive`, with which Node retries forever if a directory
 * cannot be created although its parent exists, such as in `/proc`.
 */
export function makeDirectory(directory: string): void {
  const path = resolve(directory);
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory() === true) {
    return;
  }
  const parent = dirname(path);
  if (parent !== path) {
    makeDirectory(parent);
  }
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    // Another process may have created it.
    if (!statSync(path, { throwIfNoEntry: false })?.isDirectory()) {
      throw error;
    }
  }
  syncDirectory(parent);
}

/** Returns the text of a file; undefined if there is no such file. */
export function readIfPresent(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') {
      return undefined;
    }
    throw error;
  }
}

/** Creates or replaces a file that only its owner can read. After a crash it has either the old or the new content. */
export function writePrivateFile(path: string, text: string, durability: Durability = 'sync'): void {
  // Starts with a dot, so that it cannot be another file of the caller, such as `a.new`.
  const draft = join(dirname(path), `.${basename(path)}.new`);
  const descriptor = openSync(draft, 'w', 0o600);
  try {
    const bytes = Buffer.from(text);
    for (let written = 0; written < bytes.length; ) {
      written += writeSync(descriptor, bytes, written);
    }
    if (durability === 'sync') {
      fsyncSync(descriptor);
    }
  } finally {
    closeSync(descriptor);
  }
  renameSync(draft, path);
  if (durability === 'sync') {
    syncDirectory(dirname(path));
  }
}

/** Syncs every file and directory below a directory, and the directory itself. */
export async function syncTree(directory: string): Promise<void> {
  for (const entry of await readdir(directory, { withFileTypes: true })) {
    const path = join(directory, entry.name);
    await (entry.isDirectory() ? syncTree(path) : syncPath(path));
  }
  await syncPath(directory);
}

/** Syncs a file, or the entries of a directory, in the background. */
export async function syncPath(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
