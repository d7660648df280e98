import { Command, Option } from 'commander';
import { version } from '../config/version.ts';
import { distribute } from '../platform/db/citus/distribute.ts';
import type { PlacedTable } from '../platform/db/citus/placement.ts';
import type { Database } from '../platform/db/database.ts';
import { type Migration, migrate, pendingMigrations, readMigrations } from '../platform/db/migrate.ts';
import { print, withDatabase } from './with-database.ts';

export function migrateCommand(): Command {
  return new Command('migrate')
    .description('Apply pending migrations. Without options it applies those that `serve` applies too.')
    .addOption(
      new Option(
        '--expand',
        'apply what older versions can live with, and what this version needs (default)',
      ).conflicts('contract'),
    )
    .option(
      '--contract',
      'also finish backfills and remove what only older versions need; refused while one is running',
    )
    .addOption(
      new Option(
        '--distribute',
        'also distribute the tables over a Citus cluster by organization; refused while a service is running',
      ).conflicts('dryRun'),
    )
    .option('--dry-run', 'list pending migrations without applying them')
    .action(runMigrations);
}

interface MigrateCommandOptions {
  readonly contract?: boolean;
  readonly distribute?: boolean;
  readonly dryRun?: boolean;
}

async function runMigrations({
  contract = false,
  distribute: distributes = false,
  dryRun = false,
}: MigrateCommandOptions): Promise<void> {
  await withDatabase(async (db) => {
    const migrations = await readMigrations();
    const options = { build: version, contract };
    const { due, postponed } = await pendingMigrations(db, migrations, options);
    const done = dryRun ? due : await migrate(db, migrations, options);
    for (const { name } of done) {
      print(`${dryRun ? 'pending' : 'applied'} ${name}`);
    }
    for (const migration of postponed) {
      print(describePostponed(migration));
    }
    if (done.length === 0 && postponed.length === 0) {
      print('The database is up to date.');
    }
    if (distributes) {
      await distributeAndPrint(db);
    }
  });
}

async function distributeAndPrint(db: Database): Promise<void> {
  const placed = await distribute(db, { onTable: (table) => print(describePlaced(table)) });
  print(
    placed === 0
      ? 'The database is distributed: every table and shard is in its place.'
      : `Distributed ${placed} tables. Every table and shard is in its place.`,
  );
}

function describePlaced({ name, kind, tenantColumn }: PlacedTable): string {
  switch (kind) {
    case 'distributed':
      return `distributed ${name} by ${tenantColumn}`;
    case 'reference':
      return `copied ${name} to every node`;
    default:
      return `kept ${name} on the coordinator`;
  }
}

function describePostponed({ name, phase, readableFrom }: Migration): string {
  return phase === 'backfill'
    ? `postponed ${name}: runs beside the service`
    : `postponed ${name}: run \`purser migrate --contract\` once every process runs ${readableFrom} or newer`;
}
