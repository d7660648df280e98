export { type Attempt, type Attempts, createAttempts, recordAttempt } from './attempts.ts';
export { dailyCheckpoints } from './checkpoints.ts';
export { checkExport } from './export-check.ts';
export { type Actor, recordChange } from './journal.ts';
export { redactEntries, renamedPath } from './redaction.ts';
export { refusedAttempt } from './refused-calls.ts';
export { removeOldEntries } from './removal.ts';
export { auditRoutes } from './routes.ts';
export { openSigner, type Signer } from './signing.ts';
