/**
 * Executes batches of queued commands in transactions, and resolves each command with its result. If a batch fails, each org is
 * executed alone, and then each command. While the database is unavailable, all commands are rejected immediately.
 */
import { setImmediate } from 'node:timers/promises';
import { isLockTimeout, type Transaction } from '../../platform/db/database.ts';
import { ServiceUnavailable } from '../../platform/service-unavailable.ts';
import type { OrgLimitsCache } from '../limits/org-limits.ts';
import { NewRunsAssumption } from '../postings/new-runs-assumption.ts';
import type { LedgerResult } from './ledger-command.ts';
import { LedgerTransaction, type PostgresLedgerOptions } from './ledger-transaction.ts';
import { type LockedOrg, lockFreeOrgs, lockOrg, lockOrgs } from './lock-orgs.ts';
import type { BatchExecutor, QueuedOrg } from './org-queues.ts';

export class CommandBatches<Run> implements BatchExecutor<Run> {
  readonly #options: PostgresLedgerOptions<Run>;
  readonly #orgLimits: OrgLimitsCache;
  readonly #newRuns = new NewRunsAssumption();

  constructor(options: PostgresLedgerOptions<Run>, orgLimits: OrgLimitsCache) {
    this.#options = options;
    this.#orgLimits = orgLimits;
  }

  groupOf(orgId: string): number | undefined {
    return this.#options.db.tenantGroups.groupOf(orgId);
  }

  executeFree(batch: readonly QueuedOrg<Run>[]): Promise<readonly QueuedOrg<Run>[]> {
    return this.#tryBatch(batch, lockFreeOrgs);
  }

  executeSoon(batch: readonly QueuedOrg<Run>[]): Promise<readonly QueuedOrg<Run>[]> {
    return this.#tryBatch(batch, lockOrgs);
  }

  /**
   * Returns the orgs that still have to be executed: those that were not locked, or all orgs that were not rejected if the batch
   * failed.
   */
  async #tryBatch(
    batch: readonly QueuedOrg<Run>[],
    lock: (tx: Transaction, orgIds: readonly string[]) => Promise<LockedOrg[]>,
  ): Promise<readonly QueuedOrg<Run>[]> {
    const orgIds = batch.map(({ orgId }) => orgId);
    try {
      return await settle(batch, await this.#transact(batch, (tx) => lock(tx, orgIds)));
    } catch (error) {
      if (error instanceof ServiceUnavailable && !isLockTimeout(error)) {
        rejectAll(batch, error);
        return [];
      }
      return batch;
    }
  }

  async executeAlone(org: QueuedOrg<Run>, assumesNewRuns = true): Promise<void> {
    const { orgId, commands } = org;
    const lock = async (tx: Transaction) => [await lockOrg(tx, orgId)];
    try {
      await settle([org], await this.#transact([org], lock, assumesNewRuns ? this.#newRuns : undefined));
    } catch (error) {
      if (assumesNewRuns && this.#newRuns.hasFailed(error)) {
        await this.executeAlone(org, false);
        return;
      }
      if (commands.length === 1 || error instanceof ServiceUnavailable) {
        rejectAll([org], error);
        return;
      }
      // Retries each command separately, so that an error in one command does not fail the others.
      for (const command of commands) {
        await this.executeAlone({ orgId, commands: [command] });
      }
    }
  }

  #transact(
    batch: readonly QueuedOrg<Run>[],
    lock: (tx: Transaction) => Promise<LockedOrg[]>,
    newRuns?: NewRunsAssumption,
  ): Promise<ReadonlyMap<string, LedgerResult<Run>[]>> {
    const work = batch.map(({ orgId, commands }) => ({
      orgId,
      commands: commands.map(({ command }) => command),
    }));
    return this.#options.db.transaction(
      (tx) => new LedgerTransaction(this.#options, this.#orgLimits, tx, newRuns).run(() => lock(tx), work),
      { readsFirst: true },
    );
  }
}

/** Number of commands that are resolved in one turn of the event loop. Each of them continues with its response. */
const resolvedPerTurn = 16;

/** Resolves the commands of the orgs that have results. Returns the other orgs. */
async function settle<Run>(
  batch: readonly QueuedOrg<Run>[],
  results: ReadonlyMap<string, LedgerResult<Run>[]>,
): Promise<QueuedOrg<Run>[]> {
  let resolved = 0;
  for (const { orgId, commands } of batch.toSorted((a, b) => a.commands.length - b.commands.length)) {
    for (const [index, result] of (results.get(orgId) ?? []).entries()) {
      if (resolved > 0 && resolved % resolvedPerTurn === 0) {
        await setImmediate();
      }
      resolved += 1;
      commands[index]?.resolve(result);
    }
  }
  return batch.filter(({ orgId }) => !results.has(orgId));
}

function rejectAll<Run>(batch: readonly QueuedOrg<Run>[], error: unknown): void {
  for (const { reject } of batch.flatMap(({ commands }) => commands)) {
    reject(error);
  }
}
