export { createToolCredentials } from './credentials.ts';
export { endSignIns } from './ending.ts';
export { memberAccessChanged } from './queries.ts';
export { toolSignInRoutes } from './routes.ts';
export { createToolSignIns, type IssuedTokens, mayUseTools, type ToolSignIns } from './sign-ins.ts';
export { toolSignInTidying } from './tidying.ts';
