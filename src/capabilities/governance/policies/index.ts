export { createBlockedEvents } from './blocked-events.ts';
export { type Attempt, attemptFrom } from './expression-input.ts';
export { createPolicyCache, type PolicyCache } from './policy-cache.ts';
export { createPolicyCheck, type PolicyCheck, type PolicyDenial } from './policy-check.ts';
export { findPoliciesEvenDeleted } from './queries.ts';
export { policyRoutes } from './routes.ts';
export type { PastRun } from './simulation.ts';
