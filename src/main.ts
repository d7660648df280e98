#!/usr/bin/env node
import { Command } from 'commander';
/** The command line. */
import { checkCommand } from './commands/check.ts';
import { configCommand } from './commands/config.ts';
import { keysCommand } from './commands/keys.ts';
import { migrateCommand } from './commands/migrate.ts';
import { serveCommand } from './commands/serve.ts';
import { version } from './version.ts';

const program = new Command('purser')
  .description('Control of what AI costs: budgets that hold under parallel calls, crashes and restarts.')
  .version(version)
  .addCommand(serveCommand(), { isDefault: true })
  .addCommand(migrateCommand())
  .addCommand(keysCommand())
  .addCommand(configCommand())
  .addCommand(checkCommand())
  .addHelpText('after', '\nSettings are environment variables; `purser config` lists them all.');

// A reader that has seen enough (`purser config | head`) is no fault.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  process.exit(error.code === 'EPIPE' ? 0 : 1);
});

try {
  await program.parseAsync();
} catch (error) {
  process.stderr.write(`purser: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
