export { routingRoutes } from './routes.ts';
export { createRoutingCache } from './routing-cache.ts';
