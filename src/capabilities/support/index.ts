export { createImpersonation } from './impersonation.ts';
export { supportRoutes } from './routes.ts';
