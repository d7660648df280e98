/** `@purser/client/node`: the client with `withRun` and a spool on disk. */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { Attribution } from './attribution.ts';
import { createDiskSpool, type DiskSpoolOptions } from './disk-spool.ts';
import {
  type PurserOptions as CoreOptions,
  createPurser as createCorePurser,
  type Purser,
} from './purser.ts';

export type { DiskSpoolOptions } from './disk-spool.ts';
export * from './index.ts';

export interface PurserOptions extends Omit<CoreOptions, 'spool' | 'contextStorage'> {
  /** Directory of the spool, or its options. Default: the environment variable `PURSER_SPOOL`, or none. */
  readonly spool?: string | DiskSpoolOptions;
}

/** One for all clients, so that `withRun` of any client applies to the calls of all of them. */
const contextStorage = new AsyncLocalStorage<Attribution>();

export function createPurser({ spool, ...options }: PurserOptions = {}): Purser {
  const place = spool ?? (process.env.PURSER_SPOOL || undefined);
  return createCorePurser({
    ...options,
    contextStorage,
    ...(place !== undefined && {
      spool: createDiskSpool(typeof place === 'string' ? { directory: place } : place),
    }),
  });
}

let shared: Purser | undefined;

/** The client that the environment describes: `PURSER_URL`, `PURSER_KEY`, `PURSER_FAIL_MODE`, `PURSER_TIMEOUT_MS`, `PURSER_SPOOL`. */
export function purser(): Purser {
  shared ??= createPurser();
  return shared;
}

export const wrap: Purser['wrap'] = (client, options) => purser().wrap(client, options);
export const guard: Purser['guard'] = (request, fn) => purser().guard(request, fn);
export const withRun: Purser['withRun'] = (attribution, fn) => purser().withRun(attribution, fn);
