/** Readiness follows real writes. Full disks, and servers that commit nothing: `test/e2e/readiness.test.ts`. */
import { cpSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openSmallDisk } from '../../test/faults/small-disk.ts';
import { makePlace } from '../../test/support/test-database.ts';
import { loadConfig } from '../config/settings.ts';
import { type Database, DatabaseUnavailable } from '../platform/db/database.ts';
import { generateKey } from '../platform/http/routes/key-format.ts';
import { WriteFailures } from '../platform/jobs/write-failures.ts';
import { createLog } from '../platform/log.ts';
import { startService } from './service.ts';
import { startWriteProbes } from './write-probes.ts';

let dataDir: string;
beforeAll(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'purser-probes-'));
});
afterAll(() => rmSync(dataDir, { recursive: true }));

const succeeds = async () => [{ one: 1 }];
const fails = async () => {
  throw new DatabaseUnavailable('away');
};

/** Returns the reasons for which the process is not ready after its first probes. */
async function reasons({
  engine,
  write,
  directory = dataDir,
  failures = new WriteFailures(),
  whileProbing = () => undefined,
}: {
  readonly engine: Database['engine'];
  readonly write: () => Promise<object[]>;
  readonly directory?: string;
  readonly failures?: WriteFailures;
  readonly whileProbing?: () => void;
}): Promise<string[]> {
  const found = new Set<string>();
  const probes = await startWriteProbes({
    config: { dataDir: directory },
    db: { engine, query: write } as Pick<Database, 'engine' | 'query'> as Database,
    processes: {
      async beat() {
        await write();
      },
    },
    health: { set: (reason, isSet) => void (isSet ? found.add(reason) : found.delete(reason)) },
    failures,
    log: createLog('silent'),
  });
  whileProbing();
  probes.stop();
  return [...found];
}

test.each(['embedded', 'postgres'] as const)('a writable database is ready (%s)', async (engine) => {
  expect(await reasons({ engine, write: succeeds })).toEqual([]);
  expect(readdirSync(dataDir)).toEqual([]);
});

test.each(['embedded', 'postgres'] as const)(
  'a database that cannot be written is not (%s)',
  async (engine) => {
    expect(await reasons({ engine, write: fails })).toEqual(['database_not_writable']);
  },
);

test('a data directory that cannot be written is not, on the embedded engine', async () => {
  const directory = join(dataDir, 'missing');
  expect(await reasons({ engine: 'embedded', write: succeeds, directory })).toEqual([
    'data_directory_not_writable',
  ]);
  expect(await reasons({ engine: 'postgres', write: succeeds, directory })).toEqual([]);
});

test.each([
  ['database', 'database_not_writable'],
  ['data-directory', 'data_directory_not_writable'],
] as const)('a real write to the %s that fails counts at once', async (target, reason) => {
  const failures = new WriteFailures();
  expect(
    await reasons({
      engine: 'embedded',
      write: succeeds,
      failures,
      whileProbing: () => failures.report(target, new Error('no space left on device')),
    }),
  ).toEqual([reason]);
});

test('a process is not ready after the first request that a full disk fails', async ({ skip }) => {
  const disk = openSmallDisk(300);
  const place = await makePlace({ migrated: true });
  try {
    skip(disk.fill === undefined, 'the machine cannot mount a file system');
    cpSync(place.dataDir, disk.directory, { recursive: true });
    const key = generateKey('test');
    const service = await startService({
      config: loadConfig({
        SVC_DATA_DIR: disk.directory,
        SVC_PORT: '0',
        SVC_BOOTSTRAP_OPERATOR_KEY: key,
        SVC_LOG_LEVEL: 'silent',
      }),
      log: createLog('silent'),
    });
    try {
      disk.fill?.();
      const statuses = new Set<number>();
      while (!statuses.has(503)) {
        const answer = await fetch(`${service.url}/v1/admin/orgs`, {
          method: 'POST',
          headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
          body: JSON.stringify({ name: 'x'.repeat(100) }),
        });
        await answer.text();
        statuses.add(answer.status);
      }
      expect((await fetch(`${service.url}/readyz`)).status).toBe(503);
    } finally {
      await service.stop();
    }
  } finally {
    disk.remove();
    await place.remove();
  }
});
