export { prepaidRoutes } from './routes.ts';
