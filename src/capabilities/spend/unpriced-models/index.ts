export { type CallPrices, createCallPrices, isDefaultRates, unpricedAtNoCost } from './call-prices.ts';
export { listUnpricedModels } from './queries.ts';
export { unpricedModelRoutes } from './routes.ts';
export { recordUnpricedUse } from './unpriced-use.ts';
