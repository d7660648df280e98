export { onOrgChange } from './notices.ts';
export { findOrg, lockOrg, type OrgRow } from './queries.ts';
export { orgRoutes } from './routes.ts';
