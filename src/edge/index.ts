export { createFailOpenDecisions } from './degraded.ts';
export { createDecisionFastPath } from './fast-path.ts';
export { edgeRoutes } from './routes.ts';
