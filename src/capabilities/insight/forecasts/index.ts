export { exhaustionWatch } from './exhaustion-watch.ts';
export { forecastRoutes } from './routes.ts';
