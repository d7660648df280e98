import { afterEach, expect, test, vi } from 'vitest';
import { makePlace } from '../../test/support/test-database.ts';
import { loadConfig } from '../config/settings.ts';
import { FastConnection } from '../platform/http/fast/fast-connection.ts';
import { createLog } from '../platform/log.ts';
import { startService } from './service.ts';

afterEach(() => {
  vi.restoreAllMocks();
});

test.each([
  ['true', 'the fast HTTP path reads plain requests', 1],
  ['false', "Node's parser reads every request", 0],
])('SVC_HTTP_FAST_PATH=%s: %s', async (setting, _title, servedFast) => {
  const fast = vi.spyOn(FastConnection.prototype, 'fallBackToPipeline');
  const place = await makePlace({ migrated: true });
  const service = await startService({
    config: loadConfig({ SVC_DATA_DIR: place.dataDir, SVC_PORT: '0', SVC_HTTP_FAST_PATH: setting }),
    log: createLog('silent'),
  });
  try {
    expect((await fetch(`${service.url}/healthz`)).status).toBe(200);
    expect(fast).toHaveBeenCalledTimes(servedFast);
  } finally {
    await service.stop();
    await place.remove();
  }
});
