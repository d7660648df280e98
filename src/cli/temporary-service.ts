/** A service for the duration of a command, for commands that use HTTP while no service is running. */
import type { Config } from '../config/settings.ts';
import { createLog } from '../platform/log.ts';

/** Starts the service on a free port. Its modules are only loaded here, because a running service makes them unnecessary. */
export async function startTemporary(config: Config, expectedUrl: string) {
  const { startService } = await import('../server/service.ts');
  try {
    return await startService({
      config: { ...config, host: '127.0.0.1', port: 0 },
      log: createLog('silent'),
    });
  } catch (error) {
    const { message } = error as Error;
    throw new Error(`${message}\n        If the service is not at ${expectedUrl}, pass its URL with --url.`);
  }
}
