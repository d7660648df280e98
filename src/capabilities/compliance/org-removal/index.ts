export { purgeRemovedOrgs } from './purge.ts';
export { orgRemovalRoutes } from './routes.ts';
