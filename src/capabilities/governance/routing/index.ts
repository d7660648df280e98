export { createRoutingMemory } from './memory.ts';
export { routingRoutes } from './routes.ts';
