/** All sections, in the order in which they are applied and exported. */

import { ipAllowList, keys, members, sso } from './access-sections.ts';
import { connections, gateway } from './gateway-sections.ts';
import { policies, routingPolicy, safetyDetectors } from './governance-sections.ts';
import { budgets, chainBudget, customerLimits, rateLimits, spendCap } from './limit-sections.ts';
import { org, retentionPolicy } from './org-sections.ts';
import { prices, unpricedModels } from './price-sections.ts';
import type { FileSection } from './section.ts';
import { emailSubscriptions, webhooks } from './subscription-sections.ts';

export const sections: readonly FileSection[] = [
  org,
  budgets,
  spendCap,
  chainBudget,
  customerLimits,
  rateLimits,
  prices,
  unpricedModels,
  policies,
  safetyDetectors,
  routingPolicy,
  connections,
  gateway,
  webhooks,
  emailSubscriptions,
  retentionPolicy,
  // A link that signs a member in is not created if single sign-on is required.
  sso,
  members,
  keys,
  ipAllowList,
];
