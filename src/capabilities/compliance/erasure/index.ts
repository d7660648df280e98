export { createCustomerDigest } from './customer-digest.ts';
export { erasureJob } from './erasure.ts';
export { erasureRoutes } from './routes.ts';
