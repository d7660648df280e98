export { readChainBudget } from './chains.ts';
export { chainRoutes } from './routes.ts';
export { PutChainBudget } from './schema.ts';
