#!/usr/bin/env node
/** The command line. */
import { Command } from 'commander';
import { version } from './config/version.ts';
import { ApiError } from './contract/api-error.ts';
import type { FieldError } from './contract/errors.ts';

/** Commands in the order of the help. */
const commands: Record<string, () => Promise<Command>> = {
  serve: async () => (await import('./cli/serve.ts')).serveCommand(),
  init: async () => (await import('./cli/init.ts')).initCommand(),
  demo: async () => (await import('./cli/demo.ts')).demoCommand(),
  connect: async () => (await import('./cli/connect.ts')).connectCommand(),
  'gateway-key': async () => (await import('./cli/gateway-key.ts')).gatewayKeyCommand(),
  'gateway-test': async () => (await import('./cli/gateway-test.ts')).gatewayTestCommand(),
  login: async () => (await import('./cli/sign-in/sign-in-commands.ts')).loginCommand(),
  token: async () => (await import('./cli/sign-in/sign-in-commands.ts')).tokenCommand(),
  logout: async () => (await import('./cli/sign-in/sign-in-commands.ts')).logoutCommand(),
  apply: async () => (await import('./cli/configuration/apply.ts')).applyCommand(),
  export: async () => (await import('./cli/configuration/export.ts')).exportCommand(),
  raise: async () => (await import('./cli/raises.ts')).raiseCommand(),
  request: async () => (await import('./cli/raises.ts')).requestCommand(),
  migrate: async () => (await import('./cli/migrate.ts')).migrateCommand(),
  database: async () => (await import('./cli/database.ts')).databaseCommand(),
  backup: async () => (await import('./cli/backup.ts')).backupCommand(),
  restore: async () => (await import('./cli/restore.ts')).restoreCommand(),
  move: async () => (await import('./cli/move.ts')).moveCommand(),
  ledger: async () => (await import('./cli/ledger.ts')).ledgerCommand(),
  keys: async () => (await import('./cli/keys.ts')).keysCommand(),
  prices: async () => (await import('./cli/prices.ts')).pricesCommand(),
  audit: async () => (await import('./cli/audit.ts')).auditCommand(),
  secrets: async () => (await import('./cli/secrets.ts')).secretsCommand(),
  'console-link': async () => (await import('./cli/console-link.ts')).consoleLinkCommand(),
  config: async () => (await import('./cli/config.ts')).configCommand(),
  check: async () => (await import('./cli/check.ts')).checkCommand(),
  doctor: async () => (await import('./cli/doctor/command.ts')).doctorCommand(),
  health: async () => (await import('./cli/health.ts')).healthCommand(),
};

/** Loads only the requested command, because some commands load the whole service. The help loads all commands. */
async function loadProgram(requested = 'serve'): Promise<Command> {
  const program = new Command('purser')
    .description('AI cost control: budgets that hold under parallel calls, crashes and restarts.')
    .version(version)
    .addHelpText('after', '\nSettings are environment variables; `purser config` lists them.');
  for (const [name, load] of Object.entries(commands)) {
    if (requested === name || !Object.hasOwn(commands, requested)) {
      program.addCommand(await load(), { isDefault: name === 'serve' });
    }
  }
  return program;
}

// Makes files readable by their owner only, because they contain key digests, secrets and the database.
process.umask(0o077);

// A closed pipe (`purser config | head`) is not an error.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  process.exit(error.code === 'EPIPE' ? 0 : 1);
});

try {
  await (await loadProgram(process.argv[2])).parseAsync();
} catch (error) {
  process.stderr.write(`purser: ${describe(error)}\n`);
  process.exitCode = 1;
}

function describe(error: unknown): string {
  if (error instanceof ApiError && 'fields' in error.details) {
    const fields = error.details.fields as FieldError[];
    return fields.map(({ field, message }) => `${field}: ${message}`).join('\n        ');
  }
  return error instanceof Error ? error.message : String(error);
}
