export { createBulkThrottle } from './bulk-throttle.ts';
export { completeRun } from './complete-run.ts';
export { createRun } from './create-runs.ts';
export type { RunCall, RunDependencies } from './dependencies.ts';
export { draftRecorded } from './draft-run.ts';
export { enqueueRunEvents } from './events.ts';
export { createLatencies } from './latencies.ts';
export { lastRuns } from './past-runs.ts';
export { statedCost, type TriedUsage } from './price-run.ts';
export { type RunDraft, readPaid, writeRuns } from './queries.ts';
export { moveRunsToHolds } from './readmitted-runs.ts';
export { type RecordedRun, type ReportedRun, recordRuns } from './record-runs.ts';
export { expiredResponsesJob, findResponseOwner, isResponseId, type ResponseOwner } from './responses.ts';
export { type RunRouteDependencies, runRoutes } from './routes.ts';
export { createRunDigest } from './run-digest.ts';
export { type CompleteRun, type CreateRun, finishedStatuses } from './schema.ts';
export { type CallPosting, draftCall, type EndedCall, settleCalls } from './settle-call.ts';
export {
  type InProgress,
  type KeyedCall,
  KeyInUse,
  type StartedRun,
  startRun,
  type UncertainStart,
} from './start-run.ts';
export { createUnsettledRuns } from './unsettled-runs.ts';
