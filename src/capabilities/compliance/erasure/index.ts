export { createCustomerDigest } from './customer-digest.ts';
export { encryptedColumns } from './encrypted-columns.ts';
export { erasureJob } from './erasure.ts';
export { erasureRoutes } from './routes.ts';
