export {
  type Catalog,
  type CatalogModel,
  type CatalogRates,
  catalogFile,
  readCatalog,
  sourceOf,
} from './catalog.ts';
export { priceOf } from './catalog-price.ts';
export { catalogPriceErrors } from './catalog-price-errors.ts';
export { CatalogDocument, catalogModelsMax, catalogValuesMax } from './catalog-schema.ts';
export {
  describeModels,
  hasRoom,
  insertListPrices,
  type ListPrices,
  loadListPrices,
  type NewListPrice,
} from './list-prices.ts';
export type { Latency, UnpricedPolicy } from './listing.ts';
export {
  createModelCapabilities,
  type ModelCapabilities,
  type ModelCapabilitiesCache,
  noCapabilities,
} from './model-capabilities.ts';
export { followsUpdates, invalidForm, modelNameForm, viewModelPrice } from './models.ts';
export { mostExpensive } from './most-expensive.ts';
export { viewOrgPrice } from './org-prices.ts';
export { priceColumnsOf, viewPriceColumns } from './price-columns.ts';
export { createPrices, isOrgPrice, type ListedPrice, type PriceInForce, type Prices } from './prices.ts';
export {
  allOrgVersions,
  lockAllModels,
  lockModel,
  type ModelPriceRow,
  modelsOfVersions,
  pricesStoredAt,
} from './queries.ts';
export {
  columnsOf,
  noRates,
  type PriceRequest,
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
export { shownAt } from './versions.ts';
