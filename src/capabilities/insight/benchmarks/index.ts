export { benchmarkRoutes } from './routes.ts';
