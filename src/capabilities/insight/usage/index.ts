export { type OrgUsage, sumByOrgs } from './by-org.ts';
export { findTimezone, sumUsage, type UsageGroup } from './queries.ts';
export { usageRoutes } from './routes.ts';
export { beginnings, labelOf } from './time-spans.ts';
