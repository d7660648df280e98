/** `npm run bench`: runs the rows, shows progress, prints tables and writes the figures to `bench/results/`. */
import { mkdir, writeFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import {
  figuresOfPairs,
  figuresOfSingles,
  judgeable,
  measurePairs,
  noteOnStolenTime,
  type Row,
  type RowOptions,
} from './measure.ts';
import { killRemaining } from './processes.ts';
import { type RowResult, rowText, summary } from './report.ts';
import { agentsOnABudget } from './rows/agents-on-a-budget.ts';
import { auditExport } from './rows/audit-export.ts';
import { bulkBesideEdge } from './rows/bulk-beside-edge.ts';
import { bulkEmbedded, bulkPostgres } from './rows/bulk-ingest.ts';
import { citus } from './rows/citus.ts';
import { consolePages } from './rows/console-pages.ts';
import { edgeDecision } from './rows/edge-decision.ts';
import { edgeHalfLoad } from './rows/edge-half-load.ts';
import { edgePostgres, edgePostgresTwo } from './rows/edge-postgres.ts';
import { expiringHolds, expiringHoldsPostgres } from './rows/expiring-holds.ts';
import { fairness, fairnessPostgres } from './rows/fairness.ts';
import { forecasts } from './rows/forecasts.ts';
import { gateway } from './rows/gateway.ts';
import { gatewayStreams } from './rows/gateway-streams.ts';
import { growthKeyBudgets, growthLimits } from './rows/growth-limits.ts';
import { growthOrgsFifty, growthOrgsThousand } from './rows/growth-orgs.ts';
import { growthRuns } from './rows/growth-runs.ts';
import { limiters } from './rows/limiters.ts';
import { memoryBulk } from './rows/memory-bulk.ts';
import { memoryOrgs } from './rows/memory-orgs.ts';
import { parallelStreams } from './rows/parallel-streams.ts';
import { policies } from './rows/policies.ts';
import { readOrg } from './rows/read-org.ts';
import { retention } from './rows/retention.ts';
import { revocation } from './rows/revocation.ts';
import { routing } from './rows/routing.ts';
import { runSingle, runSinglePostgres } from './rows/run-single.ts';
import { safety } from './rows/safety.ts';
import { start } from './rows/start.ts';
import { statementMonth, statementMonthPostgres } from './rows/statement-month.ts';
import { telemetry, telemetryMinute } from './rows/telemetry.ts';
import { usageExport } from './rows/usage-export.ts';
import { webhooks, webhooksGrowth } from './rows/webhooks.ts';
import { startStolenTime } from './stolen-time.ts';

const rows: readonly Row[] = [
  edgeDecision,
  edgeHalfLoad,
  edgePostgres,
  edgePostgresTwo,
  runSingle,
  runSinglePostgres,
  bulkEmbedded,
  bulkPostgres,
  bulkBesideEdge,
  telemetry,
  telemetryMinute,
  growthLimits,
  growthKeyBudgets,
  growthOrgsFifty,
  growthOrgsThousand,
  fairness,
  fairnessPostgres,
  citus,
  growthRuns,
  consolePages,
  webhooks,
  webhooksGrowth,
  gateway,
  gatewayStreams,
  parallelStreams,
  agentsOnABudget,
  policies,
  routing,
  auditExport,
  usageExport,
  statementMonth,
  statementMonthPostgres,
  retention,
  expiringHolds,
  expiringHoldsPostgres,
  memoryOrgs,
  memoryBulk,
  safety,
  forecasts,
  start,
  revocation,
  readOrg,
  limiters,
];

const pairsMin = 5;

const { values: options } = parseArgs({
  options: {
    only: { type: 'string', multiple: true },
    pairs: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '2' },
    small: { type: 'boolean', default: false },
  },
});
const { small } = options;
const pairs = Number(options.pairs);
const secondsPerTurn = Number(options.seconds);
if (!Number.isInteger(pairs) || pairs < pairsMin || !(secondsPerTurn > 0)) {
  throw new Error(`--pairs must be at least ${pairsMin} and --seconds above 0`);
}
const unknown = options.only?.find((name) => rows.every((row) => row.name !== name));
if (unknown !== undefined) {
  throw new Error(`there is no row ${unknown}; the rows are ${rows.map(({ name }) => name).join(', ')}`);
}

const startedAt = new Date().toISOString();
if (small) {
  process.stdout.write('With --small some rows have much less data than they say, and are not judged.\n');
}
const directory = new URL('./results/', import.meta.url);
const file = new URL(`${startedAt.replaceAll(':', '-')}.json`, directory);
const machine = { node: process.version, platform: process.platform, cores: availableParallelism() };
await mkdir(directory, { recursive: true });
const results: RowResult[] = [];
const written: object[] = [];
const chosen = rows.filter(({ name }) => options.only?.includes(name) ?? true);
for (const row of chosen.map((one) => judgeable(one, small))) {
  const progress = (text: string) => void process.stderr.write(`${row.name}: ${text}\n`);
  progress('starting');
  const { raw, ...result } = await measured(row, { small, pairs, secondsPerTurn, progress });
  killRemaining();
  process.stdout.write(rowText(result));
  results.push(result);
  const { kind, name, what, toReach } = row;
  const { figures, notes, failure } = result;
  const floor = row.kind === 'pairs' ? row.floor : undefined;
  written.push({ kind, name, what, floor, toReach, figures, notes, failure, pairs: raw });
  // After each row: a run takes an hour, and one that is ended early keeps what it has measured.
  await writeFile(
    file,
    `${JSON.stringify({ startedAt, machine, secondsPerTurn, small, rows: written }, null, 2)}\n`,
  );
}

process.stdout.write(`${summary(results)}\nwritten to ${fileURLToPath(file)}\n`);
// A missed target is not a failure; a row that could not be measured is.
process.exitCode = results.some(({ failure }) => failure !== undefined) ? 1 : 0;

async function measured(row: Row, rowOptions: RowOptions): Promise<RowResult & { raw?: unknown }> {
  try {
    if (row.kind === 'single') {
      const stolenSince = startStolenTime();
      const singles = await row.measure(rowOptions);
      const stolen = `The host took ${Math.round(stolenSince() * 100)} % of the machine meanwhile.`;
      return { row, figures: figuresOfSingles(row, singles), notes: [...(singles.notes ?? []), stolen] };
    }
    const contenders = await row.prepare(rowOptions);
    try {
      const rounds = await measurePairs(contenders, rowOptions);
      const notes = [...((await contenders.notes?.()) ?? []), ...noteOnStolenTime(rounds)];
      const counted = rounds.counted.map(({ result }) => result);
      return { row, figures: figuresOfPairs(row, counted), notes, raw: rounds.all };
    } finally {
      await contenders.close();
    }
  } catch (error) {
    const failure = `This row could not be measured: ${error instanceof Error ? error.stack : String(error)}`;
    return { row, figures: [], notes: [], failure };
  }
}
