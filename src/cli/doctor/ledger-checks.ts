/** Checks of the data: holds, drift of the ledger, prices, webhooks, retention. */
import { statSync } from 'node:fs';
import { join } from 'node:path';
import {
  overdueHoldSeconds,
  overdueWebhookSeconds,
  pricesWarnDays,
} from '../../capabilities/insight/installation/index.ts';
import { findRecentlyBooked, reconcile } from '../../capabilities/insight/ledger/index.ts';
import { type Backlog, readBacklog } from '../../capabilities/integration/webhooks/index.ts';
import { pricesStoredAt } from '../../capabilities/spend/models/index.ts';
import { formatUsd } from '../../kernel/money.ts';
import { clockAheadMsMax } from '../../ledger/clock-watch.ts';
import { aheadMsMax } from '../../ledger/holds/elapsed-lifetimes.ts';
import { readLedgerTimes } from '../../ledger/ledger-clock.ts';
import { createPostgresReads } from '../../ledger/postgres/postgres-reads.ts';
import { counted } from '../../platform/counted.ts';
import type { Database } from '../../platform/db/database.ts';
import { systemClock } from '../../platform/time/clock.ts';
import { type Check, type Finding, fail, ok, skip, warn } from './check.ts';
import type { InspectedDeployment } from './deployment.ts';
import type { RunningService } from './running-service.ts';

export const ledgerChecks: readonly Check[] = [
  { id: 'ledger-clock', run: checkLedgerClock },
  { id: 'holds', run: checkHolds },
  { id: 'drift', run: checkDrift },
  { id: 'prices', run: checkPrices },
  { id: 'webhooks', run: checkWebhooks },
  { id: 'retention', run: checkRetention },
];

const notVisible = 'Visible only while the service runs.';
const noTables = 'There is no migrated database yet.';

/** Returns the open database if its migrations were applied. */
async function migratedDatabase({ database }: InspectedDeployment): Promise<Database | undefined> {
  if (database.state !== 'open') {
    return undefined;
  }
  const [row] = await database.db.query<{ name: string | null }>(
    `SELECT to_regclass('retention_policies')::text AS name`,
    [],
  );
  return row?.name == null ? undefined : database.db;
}

/** Compares the clock with the last decision, the newest open hold and the latest posting. */
async function checkLedgerClock(deployment: InspectedDeployment): Promise<Finding> {
  const { config, service, engine } = deployment;
  const db = await migratedDatabase(deployment);
  if (db !== undefined) {
    const { aheadMs, orgsAhead, holdsAhead, latestPostingAt } = await readLedgerTimes(
      db,
      config.dataDir,
      systemClock,
    );
    const parts = `${counted(orgsAhead, 'organization', 'organizations')}, ${counted(holdsAhead, 'open hold', 'open holds')}`;
    const dated = `The latest posting is dated ${latestPostingAt?.toISOString()}, and counts in the windows of that time.`;
    return clockFinding(
      aheadMs,
      engine,
      latestPostingAt === undefined ? '' : ` ${dated}`,
      aheadMs > aheadMsMax ? ` (${parts})` : '',
    );
  }
  const aheadSeconds = await service?.metric('svc_ledger_clock_ahead_seconds');
  return aheadSeconds === undefined ? skip(notVisible) : clockFinding(aheadSeconds * 1_000, engine, '', '');
}

function clockFinding(
  aheadMs: number,
  engine: InspectedDeployment['engine'],
  dated: string,
  parts: string,
): Finding {
  if (aheadMs <= aheadMsMax) {
    return ok(`The ledger is not ahead of the clock.${dated}`);
  }
  const finding = `The ledger is ${(aheadMs / 1_000).toFixed(0)} s ahead of the clock${parts}: spend counts in later windows.${dated}`;
  const stopped = engine === 'embedded' ? 'stop the service and ' : '';
  return aheadMs > clockAheadMsMax
    ? fail(
        finding,
        `If the clock is right, ${stopped}run \`purser ledger reset-clock\`; else correct the clock.`,
      )
    : warn(finding, 'Synchronize the clock by NTP; the ledger continues when the clock has caught up.');
}

const fullShare = 0.8;

interface OpenHolds {
  readonly open: number;
  readonly overdue: number;
}

async function checkHolds(deployment: InspectedDeployment): Promise<Finding> {
  const { engine, config, service } = deployment;
  const holds = await openHolds(deployment);
  if (holds === undefined) {
    return skip(notVisible);
  }
  const open = counted(holds.open, 'open hold', 'open holds');
  const finding = `${open}, the oldest is ${Math.round(holds.overdue)} s overdue.`;
  if (holds.overdue > overdueHoldSeconds.warn) {
    const remedy =
      service === undefined
        ? 'Start the service: it releases expired holds.'
        : 'See the job expire-holds in the log of the service, and locks in the database.';
    return holds.overdue > overdueHoldSeconds.fail ? fail(finding, remedy) : warn(finding, remedy);
  }
  const share = holds.open / config.holdsMax;
  if (engine === 'embedded' && share >= fullShare) {
    const full = `${open} of at most ${config.holdsMax}: beyond that, decisions return 503.`;
    const remedy = 'Settle or void holds, use shorter expiries, raise SVC_HOLDS_MAX, or use PostgreSQL.';
    return share >= 1 ? fail(full, remedy) : warn(full, remedy);
  }
  return ok(holds.overdue > 0 ? finding : `${open}, none overdue.`);
}

