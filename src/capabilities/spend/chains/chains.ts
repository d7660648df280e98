/** The chain budget: the maximum cost, depth and number of tokens of each chain of runs. */
import { WILDCARD } from '../../../kernel/limits.ts';
import { formatUsd } from '../../../kernel/money.ts';
import { endOnlyLimit, lockOrgLimits, putOnlyLimit } from '../../../ledger/limits/limit-changes.ts';
import { nanosOf } from '../../../ledger/limits/limit-fields.ts';
import { findLimits, type LimitRow } from '../../../ledger/limits/limits.ts';
import type { Queryable, Transaction } from '../../../platform/db/database.ts';
import type { Ids } from '../../../platform/ids.ts';
import type { ChainBudgetView, PutChainBudget } from './schema.ts';

const chainKinds = ['chain_cost', 'chain_depth', 'chain_tokens'] as const;
type ChainKind = (typeof chainKinds)[number];

/** The depth is not a sum of requests; it only has this unit because every limit needs one. */
const units = { chain_cost: 'usd', chain_depth: 'requests', chain_tokens: 'tokens' } as const;

export async function readChainBudget(db: Queryable, orgId: string): Promise<ChainBudgetView> {
  return viewChainBudget(await findLimits(db, orgId, chainKinds));
}

function viewChainBudget(rows: readonly LimitRow[]): ChainBudgetView {
  const capacities = new Map(rows.map(({ kind, capacity }) => [kind, capacity]));
  const [cost, depth, tokens] = chainKinds.map((kind) => capacities.get(kind));
  return {
    max_cost_usd: cost === undefined ? null : formatUsd(cost),
    max_depth: depth === undefined ? null : Number(depth),
    max_tokens: tokens === undefined ? null : Number(tokens),
  };
}

export interface ChainBudgetChange {
  readonly before: ChainBudgetView;
  readonly after: ChainBudgetView;
}

/** Replaces the chain budget. A limit whose value changes keeps its id, and with it the usage of running chains. */
export async function putChainBudget(
  tx: Transaction,
  ids: Ids,
  now: Date,
  orgId: string,
  { max_cost_usd = null, max_depth = null, max_tokens = null }: PutChainBudget,
): Promise<ChainBudgetChange> {
  await lockOrgLimits(tx, orgId);
  const before = await readChainBudget(tx, orgId);
  const capacities: Record<ChainKind, bigint | null> = {
    chain_cost: max_cost_usd === null ? null : nanosOf(max_cost_usd),
    chain_depth: max_depth === null ? null : BigInt(max_depth),
    chain_tokens: max_tokens === null ? null : BigInt(max_tokens),
  };
  for (const kind of chainKinds) {
    const capacity = capacities[kind];
    if (capacity === null) {
      await endOnlyLimit(tx, now, orgId, kind);
    } else {
      const wanted = { unit: units[kind], match: { chain_id: WILDCARD }, capacity };
      await putOnlyLimit(tx, ids, now, orgId, { kind, prefix: 'chn', wanted });
    }
  }
  return { before, after: await readChainBudget(tx, orgId) };
}
