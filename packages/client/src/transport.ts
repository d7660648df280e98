/** Sends requests to the API: authentication, timeouts, and retries that have no second effect. */
import { PurserApiError, PurserConnectionError, type PurserError, PurserTimeoutError } from './errors.ts';
import type { ErrorCodeName } from './generated/types.ts';
import type { RequestOptions } from './request-options.ts';

export interface TransportOptions {
  /** Address of the service, without `/v1`. */
  readonly url: string;
  readonly key: string;
  readonly requestTimeoutMs: number;
  readonly maxRetries: number;
  readonly fetch: typeof fetch;
}

export interface ApiRequest extends RequestOptions {
  readonly method: string;
  /** Path below the address of the service, such as `/v1/runs`. */
  readonly path: string;
  readonly query?: object | undefined;
  readonly body?: unknown;
  /** Time for all attempts together. Default: no bound. */
  readonly deadlineMs?: number;
}

export interface Transport {
  /** Returns the JSON of a response of status 2xx; undefined if it is empty. Throws a `PurserError` otherwise. */
  send(request: ApiRequest): Promise<unknown>;
  /** Returns the response itself, with its body unread. Its timeout ends with its headers. */
  open(request: ApiRequest): Promise<Response>;
}

/** A longer `Retry-After` is left to the caller. */
const retryAfterMsMax = 30_000;
const firstRetryMs = 100;
const retryMsMax = 5_000;

export function createTransport(options: TransportOptions): Transport {
  return {
    send: (request) => sendWithRetries(options, request, jsonOf),
    open: (request) => sendWithRetries(options, request, async (response) => response),
  };
}

type ReadBody<Result> = (response: Response) => Promise<Result>;

async function sendWithRetries<Result>(
  options: TransportOptions,
  request: ApiRequest,
  read: ReadBody<Result>,
): Promise<Result> {
  const { maxRetries = options.maxRetries, deadlineMs, signal } = request;
  const init = requestInit(options, request);
  const deadlineAt = deadlineMs === undefined ? Number.POSITIVE_INFINITY : Date.now() + deadlineMs;
  for (let retries = 0; ; retries += 1) {
    try {
      return await attempt(options, request, init, read, deadlineAt - Date.now());
    } catch (error) {
      const waitMs = retries < maxRetries ? retryDelayMs(error, retries) : undefined;
      if (waitMs === undefined || Date.now() + waitMs >= deadlineAt) {
        throw error;
      }
      await pause(waitMs, signal);
    }
  }
}

/** Returns what all attempts have in common. A write has one idempotency key for all of them. */
function requestInit({ key }: TransportOptions, request: ApiRequest): RequestInit {
  const { method, body } = request;
  const idempotencyKey = method === 'GET' ? undefined : (request.idempotencyKey ?? crypto.randomUUID());
  return {
    method,
    headers: {
      authorization: `Bearer ${key}`,
      ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  };
}

async function attempt<Result>(
  options: TransportOptions,
  { path, query, timeoutMs = options.requestTimeoutMs, signal }: ApiRequest,
  init: RequestInit,
  read: ReadBody<Result>,
  remainingMs: number,
): Promise<Result> {
  signal?.throwIfAborted();
  const timeout = new AbortController();
  const timer = setTimeout(() => timeout.abort(), Math.max(0, Math.min(timeoutMs, remainingMs)));
  const signals = signal === undefined ? timeout.signal : AbortSignal.any([timeout.signal, signal]);
  let response: Response;
  let text: string;
  try {
    const target = options.url.replace(/\/+$/, '') + path + queryText(query);
    response = await options.fetch(target, { ...init, signal: signals });
    if (response.ok) {
      return await read(response);
    }
    text = await response.text();
  } catch (cause) {
    signal?.throwIfAborted();
    throw timeout.signal.aborted
      ? new PurserTimeoutError('Purser did not answer in time.', { cause })
      : new PurserConnectionError('Purser cannot be reached.', { cause });
  } finally {
    clearTimeout(timer);
  }
  throw apiError(response, text);
}

async function jsonOf(response: Response): Promise<unknown> {
  const text = await response.text();
  return text === '' ? undefined : JSON.parse(text);
}

function apiError(response: Response, text: string): PurserError {
  const { status, headers } = response;
  const { code, message, details = {} } = envelopeOf(text);
  const retryAfter = Number(headers.get('retry-after') ?? Number.NaN);
  return new PurserApiError({
    status,
    code: (code ?? (status >= 502 ? 'service_unavailable' : 'internal')) as ErrorCodeName,
    message: message ?? `Purser answered with status ${status}.`,
    details,
    traceId: headers.get('x-svc-trace-id') ?? undefined,
    retryAfterSeconds: Number.isFinite(retryAfter) ? retryAfter : undefined,
  });
}

/** A proxy in front of the service may answer with something else. */
function envelopeOf(text: string): { code?: string; message?: string; details?: object } {
  try {
    return (JSON.parse(text) as { error?: object }).error ?? {};
  } catch {
    return {};
  }
}

/** Returns undefined if another attempt does not help. */
function retryDelayMs(error: unknown, retries: number): number | undefined {
  if (error instanceof PurserApiError && error.retryAfterSeconds !== undefined && error.isTransient) {
    const waitMs = error.retryAfterSeconds * 1_000;
    return waitMs <= retryAfterMsMax ? waitMs : undefined;
  }
  const isTransient =
    error instanceof PurserApiError ? error.isTransient : error instanceof PurserConnectionError;
  return isTransient ? backoffMs(retries) : undefined;
}

/** Exponential, with jitter, so that clients do not retry in step. */
export function backoffMs(retries: number, maxMs = retryMsMax): number {
  return Math.min(maxMs, firstRetryMs * 2 ** retries) * (0.5 + Math.random() / 2);
}

function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', abort);
      resolve();
    }, ms);
    signal?.addEventListener('abort', abort, { once: true });
  });
}

function queryText(query: object | undefined): string {
  const entries = Object.entries(query ?? {}).filter(([, value]) => value != null);
  return entries.length === 0
    ? ''
    : `?${new URLSearchParams(Object.fromEntries(entries.map(([name, value]) => [name, String(value)])))}`;
}
