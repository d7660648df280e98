/** `purser ledger`: compares the time of the ledger with the clock, and sets it back after the clock was wrong. */
import { Command } from 'commander';
import { openChainHeads, recordChange } from '../capabilities/compliance/audit/index.ts';
import { moveRunsToHolds } from '../capabilities/spend/runs/index.ts';
import type { Config } from '../config/settings.ts';
import type { ClockReset } from '../ledger/holds/readmit-hold.ts';
import { readLedgerTimes, resetLedgerClock } from '../ledger/ledger-clock.ts';
import { counted } from '../platform/counted.ts';
import type { Database } from '../platform/db/database.ts';
import { DirectoryInUse } from '../platform/db/pglite/directory-lock.ts';
import { platformTenant } from '../platform/http/routes/access.ts';
import { createIds } from '../platform/ids.ts';
import { createLog } from '../platform/log.ts';
import { openSecrets } from '../platform/secrets/secrets.ts';
import { systemClock } from '../platform/time/clock.ts';
import { accountName } from './account-name.ts';
import { printReconciliation } from './restore.ts';
import { verifyLedger } from './verify-ledger.ts';
import { print, withMigratedDatabase } from './with-database.ts';

export function ledgerCommand(): Command {
  const command = new Command('ledger').description(
    'Compare the time of the ledger with the clock, or set it back to the clock.',
  );
  command
    .command('clock', { isDefault: true })
    .description('Show what is ahead of the clock (default). On the embedded engine, stop the service first.')
    .action(showClock);
  command
    .command('reset-clock')
    .description(
      'Set the time of the ledger back to the clock, after the clock was ahead. No posting is lost or changed: postings count in the ' +
        'windows of their dates. Open holds are admitted again, now. The ledger is reconciled afterwards. On the embedded engine, ' +
        'stop the service first.',
    )
    .action(resetClock);
  return command;
}

async function showClock(): Promise<void> {
  await withStoppedLedger(printTimes);
}

async function printTimes(db: Database, { dataDir }: Config): Promise<void> {
  const times = await readLedgerTimes(db, dataDir, systemClock);
  print(`clock       ${times.clock.toISOString()}`);
  print(
    times.aheadMs === 0
      ? 'ledger      not ahead of the clock'
      : `ledger      ${Math.ceil(times.aheadMs / 1_000)} s ahead: ${counted(times.orgsAhead, 'organization', 'organizations')}, ${counted(times.holdsAhead, 'open hold', 'open holds')}`,
  );
  if (times.latestPostingAt !== undefined) {
    print(`postings    dated up to ${times.latestPostingAt.toISOString()}, where they count`);
  }
}

async function resetClock(): Promise<void> {
  await withStoppedLedger(async (db, config) => {
    const reset = await resetLedgerClock(db, config.dataDir, systemClock, moveRunsToHolds);
    await recordReset(db, config, reset);
    print(
      `reset       ${counted(reset.orgs, 'organization', 'organizations')}; ${counted(reset.holds, 'open hold', 'open holds')} admitted again`,
    );
    await printTimes(db, config);
    printReconciliation(await verifyLedger(db, config.dataDir));
  });
}

/** Opens the ledger. While the service runs, the embedded ledger belongs to its process, so the service must be stopped. */
async function withStoppedLedger(work: (db: Database, config: Config) => Promise<void>): Promise<void> {
  try {
    await withMigratedDatabase(work);
  } catch (error) {
    throw error instanceof DirectoryInUse
      ? new Error(`${error.message.split('. ')[0]}: stop the service, run this command, and start it again`)
      : error;
  }
}

async function recordReset(db: Database, { dataDir, secretsKeys }: Config, after: ClockReset): Promise<void> {
  const heads = await openChainHeads(
    db,
    await openSecrets(db, { dataDir, keys: secretsKeys }),
    createLog('silent'),
  );
  const actor = { kind: 'command_line', id: accountName(), at: systemClock.now() } as const;
  await db.transaction((tx) =>
    recordChange(tx, { ids: createIds(systemClock), heads }, actor, 'ledger.reset_clock', {
      tenantId: platformTenant,
      target: { kind: 'ledger', id: 'clock' },
      after: { ...after },
    }),
  );
}
