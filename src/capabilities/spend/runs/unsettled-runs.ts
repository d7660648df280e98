/** Runs of holds that expired without a settlement, posted at the held amount (`on_unsettled` of the org). */
import type { Amounts } from '../../../kernel/limits.ts';
import { type Hold, runIdOf } from '../../../ledger/holds/hold.ts';
import type { Posting, RunUsage } from '../../../ledger/posting.ts';
import type { UnsettledRun } from '../../../ledger/postings/existing-records.ts';
import type { UnsettledRuns } from '../../../ledger/postings/unsettled-runs.ts';
import { scopeOf } from '../../../ledger/scope.ts';
import type { Transaction } from '../../../platform/db/database.ts';
import type { Ids } from '../../../platform/ids.ts';
import { findRunningRuns, findUnsettledRuns, type RunDraft, type RunRow, readPaid } from './queries.ts';

/** `modelsOfVersions` returns the models of price versions, read in the given transaction. */
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
      // The row has the sum, also if entries were deleted meanwhile.
      paid: { ...(await readPaid(tx, run.org_id, run.id)), uncovered: run.uncovered_nanos },
      usage: usageOf(run),
      reversalId: ids.next('ent'),
    };
  }

  return {
    async postingsFor(tx, orgId, holds) {
      const running = new Map<string, RunRow>();
      for (const run of await findRunningRuns(tx, orgId, holds)) {
        // Of several runs under one decision, the first takes the charge.
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

function draftExpiry(
  ids: Ids,
  hold: Hold,
  run: RunRow | undefined,
  pricedAs: string | null,
): Posting<RunDraft> {
  const common = {
    kind: 'expire',
    externalId: null,
    entryId: ids.next('ent'),
    decisionId: hold.id,
    holdSeconds: 0,
    atMs: hold.admittedAtMs,
    priceVersion: hold.priceVersion,
  } as const;
  if (run !== undefined) {
    return {
      ...common,
      runId: run.id,
      runExists: true,
      scope: scopeOf(run, run.key_id, run.chain_id),
      depth: run.depth,
      amounts: heldAmounts(hold, tokensOf(run)),
      usage: usageOf(run),
      run,
    };
  }
  return {
    ...common,
    runId: runIdOf(hold) ?? ids.next('run'),
    scope: hold.scope,
    depth: hold.depth ?? 1,
    amounts: heldAmounts(hold, 0n),
    usage: noUsage,
    run: {
      external_id: null,
      // How the call ended was not reported; the run can still be completed.
      status: 'running',
      key_id: hold.scope.key_id,
      model: hold.scope.model ?? unknownModel,
      served_model: null,
      parent_run_id: null,
      started_at: new Date(hold.admittedAtMs),
      finished_at: null,
      content: null,
      flagged_by: null,
      metadata: null,
      priced_as: pricedAs,
      service_tier: hold.service?.tier ?? null,
      region: hold.service?.region ?? null,
      cache_write_1h_tokens: null,
      units: null,
    },
  };
}

const unknownModel = 'unknown';

/** The held tokens are an estimate, which is not counted as usage. */
function heldAmounts({ amounts }: Hold, tokens: bigint): Amounts {
  return { ...amounts, tokens };
}

function tokensOf(run: RunRow): bigint {
  return run.input_tokens + run.output_tokens;
}

const noUsage: RunUsage = {
  status: 'running',
  inputTokens: 0n,
  cachedInputTokens: 0n,
  cacheWriteTokens: 0n,
  outputTokens: 0n,
  valueNanos: null,
  latencyMs: null,
};

/** Usage as it is counted while the run is unsettled: its value and latency are counted when it is settled. */
function usageOf(run: RunRow): RunUsage {
  return {
    ...noUsage,
    inputTokens: run.input_tokens,
    cachedInputTokens: run.cached_input_tokens,
    cacheWriteTokens: run.cache_write_tokens,
    outputTokens: run.output_tokens,
  };
}
