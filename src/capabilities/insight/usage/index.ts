export { type OrgUsage, sumByOrgs } from './by-org.ts';
export { findTimezone, sumUsage, type UsageGroup } from './queries.ts';
export { usageRoutes } from './routes.ts';
export { spanLabel, spanStarts } from './time-spans.ts';
