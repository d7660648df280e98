export { holdSlug } from './former-slugs.ts';
export { changeOrg, viewOrg } from './orgs.ts';
export {
  findOrg,
  findOrgBySlug,
  lockOrg,
  type OrgRow,
  orgChanged,
  type ResidencyMode,
  touchDirectory,
} from './queries.ts';
export { orgRoutes } from './routes.ts';
export { PatchOrg, PutIpAllowList, region } from './schema.ts';
