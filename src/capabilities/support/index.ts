export { createConsoleEntry } from './console-entry.ts';
export { admitsUnasked } from './grants.ts';
export { createImpersonation } from './impersonation.ts';
export { supportRoutes } from './routes.ts';
