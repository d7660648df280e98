export { type Contents, createContents, encryptedColumns } from './contents.ts';
export { emptyMonthsJob, registerRetentionMetrics, retentionJob } from './job.ts';
export { findPolicy } from './queries.ts';
export { retentionRoutes } from './routes.ts';
