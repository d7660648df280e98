export { createPrices, type PriceInForce, type Prices } from './prices.ts';
export { modelRoutes } from './routes.ts';
export { seedModels } from './seed.ts';
