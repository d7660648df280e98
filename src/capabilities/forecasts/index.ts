export { forecastRoutes } from './routes.ts';
