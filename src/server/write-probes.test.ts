/** Readiness follows real writes. Full disks, and servers that commit nothing: `test/e2e/readiness.test.ts`. */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Database, DatabaseUnavailable } from '../platform/db/database.ts';
import { createLog } from '../platform/log.ts';
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
}: {
  readonly engine: Database['engine'];
  readonly write: () => Promise<object[]>;
  readonly directory?: string;
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
    log: createLog('silent'),
  });
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
