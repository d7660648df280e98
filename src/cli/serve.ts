import { Command } from 'commander';
import { deprecatedSettings, loadConfig, unknownSettings } from '../config/settings.ts';
import { createLog } from '../platform/log.ts';
import { showWelcome } from './welcome.ts';

export function serveCommand(): Command {
  return (
    new Command('serve')
      .description(
        'Run the service (default command). Uses the embedded database unless SVC_DATABASE_URL is set.',
      )
      // Allows excess arguments, because an unknown command is an argument of the default command, which reports it more clearly
      // than the parser does.
      .allowExcessArguments()
      .action((_, { args }: Command) => serve(args))
  );
}

async function serve([unexpected]: readonly string[]): Promise<void> {
  if (unexpected !== undefined) {
    throw new Error(`unknown command ${unexpected}; see \`purser --help\``);
  }
  for (const stream of [process.stdout, process.stderr]) {
    // The service continues if its output cannot be written, such as to a full disk or a closed pipe.
    stream.removeAllListeners('error').on('error', () => undefined);
  }
  const config = loadConfig();
  const log = createLog(config.logLevel);
  for (const name of unknownSettings()) {
    log.warn({ setting: name }, `unknown setting ${name}; see \`purser config\``);
  }
  for (const { name, notice } of deprecatedSettings()) {
    log.warn({ setting: name }, notice);
  }
  // Only logged: work that failed unobserved must not end the process. Its caller gets an answer or a timeout.
  process.on('unhandledRejection', (error) => log.error({ err: error }, 'an operation failed unobserved'));
  // Loaded after the settings, so that an invalid setting is reported immediately.
  const { startService } = await import('../server/service.ts');
  // Set explicitly, because the first process of a container ignores signals without a listener.
  const stopStart = () => {
    log.info('stopped before the service had started');
    process.exit();
  };
  process.once('SIGTERM', stopStart).once('SIGINT', stopStart);
  const service = await startService({ config, log, waitsForDatabase: true }).catch((error: unknown) => {
    // The message is printed elsewhere; the stack only matters to developers.
    log.debug({ err: error }, 'start failed');
    throw error;
  });
  process.off('SIGTERM', stopStart).off('SIGINT', stopStart);

  const stop = () => {
    for (const signal of ['SIGTERM', 'SIGINT']) {
      process.removeAllListeners(signal);
      process.once(signal, () => process.exit(1));
    }
    service.stop().then(
      // Exits without waiting for work in progress, such as retries to an unavailable trace collector.
      () => process.exit(),
      (error) => {
        log.error({ err: error }, 'stopping failed');
        process.exit(1);
      },
    );
  };
  process.once('SIGTERM', stop);
  process.once('SIGINT', stop);
  showWelcome(config, service.url);
}
