/** Power cuts: a service whose synced writes are recorded, and the data directory that a cut would leave. */
import { copyFileSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { spawnNode } from './child-process.ts';
import { type ServiceProcess, serviceOf } from './service-process.ts';

const recorder = fileURLToPath(new URL('./record-synced-writes.mjs', import.meta.url));

/** Starts the built service and records in `recordDir`, which must not exist, what it syncs of its data directory. */
export async function startRecorded(env: Record<string, string>, recordDir: string): Promise<ServiceProcess> {
  const recorded = { ...env, RECORD_DATA_DIR: env.SVC_DATA_DIR ?? '', RECORD_DIR: recordDir };
  return serviceOf(spawnNode(['--import', recorder, 'dist/main.js', 'serve'], recorded));
}

/** Creates in `target` what a power cut would leave of the data directory. */
export function materialize(recordDir: string, dataDir: string, target: string): void {
  const { ino, birthtimeNs } = statSync(dataDir, { bigint: true });
  restoreDirectory(recordDir, `${ino}-${birthtimeNs}`, target);
}

function restoreDirectory(recordDir: string, id: string, target: string): void {
  mkdirSync(target, { recursive: true, mode: 0o700 });
  const names = join(recordDir, 'names', id);
  const entries: [name: string, id: string, isDirectory: boolean][] = existsSync(names)
    ? JSON.parse(readFileSync(names, 'utf8'))
    : [];
  for (const [name, entryId, isDirectory] of entries) {
    const path = join(target, name);
    const content = join(recordDir, 'contents', entryId);
    if (isDirectory) {
      restoreDirectory(recordDir, entryId, path);
    } else if (existsSync(content)) {
      copyFileSync(content, path);
    } else {
      // The name was synced, the file was not.
      writeFileSync(path, '');
    }
  }
}
