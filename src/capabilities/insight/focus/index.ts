export { focusRoutes } from './routes.ts';
