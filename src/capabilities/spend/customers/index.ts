export { viewCustomerLimit } from './customer-limits.ts';
export { customerRoutes } from './routes.ts';
export { CreateCustomerLimit } from './schema.ts';
