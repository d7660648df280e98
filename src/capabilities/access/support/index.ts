export { createConsoleEntry } from './console-entry.ts';
export { admitsWithoutApproval } from './grants.ts';
export { createImpersonation } from './impersonation.ts';
export { removeOldAccess } from './removal.ts';
export { supportRoutes } from './routes.ts';
