export { encryptedColumns } from './encrypted-columns.ts';
export { ssoPages } from './pages.ts';
export { requiresSso } from './queries.ts';
export { ssoRoutes } from './routes.ts';
export { ssoTestRoutes } from './test-routes.ts';
export { ssoTidying } from './tidying.ts';
