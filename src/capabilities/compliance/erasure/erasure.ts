/**
 * Erases an end customer: a random pseudonym replaces the id wherever it is stored, so that all sums stay and cannot be
 * attributed to a person. Runs step by step in bounded batches; each batch after the first step is a transaction that
 * also stores the progress, so an interrupted erasure is resumed. The id itself is kept encrypted until the erasure is
 * complete.
 */
import { apiError } from '../../../contract/api-error.ts';
import { WILDCARD } from '../../../kernel/limits.ts';
import { newPseudonym } from '../../../ledger/holds/customer-pseudonyms.ts';
import type { Ledger } from '../../../ledger/ledger.ts';
import { notifyLimitChanged } from '../../../ledger/limits/change-notifications.ts';
import type { Database, Transaction } from '../../../platform/db/database.ts';
import type { CustomerDigest } from '../../../platform/http/pipeline/idempotency.ts';
import { type PageOf, selectPage, viewPage } from '../../../platform/http/routes/list.ts';
import { changeOf } from '../../../platform/http/routes/outcomes.ts';
import type { Change } from '../../../platform/http/routes/route.ts';
import type { Job } from '../../../platform/jobs/jobs.ts';
import type { Log } from '../../../platform/log.ts';
import type { Secrets } from '../../../platform/secrets/secrets.ts';
import { type Appending, redactEntries, type Signer } from '../audit/index.ts';
import { findPolicy } from '../retention/index.ts';
import type { BatchResult, ErasureBatch } from './batched-rows.ts';
import {
  eraseClosedChains,
  eraseEntries,
  eraseEvents,
  eraseForecastCursor,
  eraseHoldEnds,
  eraseKeyAttributions,
  eraseLimits,
  eraseRefusals,
  eraseRuns,
  eraseStoredAnswers,
  eraseSupportPaths,
  eraseUsage,
} from './batches.ts';
import { eraseAlerts, eraseForecasts } from './counter-keys.ts';
import {
  advanceErasure,
  type ErasureRow,
  findNextErasure,
  findOpenErasure,
  finishErasure,
  hasUnfinishedRuns,
  insertErasure,
  isKnownCustomer,
  selectErasures,
} from './queries.ts';
import { type ErasureFilters, type ErasureView, erasureSorts } from './schema.ts';

export interface ErasureDependencies extends Appending {
  readonly db: Database;
  readonly secrets: Secrets;
  readonly signer: Signer;
  readonly ledger: Pick<Ledger, 'reads' | 'maintenance'>;
  readonly customerDigest: CustomerDigest;
  readonly now: () => Date;
}

const auditEntriesPerBatch = 500;
const holdsMax = 100_000;
/** Maximum number of batches that a request waits for; the rest runs in the background. */
const batchesPerRequest = 200;

const waitingStep = 'waiting';
/** Time after the request until the waiting step ends. Denials, attempts and events are buffered in memory for about a second. */
const settledAfterMs = 10_000;

/** Steps in order. Records that could create new rows under the old id must come first. */
const steps: readonly (readonly [
  name: string,
  run: (tx: Transaction, batch: ErasureBatch, deps: ErasureDependencies) => Promise<BatchResult>,
])[] = [
  ['limit_alerts', eraseAlerts],
  ['forecast_notices', eraseForecasts],
  ['forecast_cursor', eraseForecastCursor],
  ['keys', eraseKeyAttributions],
  ['hold_ends', eraseHoldEnds],
  ['runs', eraseRuns],
  ['closed_chains', eraseClosedChains],
  ['ledger_entries', eraseEntries],
  ['usage', eraseUsage],
  // Repeated, because retention may have deleted entries under the old name in the meantime, and closed their chains.
  ['late closed_chains', eraseClosedChains],
  ['events', eraseEvents],
  ['refusals', eraseRefusals],
  ['stored_answers', (tx, batch, { customerDigest }) => eraseStoredAnswers(tx, batch, customerDigest)],
  ['support_paths', eraseSupportPaths],
  ['audit_log', eraseAudit],
  // After this step all processes have written the records that they had buffered when the erasure started.
  [waitingStep, async () => ({ changed: 0, next: null })],
  ['late limit_alerts', eraseAlerts],
  ['late forecast_notices', eraseForecasts],
  ['late forecast_cursor', eraseForecastCursor],
  ['late events', eraseEvents],
  ['late refusals', eraseRefusals],
  ['late support_paths', eraseSupportPaths],
  ['late audit_log', eraseAudit],
];
const firstStep = 'limits';
/** Steps that move amounts from which counters are summed, while decisions may use both names. */
const movingSteps: ReadonlySet<string> = new Set([
  'closed_chains',
  'ledger_entries',
  'usage',
  'late closed_chains',
]);

async function eraseAudit(
  tx: Transaction,
  batch: ErasureBatch,
  deps: ErasureDependencies,
): Promise<BatchResult> {
  const { changed, last } = await redactEntries(tx, deps, {
    tenantId: batch.orgId,
    from: batch.from,
    to: batch.to,
    after: (batch.cursor as number | null) ?? 0,
    limit: auditEntriesPerBatch,
    now: batch.now,
  });
  return { changed, next: last ?? null };
}

export function viewErasure(row: ErasureRow): ErasureView {
  return {
    id: row.id,
    pseudonym: row.pseudonym,
    state: row.finished_at === null ? 'erasing' : 'erased',
    requested_at: row.requested_at.toISOString(),
    finished_at: row.finished_at?.toISOString() ?? null,
    changed: Number(row.changed),
  };
}

