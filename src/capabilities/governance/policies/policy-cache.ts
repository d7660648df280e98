/** Cache of each org's enabled rules, compiled. */
import { NotifiedCache } from '../../../platform/cache/notified-cache.ts';
import type { Database } from '../../../platform/db/database.ts';
import { policiesChanged, selectPolicies } from './queries.ts';
import { type CompiledRule, compileRules } from './rules.ts';

const cachedOrgsMax = 10_000;

export interface PolicyCache {
  /** Returns the rules in evaluation order. Returns a promise only if they must be loaded. */
  rulesOf(orgId: string): readonly CompiledRule[] | Promise<readonly CompiledRule[]>;
  /** Returns true if the org has enabled rules. */
  hasPolicies(orgId: string): boolean | Promise<boolean>;
}

export function createPolicyCache(db: Database): PolicyCache {
  const load = async (orgId: string) =>
    compileRules((await selectPolicies(db, orgId)).filter(({ enabled }) => enabled));
  const cache = new NotifiedCache<readonly CompiledRule[]>(db, {
    maxEntries: cachedOrgsMax,
    onChange: policiesChanged.on,
    load,
  });
  return {
    rulesOf: (orgId) => cache.get(orgId),
    hasPolicies(orgId) {
      const rules = cache.get(orgId);
      return rules instanceof Promise ? rules.then(({ length }) => length > 0) : rules.length > 0;
    },
  };
}
