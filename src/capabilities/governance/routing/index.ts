export { type DecisionDependencies, decideRoute } from './decisions.ts';
export { findRoutingPolicy } from './queries.ts';
export { routingRoutes } from './routes.ts';
export { createRoutingCache } from './routing-cache.ts';
export { viewRoutingPolicy } from './routing-policy.ts';
export { PutRoutingPolicy } from './schema.ts';
