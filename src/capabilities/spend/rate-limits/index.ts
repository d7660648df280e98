export { rateLimitRoutes } from './routes.ts';
