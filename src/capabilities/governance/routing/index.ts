export { routingRoutes } from './routes.ts';
export { createRoutingMemory } from './routing-cache.ts';
