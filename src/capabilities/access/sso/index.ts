export { defaultJustInTime, isStoredSecret } from './connection.ts';
export { encryptedColumns } from './encrypted-columns.ts';
export { ssoPages } from './pages.ts';
export { findConnection, requiresSso } from './queries.ts';
export { ssoRoutes } from './routes.ts';
export { PutSso } from './schema.ts';
export { ssoTestRoutes } from './test-routes.ts';
export { ssoTidying } from './tidying.ts';
