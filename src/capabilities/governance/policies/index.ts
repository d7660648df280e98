export { createBlockedEvents } from './blocked-events.ts';
export { attemptFrom, type PolicyInput } from './expression-input.ts';
export { viewPolicy } from './policies.ts';
export { createPolicyCache, type PolicyCache } from './policy-cache.ts';
export { createPolicyCheck, type PolicyCheck, type PolicyDenial } from './policy-check.ts';
export { findPoliciesEvenDeleted, selectPolicies } from './queries.ts';
export { policyRoutes } from './routes.ts';
export { CreatePolicy, rulesPerOrgMax } from './schema.ts';
export type { SimulatedRun } from './simulation.ts';
