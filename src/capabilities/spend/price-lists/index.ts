export { withAliases } from './dated-names.ts';
export { clean, type FieldProblem } from './fields.ts';
export { withHostAliases } from './host-aliases.ts';
export { litellmModels } from './litellm.ts';
export {
  InvalidPriceList,
  type PriceList,
  type PriceListFormat,
  type PriceListOptions,
  priceListFormats,
  readPriceList,
} from './price-list.ts';
export { hostProviders, ownProviders, type SkipReason, skipReasons } from './selection.ts';
