/** A start that cannot succeed says what is wrong, where, and what to do next. Processes: `test/e2e/process.test.ts`. */
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openSmallDisk, type SmallDisk } from '../../test/faults/small-disk.ts';
import { makePlace, openPlace, type Place } from '../../test/support/test-database.ts';
import { loadConfig } from '../config/settings.ts';
import { DatabaseUnavailable } from '../platform/db/database.ts';
import { createLog } from '../platform/log.ts';
import { startService } from './service.ts';
import { explainStartFailure } from './start-failure.ts';

let place: Place;
let disk: SmallDisk | undefined;
beforeEach(async () => {
  place = await makePlace({ migrated: true });
});
afterEach(async () => {
  await place.remove();
  disk?.remove();
  disk = undefined;
});

async function messageOfStart(dataDir: string, settings: Record<string, string> = {}): Promise<string> {
  const failure = await startService({
    config: loadConfig({ SVC_DATA_DIR: dataDir, SVC_PORT: '0', ...settings }),
    log: createLog('silent'),
  }).then(
    async (service) => {
      await service.stop();
      return 'the service started';
    },
    (error: Error) => error.message,
  );
  return failure;
}

const inDatabase = (...path: string[]) => join(place.dataDir, 'database', ...path);

describe('a damaged embedded database is named, with the cause and the command that restores a backup', () => {
  test.each<[string, () => void, RegExp]>([
    [
      'pg_control contains something else',
      () => writeFileSync(inDatabase('global', 'pg_control'), Buffer.alloc(8_192, 'x')),
      /database files are incompatible with server; .+PG_CONTROL_VERSION/,
    ],
    [
      'pg_control is cut off',
      () => truncateSync(inDatabase('global', 'pg_control'), 100),
      /could not read file "global\/pg_control": read 100 of 296/,
    ],
    [
      'pg_control is missing',
      () => rmSync(inDatabase('global', 'pg_control')),
      /could not open file "global\/pg_control": No such file or directory/,
    ],
    [
      'the write-ahead log is missing',
      () => rmSync(inDatabase('pg_wal'), { recursive: true }),
      /required WAL directory "pg_wal" does not exist/,
    ],
    [
      'the tables are missing',
      () => rmSync(inDatabase('base'), { recursive: true }),
      /database "postgres" does not exist; The database subdirectory "base\/5" is missing/,
    ],
    ['PG_VERSION is missing', () => rmSync(inDatabase('PG_VERSION')), /the file PG_VERSION is missing/],
  ])('%s', async (_, damage, reason) => {
    damage();
    const message = await messageOfStart(place.dataDir);
    expect(message).toContain(`the embedded database in ${inDatabase()} is damaged or incomplete (`);
    expect(message).toMatch(reason);
    expect(message).toContain('Restore a backup with `purser restore FILE --replace`');
    expect(message).not.toMatch(/Aborted|PGlite|\n/);
  });

  test('a table is missing that only a statement finds', async () => {
    const db = await openPlace(place);
    const [file] = await db.query<{ path: string }>(`SELECT pg_relation_filepath('processes') AS path`, []);
    await db.close();
    rmSync(inDatabase(file?.path ?? ''));
    expect(await messageOfStart(place.dataDir)).toMatch(
      /^the embedded database in .+ is damaged or incomplete \(could not open file "base.+ Restore a backup with/,
    );
  });
});

test('does not start with an empty database beside the holds of a lost one', async () => {
  mkdirSync(join(place.dataDir, 'holds'));
  writeFileSync(join(place.dataDir, 'holds', '0.log'), 'x');
  renameSync(inDatabase(), join(place.dataDir, 'elsewhere'));
  expect(await messageOfStart(place.dataDir)).toMatch(
    /the directory `database` is missing\)\. Restore a backup with `purser restore FILE --replace`/,
  );
});

test('names a damaged generation of the hold log, and starts with the open holds once it is moved away', async () => {
  mkdirSync(join(place.dataDir, 'holds'));
  const path = join(place.dataDir, 'holds', 'generation.json');
  for (const text of ['', '{"now":']) {
    writeFileSync(path, text);
    expect(await messageOfStart(place.dataDir)).toMatch(
      new RegExp(`^the file ${path} is damaged: .+, move the file away and restart; else `),
    );
  }
  renameSync(path, `${path}.old`);
  expect(await messageOfStart(place.dataDir)).toBe('the service started');
});

