/** The routing policy, of which an org has at most one. */
import { found, invalidField } from '../../../contract/api-error.ts';
import type { Queryable, Transaction } from '../../../platform/db/database.ts';
import { lockOrg } from '../../access/orgs/index.ts';
import {
  deleteRoutingPolicy,
  findRoutingPolicy,
  type RoutingPolicyRow,
  routingChanged,
  upsertRoutingPolicy,
} from './queries.ts';
import type { PutRoutingPolicy, RoutingPolicyView } from './schema.ts';
import { millionthsOf, scoreOf } from './scores.ts';

const noPolicy = 'The organization has no routing policy.';

export function viewRoutingPolicy(row: RoutingPolicyRow): RoutingPolicyView {
  const [cost = 0n, latency = 0n, quality = 0n] = row.weights ?? [];
  return {
    candidates: [...row.candidates],
    suite: row.suite,
    min_score: scoreOf(row.min_score_millionths),
    min_samples: Number(row.min_samples),
    max_age_days: Number(row.max_age_days),
    objective: row.objective,
    weights: row.weights && { cost: Number(cost), latency: Number(latency), quality: Number(quality) },
    fallbacks: [...row.fallbacks],
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  };
}

export async function requireRoutingPolicy(db: Queryable, orgId: string): Promise<RoutingPolicyRow> {
  return found(await findRoutingPolicy(db, orgId), noPolicy);
}

export interface RoutingPolicyChange {
  readonly before: RoutingPolicyRow | undefined;
  readonly after: RoutingPolicyRow;
}

/** Replaces the policy. Fields that are left out are reset to their defaults. */
export async function putRoutingPolicy(
  tx: Transaction,
  orgId: string,
  now: Date,
  body: PutRoutingPolicy,
): Promise<RoutingPolicyChange> {
  const weights = weightsOf(body);
  checkFallbacks(body.fallbacks ?? []);
  await lockOrg(tx, orgId);
  const before = await findRoutingPolicy(tx, orgId, 'lock');
  const after: RoutingPolicyRow = {
    org_id: orgId,
    candidates: unique(body.candidates),
    fallbacks: unique(body.fallbacks ?? []),
    suite: body.suite,
    min_score_millionths: millionthsOf(body.min_score),
    min_samples: BigInt(body.min_samples ?? 1),
    max_age_days: BigInt(body.max_age_days),
    objective: body.objective,
    weights,
    created_at: before?.created_at ?? now,
    updated_at: now,
  };
  await upsertRoutingPolicy(tx, after);
  await routingChanged.notify(tx, orgId);
  return { before, after };
}

/** Returns the removed policy. */
export async function removeRoutingPolicy(tx: Transaction, orgId: string): Promise<RoutingPolicyRow> {
  const row = found(await findRoutingPolicy(tx, orgId, 'lock'), noPolicy);
  await deleteRoutingPolicy(tx, orgId);
  await routingChanged.notify(tx, orgId);
  return row;
}

function weightsOf({ weights }: PutRoutingPolicy): bigint[] | null {
  if (weights === undefined) {
    return null;
  }
  const { cost = 0, latency = 0, quality = 0 } = weights;
  if (cost + latency + quality === 0) {
    throw invalidField('weights', 'out_of_range', 'At least one weight must be greater than 0.');
  }
  return [cost, latency, quality].map(BigInt);
}

/** Rejects wildcards: fallbacks are used in order, and matches of a pattern have no order. */
function checkFallbacks(fallbacks: readonly string[]): void {
  const wild = fallbacks.findIndex((name) => name.includes('*'));
  if (wild !== -1) {
    throw invalidField(`fallbacks[${wild}]`, 'invalid_value', 'Wildcards are not allowed in fallbacks.');
  }
}

function unique(names: readonly string[]): string[] {
  return [...new Set(names)];
}
