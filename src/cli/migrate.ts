import { Command } from 'commander';
import { migrate, pendingMigrations, readMigrations } from '../platform/db/migrate.ts';
import { print, withDatabase } from './with-database.ts';

export function migrateCommand(): Command {
  return new Command('migrate')
    .description(
      'Bring the database up to date. `serve` does this too; run it alone to do it before a deployment.',
    )
    .option('--dry-run', 'only say which migrations are missing')
    .action(({ dryRun }: { dryRun?: boolean }) =>
      withDatabase(async (db) => {
        const migrations = await readMigrations();
        const done =
          dryRun === true ? await pendingMigrations(db, migrations) : await migrate(db, migrations);
        for (const { name } of done) {
          print(`${dryRun === true ? 'missing' : 'applied'} ${name}`);
        }
        if (done.length === 0) {
          print('The database is up to date.');
        }
      }),
    );
}
