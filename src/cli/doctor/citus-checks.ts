/** Checks of a Citus cluster: placement of tables and shards, reachability of all nodes, and transactions that wait for recovery. */
import { hasCitus, isDistributed, nodeAddress, readNodes } from '../../platform/db/citus/citus-cluster.ts';
import { distributionProblems } from '../../platform/db/citus/verify-distribution.ts';
import type { Database } from '../../platform/db/database.ts';
import { type Check, type Finding, fail, ok, skip, warn } from './check.ts';
import { capitalized, withDatabase } from './database-checks.ts';

export const citusChecks: readonly Check[] = [
  { id: 'citus', run: withDatabase(checkDistribution) },
  { id: 'citus-nodes', run: withDatabase(onCluster(checkNodes)) },
  { id: 'citus-transactions', run: withDatabase(onCluster(checkTransactions)) },
];

async function checkDistribution(db: Database): Promise<Finding> {
  if (!(await isDistributed(db))) {
    return (await hasCitus(db))
      ? warn(
          'The extension Citus is installed, but the database is not distributed.',
          'Stop the service and run `purser migrate --distribute`, if that is intended.',
        )
      : skip('The database is not distributed.');
  }
  const problems = await distributionProblems(db);
  return problems.length === 0
    ? ok('The database is distributed: every table and shard is in its place.')
    : fail(
        problems.map((problem) => `${capitalized(problem)}.`).join(' '),
        'Run `purser migrate --distribute`.',
      );
}

/** Runs a check that needs a distributed database. */
function onCluster(check: (db: Database) => Promise<Finding>): (db: Database) => Promise<Finding> {
  return async (db) => ((await isDistributed(db)) ? check(db) : skip('The database is not distributed.'));
}

async function checkNodes(db: Database): Promise<Finding> {
  const nodes = await readNodes(db);
  const answers = await db.query<{ name: string; port: number; healthy: boolean | null }>(
    `SELECT to_nodename AS name, to_nodeport AS port, bool_and(result) AS healthy
       FROM citus_check_cluster_node_health() GROUP BY 1, 2`,
    [],
  );
  const unreachable = nodes.filter(
    ({ name, port }) =>
      answers.find((answer) => answer.name === name && answer.port === port)?.healthy !== true,
  );
  return unreachable.length === 0
    ? ok(`All ${nodes.length} nodes are connected.`)
    : fail(
        `Not reachable from every other node: ${unreachable.map(nodeAddress).join(', ')}. The organizations there get 503.`,
        'Start these nodes, or replace them with citus_update_node.',
      );
}

const recoverySecondsMax = 60;

/** Counts transactions whose second phase is missing. They keep their locks until Citus recovers them. */
async function checkTransactions(db: Database): Promise<Finding> {
  const [row] = await db.query<{ pending: number; seconds: number }>(
    `SELECT (SELECT count(*) FROM pg_dist_transaction)::int4 AS pending,
            extract(epoch FROM (SELECT setting::int8 * interval '1 millisecond' FROM pg_settings
                                 WHERE name = 'citus.recover_2pc_interval'))::int4 AS seconds`,
    [],
  );
  const { pending = 0, seconds = 0 } = row ?? {};
  const finding = `${pending} transactions in two phases are recorded; lost ones are recovered every ${seconds} s.`;
  return seconds < 0 || seconds >= recoverySecondsMax
    ? warn(
        finding,
        "After a crash, organizations wait that long. Run `ALTER SYSTEM SET citus.recover_2pc_interval = '5s'` on the coordinator.",
      )
    : ok(finding);
}
