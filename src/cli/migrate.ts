import { Command, Option } from 'commander';
import { version } from '../config/version.ts';
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
    .option('--dry-run', 'list pending migrations without applying them')
    .action(runMigrations);
}

interface MigrateCommandOptions {
  readonly contract?: boolean;
  readonly dryRun?: boolean;
}

async function runMigrations({ contract = false, dryRun = false }: MigrateCommandOptions): Promise<void> {
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
  });
}

function describePostponed({ name, phase, readableFrom }: Migration): string {
  return phase === 'backfill'
    ? `postponed ${name}: runs beside the service`
    : `postponed ${name}: run \`purser migrate --contract\` once every process runs ${readableFrom} or newer`;
}