test.each([
  [
    '99',
    /PostgreSQL 99, and this version of Purser has PostgreSQL \d+\. Run the version of Purser that created it or a newer/,
  ],
  [
    '12',
    /PostgreSQL 12, and this version .+ run `purser backup FILE`; then run `purser restore FILE --replace` with this/,
  ],
])('names both versions if the directory is of PostgreSQL %s', async (version, message) => {
  writeFileSync(inDatabase('PG_VERSION'), `${version}\n`);
  expect(await messageOfStart(place.dataDir)).toMatch(message);
});

describe('a disk without space is named, and how much space is needed', () => {
  const full = (directory: string) =>
    new RegExp(
      `^the disk of ${directory}\\S* is full \\(.+\\)\\. Free at least 64 MB on it, then start again\\.$`,
    );

  test('a disk without space is named, with the space that is needed, before the database exists', async ({
    skip,
  }) => {
    disk = openSmallDisk(20);
    skip(disk.fill === undefined, 'the machine cannot mount a file system');
    expect(await messageOfStart(join(disk.directory, 'data'))).toMatch(full(disk.directory));
  });

  test.each([
    ['full', 0],
    ['almost full', 2 ** 20],
  ])('%s', async (_, freeBytes) => {
    disk = openSmallDisk(200);
    if (disk.fill === undefined) {
      // The machine cannot mount a file system. These are the errors of such a disk.
      for (const error of [
        Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' }),
        new DatabaseUnavailable('cannot execute INSERT in a read-only transaction', {
          cause: { code: '25006' },
        }),
      ]) {
        const config = loadConfig({ SVC_DATA_DIR: disk.directory });
        expect((explainStartFailure(error, config) as Error).message).toMatch(full(disk.directory));
      }
      return;
    }
    cpSync(place.dataDir, disk.directory, { recursive: true });
    writeFileSync(join(disk.directory, 'reserved'), Buffer.alloc(freeBytes));
    disk.fill();
    rmSync(join(disk.directory, 'reserved'));
    expect(await messageOfStart(disk.directory)).toMatch(full(disk.directory));
  });
});

test.skipIf(!existsSync('/proc/self'))('ends where no directory can be created', async () => {
  expect(await messageOfStart('/proc/purser/data')).toContain("mkdir '/proc/purser'");
});

test('a data directory that is a file is named with its setting', async () => {
  copyFileSync(inDatabase('PG_VERSION'), join(place.dataDir, 'file'));
  const file = join(place.dataDir, 'file');
  expect(await messageOfStart(file)).toMatch(
    new RegExp(`^${file} is not a directory \\(.+\\)\\. Set SVC_DATA_DIR to a directory\\.$`),
  );
});

test.each([
  ['EROFS', 'is on a read-only file system (EROFS). Mount it writable, or set SVC_DATA_DIR'],
  ['EACCES', 'Make that user the owner of the directory and of everything in it, or set SVC_DATA_DIR'],
  ['EIO', 'Check the disk. If files are lost, restore a backup with `purser restore FILE --replace`'],
])('explains %s of any file of the start', (code, expected) => {
  const error = Object.assign(new Error(code), { code });
  const explained = explainStartFailure(error, loadConfig({ SVC_DATA_DIR: '/data' })) as Error;
  expect(explained.message).toContain(expected);
  expect(explained.message).toContain('/data');
  expect(explained.cause).toBe(error);
});

test.each(['SVC_PORT', 'SVC_HEALTH_PORT'])('names the setting of a port in use: %s', async (setting) => {
  const taken = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => taken.once('listening', resolve));
  const port = String((taken.address() as AddressInfo).port);
  const message = await messageOfStart(place.dataDir, { [setting]: port });
  taken.close();
  expect(message).toContain(`cannot listen on 127.0.0.1:${port} (SVC_HOST, ${setting}): `);
  expect(message).toContain(`Another process uses this port: stop it, or set ${setting} to another one.`);
});

test('does not explain errors that are not about storage', () => {
  const error = new Error('something else');
  expect(explainStartFailure(error, loadConfig({}))).toBe(error);
});
