export { supersedeForOperator } from './changes.ts';
export { registerPriceMetrics } from './metrics.ts';
export { priceUpdateRoutes } from './routes.ts';
export type { PriceUpdateView } from './schema.ts';
