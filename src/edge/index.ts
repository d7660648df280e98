export { edgeRoutes } from './routes.ts';
