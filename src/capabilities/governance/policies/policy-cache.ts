/**
 * The enabled rules of each org, compiled, remembered until a notice says that they changed. While notices may be missing,
 * nothing that was remembered is believed.
 */

import { createNotifiedCache } from '../../../platform/cache/notified-cache.ts';
import type { Database } from '../../../platform/db/database.ts';
import { onPoliciesChange } from './change-notifications.ts';
import { selectPolicies } from './queries.ts';
import { type CompiledRule, compileRules } from './rules.ts';

const rememberedOrgsMax = 10_000;

export interface PolicyMemory {
  /** In the order in which they are looked at. A promise only where they have to be read first. */
  rulesOf(orgId: string): readonly CompiledRule[] | Promise<readonly CompiledRule[]>;
  /** Whether a rule could have a say in requests of the org. */
  isGoverned(orgId: string): boolean | Promise<boolean>;
}

export function createPolicyMemory(db: Database): PolicyMemory {
  const read = async (orgId: string) =>
    compileRules((await selectPolicies(db, orgId)).filter(({ enabled }) => enabled));
  const orgs = createNotifiedCache<readonly CompiledRule[]>(db, rememberedOrgsMax, read);
  onPoliciesChange(db, (orgId) => orgs.invalidate(orgId));

  const rulesOf: PolicyMemory['rulesOf'] = (orgId) =>
    db.notificationsHealthy() ? orgs.get(orgId) : read(orgId);
  return {
    rulesOf,
    isGoverned(orgId) {
      const rules = rulesOf(orgId);
      return rules instanceof Promise ? rules.then(({ length }) => length > 0) : rules.length > 0;
    },
  };
}
