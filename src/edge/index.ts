export { createDecisionFastPath } from './decision-fast-path.ts';
export { createFailOpenDecisions } from './fail-open-decisions.ts';
export { edgeRoutes } from './routes.ts';
