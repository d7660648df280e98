export { driftWatch } from './drift-watch.ts';
export { ledgerRoutes } from './routes.ts';
