export { chainRoutes } from './routes.ts';
