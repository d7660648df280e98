export type { Latency, UnpricedPolicy } from './listing.ts';
export {
  createModelCapabilities,
  type ModelCapabilities,
  type ModelCapabilitiesCache,
  noCapabilities,
} from './model-capabilities.ts';
export { createPrices, type ListedPrice, type PriceInForce, type Prices } from './prices.ts';
export { modelsOfVersions } from './queries.ts';
export {
  columnsOf,
  noRates,
  type RateColumns,
  rateColumns,
  rateFields,
  ratesOf,
  sameRates,
  viewColumns,
} from './rates.ts';
export { modelRoutes } from './routes.ts';
export {
  capabilityWords,
  modelLengthMax,
  type OnUnpriced,
  PutOrgPrice,
  regionWords,
  shownRates,
  unpricedTreatments,
  word,
} from './schema.ts';
export { seedModels } from './seed.ts';
