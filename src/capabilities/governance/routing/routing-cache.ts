/** Cache of each org's routing policy and its relevant eval results. */
import type { Evaluated } from '../../../kernel/routing.ts';
import { NotifiedCache } from '../../../platform/cache/notified-cache.ts';
import type { Database } from '../../../platform/db/database.ts';
import { findRoutingPolicy, newestEvals, type RoutingPolicyRow, routingChanged } from './queries.ts';

const cachedOrgsMax = 2_000;

export interface OrgRouting {
  /** The routing policy; undefined if the org has none. */
  readonly policy: RoutingPolicyRow | undefined;
  /** Eval results by model. */
  readonly evaluated: ReadonlyMap<string, Evaluated>;
}

export type RoutingCache = (orgId: string) => OrgRouting | Promise<OrgRouting>;

export function createRoutingCache(db: Database): RoutingCache {
  async function load(orgId: string): Promise<OrgRouting> {
    const policy = await findRoutingPolicy(db, orgId);
    const rows = policy === undefined ? [] : await newestEvals(db, orgId, policy.suite);
    return {
      policy,
      evaluated: new Map(
        rows.map(({ model, score_millionths, samples, ran_at }) => [
          model,
          { scoreMillionths: score_millionths, samples, ranAtMs: ran_at.getTime() },
        ]),
      ),
    };
  }
  const cache = new NotifiedCache(db, { maxEntries: cachedOrgsMax, onChange: routingChanged.on, load });
  return (orgId) => cache.get(orgId);
}
