export type { Latency } from './listing.ts';
export {
  createModelCapabilities,
  type ModelCapabilities,
  type ModelCapabilitiesCache,
  noCapabilities,
} from './model-capabilities.ts';
export { createPrices, type ListedPrice, type PriceInForce, type Prices } from './prices.ts';
export { modelsOfVersions } from './queries.ts';
export { modelRoutes } from './routes.ts';
export { capabilityWords, regionWords, word } from './schema.ts';
export { seedModels } from './seed.ts';
