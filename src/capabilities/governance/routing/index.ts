export { type DecisionDependencies, decideRoute } from './decisions.ts';
export { routingRoutes } from './routes.ts';
export { createRoutingCache } from './routing-cache.ts';