async function openHolds(deployment: InspectedDeployment): Promise<OpenHolds | undefined> {
  const { engine, service } = deployment;
  const db = engine === 'postgres' ? await migratedDatabase(deployment) : undefined;
  if (db !== undefined) {
    const [row] = await db.query<OpenHolds>(
      `SELECT count(*)::float8 AS open,
              coalesce(greatest(extract(epoch FROM now() - min(expires_at)), 0), 0)::float8 AS overdue FROM holds`,
      [],
    );
    return row;
  }
  const open = await service?.metric('svc_open_holds');
  const overdue = await service?.metric('svc_oldest_overdue_hold_seconds');
  return open === undefined || overdue === undefined ? undefined : { open, overdue };
}

const orgsMax = 20;

async function checkDrift(deployment: InspectedDeployment): Promise<Finding> {
  const { engine, service } = deployment;
  const db = engine === 'postgres' ? await migratedDatabase(deployment) : undefined;
  const remedy =
    'Compare GET /v1/orgs/{id}/ledger/reconciliation with your own records, and report it with the log of the service.';
  if (db !== undefined) {
    const drifting = await findDriftingOrgs(db);
    return drifting.length === 0
      ? ok(`The ledgers of the ${orgsMax} organizations with the latest postings balance.`)
      : fail(`The ledger does not balance: ${drifting.join(', ')}.`, remedy);
  }
  const driftUsd = await service?.metric('svc_ledger_drift');
  if (driftUsd === undefined) {
    return skip(notVisible);
  }
  return driftUsd === 0
    ? ok('The ledgers that the service has checked balance.')
    : fail(`The ledger is off by $${driftUsd}.`, remedy);
}

async function findDriftingOrgs(db: Database): Promise<string[]> {
  const drifting: string[] = [];
  const ledger = createPostgresReads({ db, clock: systemClock });
  for (const { org_id } of await findRecentlyBooked(db, orgsMax)) {
    const { view, driftNanos } = await reconcile({ db, ledger }, org_id, new Date());
    if (!view.balanced) {
      drifting.push(`${org_id} by $${formatUsd(driftNanos)}`);
    }
  }
  return drifting;
}

const dayMs = 86_400_000;

/** Checks the age of the prices. Prices that come with a version count as stored when the database was created. */
async function checkPrices(deployment: InspectedDeployment): Promise<Finding> {
  const dates = (await migratedDatabase(deployment)) ?? deployment.service;
  if (dates === undefined) {
    return skip('No prices are stored yet.');
  }
  const storedMs =
    'query' in dates
      ? ((await pricesStoredAt(dates))?.getTime() ?? 0)
      : await pricesOfServiceStoredMs(dates, deployment);
  const days = Math.floor((Date.now() - storedMs) / dayMs);
  const finding = `The latest price was stored ${days} days ago.`;
  return days < pricesWarnDays
    ? ok(finding)
    : warn(
        finding,
        'Update them with `purser prices update`, and compare them with those of your providers.',
      );
}

async function pricesOfServiceStoredMs(
  service: RunningService,
  { config }: InspectedDeployment,
): Promise<number> {
  const newest = '/v1/admin/models?sort=-created_at&limit=1';
  const { data } = await service.read<{ data: readonly { created_at: string }[] }>(newest);
  const created = statSync(join(config.dataDir, 'database'), { throwIfNoEntry: false });
  return Math.max(created?.birthtimeMs ?? 0, ...data.map(({ created_at }) => Date.parse(created_at)));
}

async function checkWebhooks(deployment: InspectedDeployment): Promise<Finding> {
  const backlog = await webhookBacklog(deployment);
  if (backlog === undefined) {
    return skip(deployment.database.state === 'open' ? noTables : notVisible);
  }
  const finding = `${counted(backlog.waiting, 'delivery waits', 'deliveries wait')}, the most overdue for ${Math.round(backlog.overdueSeconds)} s.`;
  const remedy =
    deployment.service === undefined
      ? 'Start the service: it sends deliveries.'
      : 'Start more processes, and look for slow receivers in GET /v1/orgs/{id}/webhooks/{sub_id}/deliveries.';
  if (backlog.overdueSeconds > overdueWebhookSeconds.fail) {
    return fail(finding, remedy);
  }
  return backlog.overdueSeconds > overdueWebhookSeconds.warn ? warn(finding, remedy) : ok(finding);
}

async function webhookBacklog(
  deployment: InspectedDeployment,
): Promise<Pick<Backlog, 'waiting' | 'overdueSeconds'> | undefined> {
  const db = await migratedDatabase(deployment);
  if (db !== undefined) {
    return readBacklog(db);
  }
  const waiting = await deployment.service?.metric('svc_webhook_deliveries_waiting');
  const overdueSeconds = await deployment.service?.metric('svc_webhook_oldest_overdue_seconds');
  return waiting === undefined || overdueSeconds === undefined ? undefined : { waiting, overdueSeconds };
}

async function checkRetention(deployment: InspectedDeployment): Promise<Finding> {
  const failing = await deployment.service?.metric('svc_retention_failing_orgs');
  if (failing === undefined) {
    return skip(notVisible);
  }
  return failing === 0
    ? ok('Retention works for all organizations.')
    : fail(
        `Retention fails for ${counted(failing, 'organization', 'organizations')}: data are kept longer than promised.`,
        'The log of the service names them and the reason; see "Audit, retention and erasure" in docs/operations/running.md.',
      );
}
