export { notifyOrgChanged, onOrgChange } from './change-notifications.ts';
export { holdSlug } from './former-slugs.ts';
export { changeOrg, viewOrg } from './orgs.ts';
export {
  findOrg,
  findOrgBySlug,
  lockOrg,
  type OrgRow,
  type ResidencyMode,
  touchDirectory,
} from './queries.ts';
export { orgRoutes } from './routes.ts';
export { PatchOrg, PutIpAllowList, region } from './schema.ts';
