export { type Contents, createContents, encryptedColumns } from './contents.ts';
export { emptyMonthsJob, registerRetentionMetrics, retentionJob } from './job.ts';
export { viewPolicy as viewRetentionPolicy } from './policies.ts';
export { findPolicy } from './queries.ts';
export { retentionRoutes } from './routes.ts';
export { defaults as retentionDefaults, PutRetentionPolicy } from './schema.ts';
