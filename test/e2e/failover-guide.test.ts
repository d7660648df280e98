/** Runs docs/guides/postgresql-failover.md with two real servers of PostgreSQL, as a reader would. */
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { freePort } from '../support/free-port.ts';
import { repository, runBlocks, shellBlocks } from '../support/guide-blocks.ts';
import { findPostgres } from '../support/postgres-cluster.ts';
import { scratch } from '../support/scratch.ts';

const guide = 'docs/guides/postgresql-failover.md';
const bin = findPostgres();

let directory: string | undefined;
afterEach(() => {
  if (directory !== undefined) {
    rmSync(directory, { recursive: true, force: true });
  }
});

/** PostgreSQL refuses to run as root, so its programs are run as its own user then. */
function programsOfPostgres(from: string, into: string): void {
  const prefix = process.getuid?.() === 0 ? 'runuser -u postgres -- ' : '';
  for (const program of ['initdb', 'pg_basebackup', 'pg_ctl', 'psql']) {
    const file = join(into, program);
    writeFileSync(file, `#!/bin/sh\nexec ${prefix}'${join(from, program)}' "$@"\n`);
    chmodSync(file, 0o755);
  }
}

test.skipIf(bin === undefined)('nothing is lost when the primary of the guide is killed', async () => {
  directory = mkdtempSync(join(scratch, 'purser-failover-guide-'));
  chmodSync(directory, 0o777);
  const programs = join(directory, 'bin');
  mkdirSync(programs);
  programsOfPostgres(bin as string, programs);
  const replacements: Record<string, string> = { 'dist/main.js': join(repository, 'dist/main.js') };
  for (const port of ['5441', '5442', '8091', '8092']) {
    replacements[port] = String(await freePort());
  }
  const stopAll = `trap 'kill $(jobs -p) 2>/dev/null || true; for db in db-a db-b; do pg_ctl -D $PWD/$db -m immediate stop; done > /dev/null 2>&1 || true' EXIT`;
  const output = await runBlocks([stopAll, ...shellBlocks(guide, replacements)], {
    cwd: directory,
    env: { ...process.env, PATH: `${programs}:${process.env.PATH}` },
  });
  expect(output).toContain('"balanced":true');
  expect(output).toContain('"spent_usd":"8"');
});
