export { emptyRemovedOrgs } from './emptying.ts';
export { orgRemovalRoutes } from './routes.ts';
