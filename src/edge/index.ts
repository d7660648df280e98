export { createDegraded } from './degraded.ts';
export { createFastPath } from './fast-path.ts';
export { edgeRoutes } from './routes.ts';
