export { createBlockedEvents } from './blocked-events.ts';
export { type Attempt, attemptFrom } from './expression-input.ts';
export { createPolicyMemory, type PolicyMemory } from './policy-cache.ts';
export { createPolicyGate, type Objection, type PolicyCheck } from './policy-check.ts';
export { policyRoutes } from './routes.ts';
export type { PastRun } from './simulation.ts';
