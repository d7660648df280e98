export { type CallPrices, createCallPrices, isDefaultRates, unpricedAtNoCost } from './call-prices.ts';
export { findUnpricedPolicy, listUnpricedModels } from './queries.ts';
export { unpricedModelRoutes } from './routes.ts';
export { PutUnpricedPolicy } from './schema.ts';
export { viewUnpricedPolicy } from './unpriced-policies.ts';
export { recordUnpricedUse } from './unpriced-use.ts';
