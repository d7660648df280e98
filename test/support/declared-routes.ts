/**
 * The declared routes of the product without a database, for rules about all routes and for tests that need no data.
 */
import { trace } from '@opentelemetry/api';
import { createPrices } from '../../src/capabilities/spend/models/index.ts';
import type { RunDraft } from '../../src/capabilities/spend/runs/index.ts';
import { createCallPrices } from '../../src/capabilities/spend/unpriced-models/index.ts';
import { loadConfig } from '../../src/config/settings.ts';
import { createFailOpenDecisions } from '../../src/edge/index.ts';
import { createOrgLimits } from '../../src/ledger/limits/org-limits.ts';
import { createPostgresLedger } from '../../src/ledger/postgres/postgres-ledger.ts';
import { oneGroup } from '../../src/platform/db/citus/tenant-groups.ts';
import type { Database } from '../../src/platform/db/database.ts';
import { noFaults } from '../../src/platform/faults.ts';
import type { Route } from '../../src/platform/http/routes/route.ts';
import { createIds } from '../../src/platform/ids.ts';
import { createProcesses } from '../../src/platform/jobs/processes.ts';
import { createLog } from '../../src/platform/log.ts';
import { createInMemoryRateLimiter } from '../../src/platform/rates/in-memory-rate-limiter.ts';
import { secretsKeyBytes } from '../../src/platform/secrets/key-ring.ts';
import { createSecrets } from '../../src/platform/secrets/secrets.ts';
import { systemClock } from '../../src/platform/time/clock.ts';
import { type App, createApp } from '../../src/server/app.ts';

/** Returns all routes. Their handlers must not be called. */
export function declaredRoutes(): readonly Route[] {
  return declaredApp().routes;
}

/**
 * Returns an app that serves only what needs no database: pages, public routes, and rejections of callers without a
 * key.
 */
export function declaredApp(): App {
  const notUsed = () => {
    throw new Error('declarations alone need no database');
  };
  const db: Database = {
    engine: 'embedded',
    tenantGroups: oneGroup,
    query: notUsed,
    transaction: notUsed,
    listen: () => undefined,
    notificationsHealthy: () => false,
    stats: () => ({ connections: 0, idle: 0, waiting: 0 }),
    close: async () => undefined,
  };
  const ids = createIds(systemClock);
  const ledger = createPostgresLedger<RunDraft>({
    holdsMax: 1,
    db,
    clock: systemClock,
    ids,
    writeRuns: notUsed,
    readPaid: notUsed,
    unsettledRuns: { postingsFor: notUsed, read: notUsed },
    permits: { read: notUsed, use: notUsed },
  });
  const secrets = createSecrets([Buffer.alloc(secretsKeyBytes)]);
  const log = createLog('silent');
  return createApp({
    config: loadConfig({}),
    db,
    clock: systemClock,
    ids,
    services: {
      ledger,
      orgLimits: createOrgLimits(db),
      prices: createCallPrices(db, createPrices(db)),
      rates: createInMemoryRateLimiter({ share: () => 1 }),
      processes: createProcesses(db, '0.0.0'),
      secrets,
      failOpen: createFailOpenDecisions({
        db,
        clock: systemClock,
        ids,
        log,
        ledger,
        secrets,
        directory: '',
        bytesMax: 0,
        findPrice: notUsed,
        recordImport: notUsed,
      }),
      auditHeads: { isGenuine: notUsed, macAfter: notUsed },
      auditSigner: { sign: notUsed, signAll: notUsed, keep: notUsed, publicKeys: notUsed, rotate: notUsed },
      events: { wants: () => false },
      close: async () => undefined,
    },
    log,
    tracer: trace.getTracer('declarations'),
    faults: noFaults,
    baseUrl: () => 'http://localhost:8080',
    health: { answer: () => ({ status: 200, body: '{}' }) },
  });
}
