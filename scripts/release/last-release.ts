/** The artifact of the last release, which the upgrade test runs and the rules of migrations compare with. */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { releases } from '../../src/contract/releases.ts';
import { type Migration, parseMigration } from '../../src/platform/db/migration-files.ts';
import { isDate } from '../contract/dates.ts';
import { readTarball } from './tarball.ts';

export interface LastRelease {
  readonly version: string;
  /** Path of the package. */
  readonly file: string;
}

const folder = fileURLToPath(new URL('../../releases/', import.meta.url));

/** Returns undefined before the first release. Throws if the release ledger has a release whose artifact is missing. */
export function findLastRelease(): LastRelease | undefined {
  const version = releases.findLast(({ date }) => isDate(date))?.version;
  const found = existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith('.tgz')) : [];
  const unexpected = found.filter((name) => name !== `purser-${version}.tgz`);
  if (unexpected.length > 0) {
    throw new Error(
      `releases/${unexpected[0]} is not the last release of the release ledger (${version ?? 'none'})`,
    );
  }
  if (version !== undefined && found.length === 0) {
    throw new Error(`releases/purser-${version}.tgz is missing: restore it from the tag v${version}`);
  }
  return version === undefined ? undefined : { version, file: join(folder, `purser-${version}.tgz`) };
}

export function releasedMigrations({ file }: LastRelease): Migration[] {
  return [...readTarball(file)]
    .filter(([path]) => path.startsWith('migrations/') && path.endsWith('.sql'))
    .map(([path, content]) => parseMigration(path.replace('migrations/', ''), content.toString('utf8')));
}
