export { spendCapRoutes } from './routes.ts';
export { PutSpendCap } from './schema.ts';
export { viewSpendCap } from './spend-caps.ts';
