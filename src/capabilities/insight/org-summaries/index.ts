export { summarizeOrgs } from './job.ts';
export { orgSummaryRoutes } from './routes.ts';
