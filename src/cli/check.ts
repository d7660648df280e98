import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { Command } from 'commander';
import { loadConfig, unknownSettings } from '../config/settings.ts';
import { version } from '../config/version.ts';
import { pendingMigrations, readMigrations } from '../platform/db/migrate.ts';
import { openDatabase } from '../platform/db/open-database.ts';
import { createLog } from '../platform/log.ts';
import { print } from './with-database.ts';

export function checkCommand(): Command {
  return new Command('check')
    .description('Check whether the service can start: settings, database, migrations. Changes nothing.')
    .action(check);
}

async function check(): Promise<void> {
  const config = loadConfig();
  print('settings    ok');
  for (const name of unknownSettings()) {
    print(`settings    unknown setting ${name}; see \`purser config\``);
  }
  if (config.databaseUrl === undefined && !existsSync(join(config.dataDir, 'database'))) {
    print(`database    none yet; \`serve\` will create it in ${config.dataDir}`);
    return;
  }
  const db = await openDatabase(config, createLog('silent'));
  try {
    const [row] = await db.query<{ version: string }>(
      `SELECT split_part(version(), ' on ', 1) AS version`,
      [],
    );
    print(`database    ok: ${db.engine}, ${row?.version}`);
    const { due, postponed } = await pendingMigrations(db, await readMigrations(), { build: version });
    print(
      due.length === 0 ? 'migrations  ok' : `migrations  ${due.length} pending; \`serve\` will apply them`,
    );
    if (postponed.length > 0) {
      print(`migrations  ${postponed.length} postponed; see \`purser migrate --dry-run\``);
    }
  } finally {
    await db.close();
  }
}
