/** Attribution of calls: to whom a call is charged, carried through asynchronous code by a context storage. */
import { PurserError } from './errors.ts';
import type { DecisionRequest } from './generated/types.ts';

export interface Attribution {
  readonly customer?: string;
  readonly chain?: string;
  readonly member?: string;
  readonly team?: string;
  readonly department?: string;
  readonly workflow?: string;
  readonly deployment?: string;
  readonly action?: string;
  readonly project?: string;
  readonly tags?: Readonly<Record<string, string>>;
}

/** The part of `AsyncLocalStorage` that is used. */
export interface ContextStorage {
  run<Result>(attribution: Attribution, fn: () => Result): Result;
  getStore(): Attribution | undefined;
}

/** Inner values replace outer ones; tags are merged. */
export function merged(...levels: readonly (Attribution | undefined)[]): Attribution {
  const tags = Object.assign({}, ...levels.map((level) => level?.tags));
  return { ...Object.assign({}, ...levels), ...(Object.keys(tags).length > 0 && { tags }) };
}

type AttributionFields = Pick<
  DecisionRequest,
  | 'customer_id'
  | 'chain_id'
  | 'member_id'
  | 'team'
  | 'department'
  | 'workflow'
  | 'deployment'
  | 'action'
  | 'project'
  | 'tags'
>;

/** Returns the fields of decisions and runs. */
export function attributionFields({ customer, chain, member, ...rest }: Attribution): AttributionFields {
  return {
    ...rest,
    ...(customer !== undefined && { customer_id: customer }),
    ...(chain !== undefined && { chain_id: chain }),
    ...(member !== undefined && { member_id: member }),
  };
}

/** Returns the storage of the runtime, where it has a global one. */
export function globalContextStorage(): ContextStorage | undefined {
  const { AsyncLocalStorage } = globalThis as { AsyncLocalStorage?: new () => ContextStorage };
  return AsyncLocalStorage === undefined ? undefined : new AsyncLocalStorage();
}

export const noContextStorage: ContextStorage = {
  run() {
    throw new PurserError(
      'withRun needs AsyncLocalStorage. In Node, import from `@purser/client/node`; elsewhere pass `attribution` to wrap and guard.',
    );
  },
  getStore: () => undefined,
};
