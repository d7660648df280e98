/** All sections, in the order in which they are applied and exported. */
import type { Section } from '../section.ts';
import { ipAllowList, keys, members, sso } from './access.ts';
import { connections, gateway } from './gateway.ts';
import { policies, routingPolicy, safetyDetectors } from './governance.ts';
import { budgets, chainBudget, customerLimits, rateLimits, spendCap } from './limits.ts';
import { org, retentionPolicy } from './org.ts';
import { prices, unpricedModels } from './prices.ts';
import { emailSubscriptions, webhooks } from './webhooks.ts';

export const sections: readonly Section[] = [
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
