/** Runs of holds that expired without a settlement and were posted at the held amount (`on_unsettled` of the org). */
import { type Hold, runIdOf, unsettledUsd } from '../../../ledger/holds/hold.ts';
import type { Posting, RunUsage } from '../../../ledger/posting.ts';
import type { UnsettledRun } from '../../../ledger/postings/existing-records.ts';
import type { UnsettledRuns } from '../../../ledger/postings/unsettled-runs.ts';
import { scopeOf } from '../../../ledger/scope.ts';
import type { Transaction } from '../../../platform/db/database.ts';
import type { Ids } from '../../../platform/ids.ts';
import { newPosting } from './build-posting.ts';
import { runOfCall } from './calls-in-progress.ts';
import { findRunningRuns, findUnsettledRuns, type RunDraft, type RunRow, readPaid } from './queries.ts';
import { noUsage } from './run-usage.ts';
import { placeOfStored } from './scope-run.ts';

/** Creates the functions for unsettled runs. `modelsOfVersions` returns the models of price versions, read in the given transaction. */
export function createUnsettledRuns(
  ids: Ids,
  modelsOfVersions: (
    tx: Transaction,
    orgId: string,
    versionIds: readonly string[],
  ) => Promise<ReadonlyMap<string, string>>,
): UnsettledRuns<RunDraft> {
  async function unsettledRun(tx: Transaction, run: RunRow): Promise<UnsettledRun<RunDraft>> {
    return {
      runId: run.id,
      run,
      scope: scopeOf(run, run.key_id, run.chain_id),
      depth: run.depth,
      atMs: run.charged_at.getTime(),
      amounts: { usd: (run.cost_nanos ?? 0n) + run.adjusted_nanos, tokens: tokensOf(run), requests: 1n },
      // Taken from the row, which has the sum even if entries were deleted since.
      paid: { ...(await readPaid(tx, run.org_id, run.id)), uncovered: run.uncovered_nanos },
      usage: usageOf(run),
      reversalId: ids.next('ent'),
    };
  }

  return {
    async postingsFor(tx, orgId, holds) {
      const running = new Map<string, RunRow>();
      for (const run of await findRunningRuns(tx, orgId, holds)) {
        // If several runs share a decision, the first one takes the charge.
        if (run.decision_id !== null && !running.has(run.decision_id)) {
          running.set(run.decision_id, run);
        }
      }
      const versions = holds.flatMap(({ id, priceVersion }) =>
        priceVersion === null || running.has(id) ? [] : priceVersion,
      );
      const models = versions.length === 0 ? undefined : await modelsOfVersions(tx, orgId, versions);
      return holds.map((hold) =>
        draftExpiry(ids, hold, running.get(hold.id), models?.get(hold.priceVersion ?? '') ?? null),
      );
    },
    async read(tx, orgId, runIds) {
      const unsettled: UnsettledRun<RunDraft>[] = [];
      for (const run of await findUnsettledRuns(tx, orgId, runIds)) {
        unsettled.push(await unsettledRun(tx, run));
      }
      return unsettled;
    },
  };
}

/** Drafts the posting of an expired hold: for the run in progress under it, otherwise for a new run. */
function draftExpiry(
  ids: Ids,
  hold: Hold,
  running: RunRow | undefined,
  pricedAs: string | null,
): Posting<RunDraft> {
  const entryId = ids.next('ent');
  const run = running ?? newRun(hold, runIdOf(hold) ?? ids.next('run'), pricedAs);
  const place = placeOfStored(run, hold.id, undefined, hold.admittedAtMs);
  const posting = newPosting(
    'expire',
    entryId,
    running === undefined ? { ...place, scope: hold.scope } : place,
    // The run's tokens replace the held ones, which are an estimate and must not count as usage.
    { ...hold.amounts, usd: unsettledUsd(hold), tokens: tokensOf(run) },
    usageOf(run),
    run,
  );
  posting.runExists = running && true;
  posting.priceVersion = hold.priceVersion;
  return posting;
}

const unknownModel = 'unknown';

/** Returns a new run with the status `running`: the end of its call was not reported, and it can still be completed. */
function newRun(hold: Hold, runId: string, pricedAs: string | null): RunRow {
  return { ...runOfCall(hold, runId), model: hold.scope.model ?? unknownModel, priced_as: pricedAs };
}

function tokensOf(run: RunRow): bigint {
  return run.input_tokens + run.output_tokens;
}

/** Returns the usage that counts while the run is unsettled. Its value and latency are counted at the settlement. */
function usageOf(run: RunRow): RunUsage {
  return {
    ...noUsage,
    inputTokens: run.input_tokens,
    cachedInputTokens: run.cached_input_tokens,
    cacheWriteTokens: run.cache_write_tokens,
    outputTokens: run.output_tokens,
  };
}
