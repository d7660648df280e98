#!/usr/bin/env node
import { Command } from 'commander';
/** The command line. */
import { auditCommand } from './commands/audit.ts';
import { checkCommand } from './commands/check.ts';
import { configCommand } from './commands/config.ts';
import { consoleLinkCommand } from './commands/console-link.ts';
import { demoCommand } from './commands/demo.ts';
import { initCommand } from './commands/init.ts';
import { keysCommand } from './commands/keys.ts';
import { migrateCommand } from './commands/migrate.ts';
import { serveCommand } from './commands/serve.ts';
import type { FieldError } from './contract/errors.ts';
import { Refusal } from './contract/refusal.ts';
import { version } from './version.ts';

const program = new Command('purser')
  .description('Control of what AI costs: budgets that hold under parallel calls, crashes and restarts.')
  .version(version)
  .addCommand(serveCommand(), { isDefault: true })
  .addCommand(initCommand())
  .addCommand(demoCommand())
  .addCommand(migrateCommand())
  .addCommand(keysCommand())
  .addCommand(auditCommand())
  .addCommand(consoleLinkCommand())
  .addCommand(configCommand())
  .addCommand(checkCommand())
  .addHelpText('after', '\nSettings are environment variables; `purser config` lists them all.');

// What we write is nobody else's business: key digests, secrets, the database.
process.umask(0o077);

// A reader that has seen enough (`purser config | head`) is no fault.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  process.exit(error.code === 'EPIPE' ? 0 : 1);
});

try {
  await program.parseAsync();
} catch (error) {
  process.stderr.write(`purser: ${describe(error)}\n`);
  process.exitCode = 1;
}

function describe(error: unknown): string {
  if (error instanceof Refusal && 'fields' in error.details) {
    const fields = error.details.fields as FieldError[];
    return fields.map(({ field, message }) => `${field}: ${message}`).join('\n        ');
  }
  return error instanceof Error ? error.message : String(error);
}
