/** `@purser/client`: for Node, browsers and edge runtimes. `@purser/client/node` adds the spool on disk and `withRun`. */
export type { FailMode } from './admission.ts';
export type { Attribution, ContextStorage } from './attribution.ts';
export { PurserApiError, PurserConnectionError, PurserError, PurserTimeoutError } from './errors.ts';
export type { Api } from './generated/api.ts';
export type * from './generated/types.ts';
export type { GuardedCall, GuardRequest, RunUsage } from './guard.ts';
export { createPurser, type Purser, type PurserOptions, type WrapOptions } from './purser.ts';
export type { ListRequest, RequestOptions } from './request-options.ts';
export type { ClientErrorContext, ErrorHook } from './settlements.ts';
export { type Settlement, type Spool, SpoolFullError } from './spool.ts';
