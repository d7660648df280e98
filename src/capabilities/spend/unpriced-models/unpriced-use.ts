/** Counts the runs of models without a price, in the transaction that posts them. */
import type { Posted } from '../../../ledger/posting.ts';
import type { Queryable } from '../../../platform/db/database.ts';
import type { Ids } from '../../../platform/ids.ts';
import { enqueueEvents, type OutgoingEvent } from '../../../platform/outbox/outbox.ts';
import { addUses, countRepriced, dropOldest, type ModelUse } from './queries.ts';

/** Maximum number of models per org. */
const modelsMax = 1_000;

const dayMs = 86_400_000;

export interface UnpricedUseDependencies {
  readonly ids: Ids;
  /** Returns true if a webhook of the org is subscribed to the event. Returns true also while that is unknown. */
  wants(orgId: string, type: 'model.unpriced'): boolean;
}

type PostedRun = Posted<{ readonly model: string; readonly served_model: string | null }>;

export async function recordUnpricedUse(
  tx: Queryable,
  deps: UnpricedUseDependencies,
  posted: readonly PostedRun[],
): Promise<void> {
  for (const one of posted) {
    if (isRepriced(one)) {
      await countRepriced(tx, one.orgId, modelOf(one));
    }
  }
  const unpriced = posted.filter(({ marks }) => marks.includes('unpriced'));
  if (unpriced.length === 0) {
    return;
  }
  const uses = usesOf(unpriced);
  const newlyUsed = new Set<string>();
  const events: OutgoingEvent[] = [];
  for (const { org_id, model, runs, used_before } of await addUses(tx, [...uses.values()])) {
    const use = uses.get(useKey(org_id, model));
    if (used_before === null) {
      newlyUsed.add(org_id);
    }
    if (use !== undefined && isFirstOfDay(use.atMs, used_before) && deps.wants(org_id, 'model.unpriced')) {
      events.push({
        id: deps.ids.next('evt'),
        tenantId: org_id,
        type: 'model.unpriced',
        createdAt: new Date(use.atMs),
        data: {
          model,
          run_id: use.runId,
          runs: Number(runs),
          used_before: used_before?.toISOString() ?? null,
        },
      });
    }
  }
  for (const orgId of newlyUsed) {
    await dropOldest(tx, orgId, modelsMax);
  }
  if (events.length > 0) {
    await enqueueEvents(tx, events);
  }
}

/** Returns true for a repricing. Nothing else sets the price of a posted run. */
function isRepriced({ posting: { kind, priceVersion } }: PostedRun): boolean {
  return kind === 'adjust' && priceVersion !== null;
}

/** Returns the model without a price, which may differ from that of the decision. */
function modelOf({ posting: { run } }: PostedRun): string {
  return run.served_model ?? run.model;
}

interface RunUse extends ModelUse {
  /** Id of the first of the runs. */
  readonly runId: string;
}

function usesOf(posted: readonly PostedRun[]): ReadonlyMap<string, RunUse> {
  const uses = new Map<string, RunUse>();
  for (const one of posted) {
    const { orgId, postedAtMs, posting } = one;
    const model = modelOf(one);
    const key = useKey(orgId, model);
    const use = uses.get(key) ?? {
      orgId,
      model,
      runs: 0n,
      inputTokens: 0n,
      outputTokens: 0n,
      atMs: postedAtMs,
      runId: posting.runId,
    };
    use.runs += 1n;
    use.inputTokens += posting.usage.inputTokens;
    use.outputTokens += posting.usage.outputTokens;
    uses.set(key, use);
  }
  return uses;
}

function useKey(orgId: string, model: string): string {
  return `${orgId} ${model}`;
}

/** Returns true for the first use on a UTC day. */
function isFirstOfDay(atMs: number, before: Date | null): boolean {
  return before === null || Math.floor(before.getTime() / dayMs) < Math.floor(atMs / dayMs);
}
