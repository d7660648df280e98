export { createBlockedEvents } from './blocked-events.ts';
export { type Attempt, attemptFrom } from './facts.ts';
export { createPolicyGate, type Objection, type PolicyGate } from './gate.ts';
export { createPolicyMemory, type PolicyMemory } from './memory.ts';
export { policyRoutes } from './routes.ts';
export type { PastRun } from './simulation.ts';
