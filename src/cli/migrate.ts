import { Command } from 'commander';
import { migrate, pendingMigrations, readMigrations } from '../platform/db/migrate.ts';
import { print, withDatabase } from './with-database.ts';

export function migrateCommand(): Command {
  return new Command('migrate')
    .description(
      'Apply pending migrations. `serve` does this too; run it separately to migrate before a deployment.',
    )
    .option('--dry-run', 'list pending migrations without applying them')
    .action(({ dryRun }: { dryRun?: boolean }) =>
      withDatabase(async (db) => {
        const migrations = await readMigrations();
        const done =
          dryRun === true ? await pendingMigrations(db, migrations) : await migrate(db, migrations);
        for (const { name } of done) {
          print(`${dryRun === true ? 'pending' : 'applied'} ${name}`);
        }
        if (done.length === 0) {
          print('The database is up to date.');
        }
      }),
    );
}
