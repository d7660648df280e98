/** Runs the tests of PostgreSQL on a Citus cluster, and those of the cluster itself. Arguments are passed to vitest. */
import { spawnSync } from 'node:child_process';
import { citusMissing, findCitus } from '../test/support/citus-cluster.ts';

if (findCitus() === undefined) {
  const isRequired = process.env.PURSER_TEST_REQUIRE_ALL === '1';
  process.stderr.write(`${citusMissing}: its tests are ${isRequired ? 'required' : 'skipped'}.\n`);
  process.exitCode = isRequired ? 1 : 0;
} else {
  const args = ['vitest', 'run', '--project', 'soak-citus', ...process.argv.slice(2)];
  process.exitCode = spawnSync('npx', args, { stdio: 'inherit' }).status ?? 1;
}