export const contextOf = ({ org_id, id }: Pick<ErasureRow, 'org_id' | 'id'>) =>
  `customer_erasure:${org_id}:${id}`;

/** Stores the request for an erasure; changes nothing else yet. */
export async function requestErasure(
  tx: Transaction,
  { ids, secrets }: Pick<ErasureDependencies, 'ids' | 'secrets'>,
  orgId: string,
  customerId: string,
  now: Date,
): Promise<{ readonly erasure: ErasureRow; readonly change: Change }> {
  if ((await findPolicy(tx, orgId))?.legal_hold === true) {
    throw apiError(
      'conflict',
      'The organization is under legal hold. Release the hold before erasing customers.',
    );
  }
  const id = ids.next('ers');
  const erasure: ErasureRow = {
    org_id: orgId,
    id,
    pseudonym: newPseudonym(),
    customer: secrets.encrypt(customerId, contextOf({ org_id: orgId, id })),
    step: firstStep,
    cursor: null,
    requested_at: now,
    finished_at: null,
    changed: 0n,
  };
  await insertErasure(tx, erasure);
  const customer = { org_id: orgId, id: erasure.pseudonym };
  return { erasure, change: changeOf('customer', customer, { after: viewErasure(erasure) }) };
}

export async function requireCustomer(
  { db, ledger }: Pick<ErasureDependencies, 'db' | 'ledger'>,
  orgId: string,
  customerId: string,
): Promise<void> {
  // The wildcard stands for every customer in limits, so it is not a customer that can be erased.
  if (customerId === WILDCARD) {
    throw apiError('not_found');
  }
  if (await isKnownCustomer(db, orgId, customerId)) {
    return;
  }
  const holds = await ledger.reads.holds(orgId, { limit: holdsMax, after: undefined });
  if (holds.some(({ scope }) => scope.customer_id === customerId)) {
    return;
  }
  if (!(await hasUnfinishedRuns(db, orgId, customerId))) {
    throw apiError('not_found');
  }
}

/** Runs one batch of an erasure; returns false if it is complete or must wait. */
async function eraseBatch(deps: ErasureDependencies, erasure: ErasureRow): Promise<boolean> {
  const { db, secrets, ledger, now } = deps;
  if (erasure.customer === null) {
    return false;
  }
  const batch: ErasureBatch = {
    orgId: erasure.org_id,
    from: secrets.decrypt(erasure.customer, contextOf(erasure)),
    to: erasure.pseudonym,
    now: now(),
    cursor: erasure.cursor,
  };
  if (erasure.step === firstStep) {
    let changed = 0;
    await ledger.maintenance.renameCustomer(erasure.org_id, batch, async (tx) => {
      changed = await eraseLimits(tx, batch);
    });
    // Stored in a separate transaction: if the in-memory state could not be updated, this step runs again, which is
    // harmless.
    await advanceErasure(db, erasure, { step: steps[0]?.[0] ?? '', cursor: null, changed });
    return true;
  }
  if (erasure.step === waitingStep && batch.now.getTime() < erasure.requested_at.getTime() + settledAfterMs) {
    return false;
  }
  const index = steps.findIndex(([name]) => name === erasure.step);
  const [, run] = steps[index] ?? [];
  const following = async (tx: Transaction) => {
    const { changed, next } = (await run?.(tx, batch, deps)) ?? { changed: 0, next: null };
    const step = next === null ? steps[index + 1]?.[0] : erasure.step;
    await advanceErasure(tx, erasure, { step: step ?? erasure.step, cursor: next, changed });
    if (step === undefined) {
      await finishErasure(tx, erasure, batch.now);
    }
    return step;
  };
  if (movingSteps.has(erasure.step)) {
    await ledger.maintenance.renameCustomer(erasure.org_id, batch, async (tx) => {
      await following(tx);
      await notifyLimitChanged(tx, erasure.org_id);
    });
    return true;
  }
  return (await db.transaction(following)) !== undefined;
}

/** Runs as many batches as a request can wait for. */
export async function eraseForRequest(deps: ErasureDependencies, erasureId: string): Promise<void> {
  for (let batches = 0; batches < batchesPerRequest; batches += 1) {
    const erasure = await findOpenErasure(deps.db, erasureId);
    if (erasure === undefined || !(await eraseBatch(deps, erasure))) {
      return;
    }
  }
}

/** Runs open erasures, oldest first. An erasure that fails or must wait is skipped until the next run of the job. */
export function erasureJob(deps: ErasureDependencies & { readonly log: Log }): Job {
  let passed: ErasureRow | undefined;
  return {
    id: 'erase-customers',
    everyMs: 5_000,
    async runOnce() {
      const erasure = await findNextErasure(deps.db, passed);
      if (erasure === undefined) {
        passed = undefined;
        return false;
      }
      if (!(await continueErasure(deps, erasure))) {
        passed = erasure;
      }
      return true;
    },
  };
}

async function continueErasure(
  deps: ErasureDependencies & { readonly log: Log },
  erasure: ErasureRow,
): Promise<boolean> {
  try {
    return await eraseBatch(deps, erasure);
  } catch (error) {
    const { org_id: org, id } = erasure;
    deps.log.error({ org, erasure: id, err: error }, 'erasure failed; will be retried');
    return false;
  }
}

export async function listErasures(
  db: Database,
  orgId: string,
  query: ErasureFilters,
): Promise<PageOf<ErasureView>> {
  const page = selectPage<ErasureRow>(db, {
    select: selectErasures,
    where: [['org_id = ?', orgId]],
    sorts: erasureSorts,
    defaultSort: '-requested_at',
    query,
  });
  return viewPage(page, viewErasure);
}
