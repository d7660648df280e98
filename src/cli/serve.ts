import { Command } from 'commander';
import { deprecatedSettings, loadConfig, unknownSettings } from '../config/settings.ts';
import { createLog } from '../platform/log.ts';

export function serveCommand(): Command {
  return (
    new Command('serve')
      .description(
        'Run the service (the default). The embedded database is used unless SVC_DATABASE_URL is set.',
      )
      // The default command takes any word for its argument, and says so better than the parser would.
      .allowExcessArguments()
      .action((_, { args }: Command) => serve(args))
  );
}

async function serve([unexpected]: readonly string[]): Promise<void> {
  if (unexpected !== undefined) {
    throw new Error(`there is no command ${unexpected}; see \`purser --help\``);
  }
  const config = loadConfig();
  const log = createLog(config.logLevel);
  for (const name of unknownSettings()) {
    log.warn({ setting: name }, `${name} is not a setting of Purser; see \`purser config\``);
  }
  for (const { name, notice } of deprecatedSettings()) {
    log.warn({ setting: name }, notice);
  }
  // Loaded only now: what is wrong with a setting is told at once.
  const { startService } = await import('../server/service.ts');
  const service = await startService({ config, log });

  const stop = () => {
    for (const signal of ['SIGTERM', 'SIGINT']) {
      process.removeAllListeners(signal);
      process.once(signal, () => process.exit(1));
    }
    service.stop().then(
      // What may still be under way, such as retries to a trace collector that is away, is not worth waiting for.
      () => process.exit(),
      (error) => {
        log.error({ err: error }, 'stopping failed');
        process.exit(1);
      },
    );
  };
  process.once('SIGTERM', stop);
  process.once('SIGINT', stop);
}
