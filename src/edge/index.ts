export { createDecisionFastPath } from './decision-fast-path.ts';
export { createFailOpenDecisions, type FailOpenDecisions } from './fail-open-decisions.ts';
export { createLastKnownPrices } from './last-known-prices.ts';
export { edgeRoutes } from './routes.ts';
