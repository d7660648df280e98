/** Checks of Redis or Valkey, if request rates are counted there. */
import { type Check, type Finding, fail, ok, skip } from './check.ts';
import type { InspectedDeployment } from './deployment.ts';

export const redisChecks: readonly Check[] = [{ id: 'redis', run: checkRedis }];

async function checkRedis({ config: { redisUrl } }: InspectedDeployment): Promise<Finding> {
  if (redisUrl === undefined) {
    return skip('SVC_REDIS_URL is not set; request rates are counted without Redis.');
  }
  // Loaded here, because the client is only needed if Redis is used.
  const { openRedis } = await import('../../platform/rates/redis-connection.ts');
  const startedMs = performance.now();
  try {
    const connection = await openRedis({
      url: redisUrl,
      signal: new AbortController().signal,
      lost: () => undefined,
    });
    connection.destroy();
    return ok(`Responds within ${(performance.now() - startedMs).toFixed(0)} ms, with the connection.`);
  } catch (error) {
    return fail(
      `Does not respond: ${(error as Error).message || (error as NodeJS.ErrnoException).code}.`,
      'Start it, or correct SVC_REDIS_URL. Until then request rates are counted without it.',
    );
  }
}
