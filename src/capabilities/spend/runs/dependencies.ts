import type { FailOpenLookup } from '../../../ledger/fail-open-lookup.ts';
import type { Ledger } from '../../../ledger/ledger.ts';
import type { LimitEvents } from '../../../ledger/limits/limit-events.ts';
import type { OrgLimitsCache } from '../../../ledger/limits/org-limits.ts';
import type { Database } from '../../../platform/db/database.ts';
import type { Caller } from '../../../platform/http/routes/access.ts';
import type { StoreResponse } from '../../../platform/http/routes/route.ts';
import type { Ids } from '../../../platform/ids.ts';
import type { Log } from '../../../platform/log.ts';
import type { RateLimiter } from '../../../platform/rates/rate-limiter.ts';
import type { PolicyCheck } from '../../governance/policies/index.ts';
import type { Safety } from '../../governance/safety/index.ts';
import type { CallPrices } from '../unpriced-models/index.ts';
import type { ContentStorage } from './content-storage.ts';
import type { RunDraft } from './queries.ts';
import type { RunDigest } from './run-digest.ts';

export interface RunDependencies {
  readonly db: Database;
  readonly ids: Ids;
  readonly log: Log;
  readonly ledger: Ledger<RunDraft>;
  readonly orgLimits: OrgLimitsCache;
  readonly prices: CallPrices;
  readonly rates: RateLimiter;
  readonly safety: Safety;
  readonly limitEvents: LimitEvents;
  readonly policies: PolicyCheck;
  readonly contents: ContentStorage;
  readonly contentDigest: RunDigest;
  readonly failOpen: FailOpenLookup;
}

/** The request that creates, completes or adjusts a run. */
export interface RunCall {
  readonly caller: Caller;
  readonly now: Date;
  /** Stores the response of an idempotent request, in the transaction that posts the run. */
  readonly storeResponse: StoreResponse | undefined;
}
