export { spendCapRoutes } from './routes.ts';
