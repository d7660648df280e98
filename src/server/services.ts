/**
 * The services that are opened before the app and closed after it, such as the ledger, the rate limiter, the prices and
 * the secrets.
 */

import { join } from 'node:path';
import {
  type ChainHeads,
  openChainHeads,
  openSigner,
  type Signer,
} from '../capabilities/compliance/audit/index.ts';
import { createPermits } from '../capabilities/governance/approvals/index.ts';
import { openWantedEvents, type WantedEvents } from '../capabilities/integration/webhooks/index.ts';
import { createPrices, modelsOfVersions, seedModels } from '../capabilities/spend/models/index.ts';
import {
  createUnsettledRuns,
  enqueueRunEvents,
  type RunDraft,
  readPaid,
  writeRuns,
} from '../capabilities/spend/runs/index.ts';
import {
  type CallPrices,
  createCallPrices,
  recordUnpricedUse,
} from '../capabilities/spend/unpriced-models/index.ts';
import type { Config } from '../config/settings.ts';
import { version } from '../config/version.ts';
import { createFailOpenDecisions, type FailOpenDecisions } from '../edge/index.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { createOrgLimits, type OrgLimitsCache } from '../ledger/limits/org-limits.ts';
import { openLedger } from '../ledger/open-ledger.ts';
import { ensureMonths } from '../ledger/partitions.ts';
import type { Database } from '../platform/db/database.ts';
import type { Ids } from '../platform/ids.ts';
import { createProcesses, type Processes } from '../platform/jobs/processes.ts';
import type { WriteFailures } from '../platform/jobs/write-failures.ts';
import type { Log } from '../platform/log.ts';
import { openRateLimiter } from '../platform/rates/open-rate-limiter.ts';
import type { RateLimiter } from '../platform/rates/rate-limiter.ts';
import { openSecrets, type RotatableSecrets } from '../platform/secrets/secrets.ts';
import type { SharedClock } from '../platform/time/clock.ts';
import { recordFailOpenImport } from './fail-open-record.ts';

export interface ServicesDependencies {
  readonly config: Config;
  readonly db: Database;
  readonly clock: SharedClock;
  readonly ids: Ids;
  readonly log: Log;
  readonly writeFailures?: WriteFailures;
}

export interface Services {
  readonly ledger: Ledger<RunDraft>;
  readonly orgLimits: OrgLimitsCache;
  readonly prices: CallPrices;
  readonly failOpen: FailOpenDecisions;
  readonly rates: RateLimiter;
  readonly processes: Processes;
  readonly secrets: RotatableSecrets;
  readonly auditSigner: Signer;
  readonly auditHeads: ChainHeads;
  readonly events: WantedEvents;
  close(): Promise<void>;
}

export async function openServices(deps: ServicesDependencies): Promise<Services> {
  const { config, db, clock, ids, log, writeFailures } = deps;
  await ensureMonths(db, clock.now());
  await seedModels(db, clock.now());
  const orgLimits = createOrgLimits(db);
  const { dataDir, durability, holdsMax, redisUrl } = config;
  const secrets = await openSecrets(db, { dataDir, keys: config.secretsKeys });
  const processes = createProcesses(db, version, secrets.keyIds);
  await processes.beat();
  const auditSigner = await openSigner(db, secrets, clock.now());
  const { unreadable } = await auditSigner.publicKeys(db);
  if (unreadable.length > 0) {
    log.error({ keys: unreadable }, 'keys that sign audit logs are not as they were stored');
  }
  const auditHeads = await openChainHeads(db, secrets, log);
  const events = await openWantedEvents(db);
  const ledger = await openLedger<RunDraft>({
    db,
    clock,
    ids,
    log,
    orgLimits,
    processId: processes.id,
    dataDir,
    durability,
    holdsMax,
    processes: () => processes.count(),
    onHoldLogFailed: (error) => writeFailures?.report('data-directory', error),
    async writeRuns(tx, posted) {
      await writeRuns(tx, posted);
      await recordUnpricedUse(tx, { ids, wants: events.wants }, posted);
      await enqueueRunEvents(tx, { ids, wants: events.wants }, posted);
    },
    readPaid,
    unsettledRuns: createUnsettledRuns(ids, modelsOfVersions),
    permits: createPermits({ ids, heads: auditHeads }),
  });
  const prices = createCallPrices(db, createPrices(db));
  const failOpen = createFailOpenDecisions({
    db,
    ids,
    clock,
    log,
    ledger,
    secrets,
    directory: join(dataDir, 'fail-open'),
    bytesMax: config.edgeSpoolBytes,
    findPrice: prices.findForCall,
    recordImport: recordFailOpenImport({ ids, heads: auditHeads, clock }),
  });
  await failOpen.takeOver();
  const rates = await openRateLimiter({ redisUrl, db, clock, log, share: () => processes.count() });
  return {
    ledger,
    orgLimits,
    prices,
    failOpen,
    rates,
    processes,
    secrets,
    auditSigner,
    auditHeads,
    events,
    async close() {
      await failOpen.close();
      await ledger.close();
      await rates.close();
      await processes.leave();
    },
  };
}
