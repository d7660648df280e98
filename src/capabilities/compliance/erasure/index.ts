export { erasureJob } from './erasure.ts';
export { erasureRoutes } from './routes.ts';
