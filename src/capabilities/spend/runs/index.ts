export { enqueueRunEvents } from './events.ts';
export { createLatencies } from './latencies.ts';
export { lastRuns } from './past-runs.ts';
export { type RunDraft, readPaid, writeRuns } from './queries.ts';
export { type RunRouteDependencies, runRoutes } from './routes.ts';
export { createRunDigest } from './run-digest.ts';
export { finishedStatuses } from './schema.ts';
export { createUnsettledRuns } from './unsettled-runs.ts';
