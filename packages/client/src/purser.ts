/** The client: the operations of the API, `guard`, `wrap` and `withRun`. Uses Web APIs only. */
import { type AdmissionOptions, decide, type FailMode, increase } from './admission.ts';
import { createApi } from './api.ts';
import {
  type Attribution,
  attributionFields,
  type ContextStorage,
  globalContextStorage,
  merged,
  noContextStorage,
} from './attribution.ts';
import { defaultUnseenTokens } from './estimate.ts';
import type { Api } from './generated/api.ts';
import type { DecisionRequest } from './generated/types.ts';
import { type GuardedCall, type GuardRequest, guardCall } from './guard.ts';
import type { MeterOptions } from './meter-options.ts';
import type { RequestOptions } from './request-options.ts';
import { createSettlements, type ErrorHook } from './settlements.ts';
import type { Spool } from './spool.ts';
import { createTransport } from './transport.ts';
import { wrapSdk } from './wrap.ts';

export interface PurserOptions {
  /** Address of the service, without `/v1`. Default: the environment variable `PURSER_URL`, or `http://localhost:8080`. */
  readonly url?: string;
  /** Key of the API. Default: the environment variable `PURSER_KEY`. */
  readonly key?: string;
  /** The behavior of `guard` and `wrap` while Purser is unavailable. Default: the environment variable `PURSER_FAIL_MODE`, or `closed`. */
  readonly failMode?: FailMode;
  /** Time for a decision of `guard` and `wrap`. Default: the environment variable `PURSER_TIMEOUT_MS`, or 250. */
  readonly timeoutMs?: number;
  /** Time for one attempt of any other request. Default: 10,000. */
  readonly requestTimeoutMs?: number;
  /** Number of further attempts of a request. Default: 2. */
  readonly maxRetries?: number;
  /** Attribution of every call of `guard` and `wrap`. */
  readonly attribution?: Attribution;
  /** Called if something fails in the background. Default: a warning on the console. */
  readonly onError?: ErrorHook;
  /** Settlements that may wait for Purser in memory. Default: 10,000. */
  readonly pendingMax?: number;
  readonly fetch?: typeof fetch;
  readonly spool?: Spool;
  readonly contextStorage?: ContextStorage;
}

export interface WrapOptions extends Partial<MeterOptions> {
  /** Attribution of the calls of this SDK. That of `withRun` wins. */
  readonly attribution?: Attribution;
}

export interface RawRequest extends RequestOptions {
  readonly query?: object;
  readonly body?: unknown;
}

export interface Purser extends Api {
  /**
   * Decides, calls `fn`, and settles what it used; voids the decision if `fn` throws. Throws a `PurserApiError` if the call is denied.
   * The usage is that of the response of OpenAI or Anthropic that `fn` returns, or what `call.used` was given.
   */
  guard<Result>(
    request: GuardRequest,
    fn: (call: GuardedCall) => Result | PromiseLike<Result>,
  ): Promise<Result>;
  /** Returns the SDK with every call admitted and settled: `wrap(new OpenAI())`. */
  wrap<Client extends object>(client: Client, options?: WrapOptions): Client;
  /** Calls `fn`. All calls in it, however deep, have this attribution. */
  withRun<Result>(attribution: Attribution, fn: () => Result): Result;
  /** Sends a request to a path such as `/v1/runs`, and returns the response. */
  request(method: string, path: string, request?: RawRequest): Promise<Response>;
  /** Resolves once all settlements are posted. Call it before the process ends. */
  flush(): Promise<void>;
  /** Stops posting. Settlements in the spool are posted by the next process. */
  close(): void;
}

export function createPurser(options: PurserOptions = {}): Purser {
  const onError = options.onError ?? warn;
  const transport = createTransport({
    url: options.url ?? environment('PURSER_URL') ?? 'http://localhost:8080',
    key: requiredKey(options.key ?? environment('PURSER_KEY')),
    requestTimeoutMs: options.requestTimeoutMs ?? 10_000,
    maxRetries: options.maxRetries ?? 2,
    fetch: options.fetch ?? ((...request) => fetch(...request)),
  });
  const { spool, pendingMax = 10_000 } = options;
  const settlements = createSettlements({ transport, spool, pendingMax, onError: safely(onError) });
  const storage = options.contextStorage ?? globalContextStorage() ?? noContextStorage;
  const admission: AdmissionOptions = {
    transport,
    timeoutMs: timeoutOf(options.timeoutMs ?? environment('PURSER_TIMEOUT_MS') ?? 250),
    failMode: failModeOf(options.failMode ?? environment('PURSER_FAIL_MODE') ?? 'closed'),
    onError: safely(onError),
    abandon: settlements.abandon,
  };
  const dependencies = (attribution?: Attribution) => {
    const attributed = (request: DecisionRequest): DecisionRequest => {
      const fields = attributionFields(merged(options.attribution, attribution, storage.getStore()));
      const tags = { ...fields.tags, ...request.tags };
      return { ...fields, ...request, ...(Object.keys(tags).length > 0 && { tags }) };
    };
    return {
      attributed,
      decide: (request: DecisionRequest, signal?: AbortSignal) =>
        decide(admission, attributed(request), signal),
      increase: (decisionId: string, outputTokens: number, withinMs: number) =>
        increase(admission, decisionId, outputTokens, withinMs),
      settle: settlements.settle,
      void: settlements.void,
    };
  };
  return {
    ...createApi(transport),
    guard: (request, fn) => {
      const deps = dependencies();
      return guardCall(deps, deps.attributed(request), fn);
    },
    wrap: (client, { attribution, ...more } = {}) =>
      wrapSdk(dependencies(attribution), client, { ...meterDefaults, ...more }),
    withRun: (attribution, fn) => storage.run(merged(storage.getStore(), attribution), fn),
    request: (method, path, request) => transport.open({ method, path, ...request }),
    flush: settlements.flush,
    close: settlements.close,
  };
}

const meterDefaults: MeterOptions = {
  defaultMaxOutputTokens: 8_192,
  unseenInputTokens: defaultUnseenTokens,
  maxToolCalls: 10,
  unpricedTools: 'refuse',
  hold: 'worst_case',
  holdLeadMs: 2_000,
  plainCalls: 'as_sent',
  onAbort: 'drain',
};

/** A timer takes no more. */
const timeoutMsMax = 2_147_483_647;

function environment(name: string): string | undefined {
  const { process } = globalThis as { process?: { env?: Record<string, string | undefined> } };
  return process?.env?.[name] || undefined;
}

function requiredKey(key: string | undefined): string {
  if (key === undefined) {
    throw new TypeError('The client needs a key: pass `key`, or set PURSER_KEY.');
  }
  return key;
}

function failModeOf(mode: string): FailMode {
  if (mode !== 'open' && mode !== 'closed') {
    throw new TypeError('The fail mode must be `open` or `closed`.');
  }
  return mode;
}

function timeoutOf(value: number | string): number {
  const ms = Number(value);
  if (!(ms > 0 && ms <= timeoutMsMax)) {
    throw new TypeError(`The timeout must be a number of milliseconds up to ${timeoutMsMax}.`);
  }
  return ms;
}

/** An error of the hook must not break a call. */
function safely(hook: ErrorHook): ErrorHook {
  return (error, context) => {
    try {
      hook(error, context);
    } catch {
      // There is no one left to report to.
    }
  };
}

const warn: ErrorHook = (error, { operation }) => {
  // biome-ignore lint/suspicious/noConsole: cost that is not recorded must not be lost silently
  console.warn(`Purser: ${operation} failed: ${error instanceof Error ? error.message : String(error)}`);
};
