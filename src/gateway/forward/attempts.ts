/**
 * Tries to get a response from a provider, with at most two more attempts, the next connection first. It only retries before the
 * first byte of a response was sent to the client.
 */

import type { IncomingHttpHeaders } from 'node:http';
import {
  type AttemptFailure,
  type Connection,
  ConnectionKeyUnavailable,
  type Connections,
  kindOf,
} from '../../capabilities/integration/connections/index.ts';
import { type Credential, secretsOf } from '../../platform/cloud-credentials/credential.ts';
import { Cancellation } from './cancellation.ts';
import { type KeyRedaction, keyRedaction } from './key-redaction.ts';
import { type ProviderClient, type ProviderResponse, ProviderUnreachable } from './provider-client.ts';
import { requestHeaders } from './provider-headers.ts';
import { type ReadBody, readAll } from './read-all.ts';
import { receivedBody } from './response-body.ts';

export interface ForwardedCall {
  readonly method: string;
  /** Returns the path and query below the base URL of a connection. */
  pathFor(connection: Connection): string;
  /** Returns the headers of the client that a connection may get. */
  headersFor(connection: Connection): IncomingHttpHeaders;
  /** Returns the body for a connection. Providers differ in the name of the output maximum. */
  bodyFor(connection: Connection): Buffer | undefined;
  /** Undefined for calls that providers do not charge for. */
  readonly observer?: AttemptObserver;
  /** Cancels the attempt in progress when the process stops. */
  readonly cut?: Cancellation;
}

/** Accounts for the attempts of a call that may be charged. */
export interface AttemptObserver {
  /** Called before each attempt. */
  begin(connection: Connection): void;
  /** Called when an attempt has failed. */
  fail(): void;
  /** Returns true if the provider may charge for an error response. */
  mayBeCharged(failure: FailedAttempt): boolean;
  /** Called with each response that is not sent to the client, because it may report usage. */
  addDiscarded(failure: FailedAttempt): void;
  /** Called for each attempt without a response that the provider may charge for. */
  addUnanswered(): void;
  /** Called before a retry of an attempt that may be charged. Resolves to false if the hold cannot cover both. */
  coverAnother(): Promise<boolean>;
}

/** An error response, and the bytes of its body that were read. */
export interface FailedAttempt {
  readonly connection: Connection;
  readonly response: ProviderResponse;
  readonly bytes: Buffer;
}

export interface ReceivedResponse {
  readonly kind: 'response';
  readonly connection: Connection;
  readonly response: ProviderResponse;
  /** Removes the provider's key from the response. */
  readonly redaction: KeyRedaction;
  readonly attempts: number;
}

export type AttemptsResult =
  | ReceivedResponse
  | {
      readonly kind: 'unreachable';
      readonly isTimeout: boolean;
      readonly mayBeCharged: boolean;
      readonly attempts: number;
    };

export const notAttempted = {
  kind: 'unreachable',
  isTimeout: false,
  mayBeCharged: false,
  attempts: 0,
} as const satisfies AttemptsResult;

export interface AttemptDependencies {
  readonly client: ProviderClient;
  readonly connections: Pick<Connections, 'succeeded' | 'failed'>;
  /** Waits before another attempt at the same connection. Replaced in tests. */
  wait?(ms: number, left: Cancellation): Promise<void>;
  countAttempt(outcome: 'success' | 'client_error' | 'retryable' | 'unreachable'): void;
}

export const attemptsMax = 3;
const retryAfterMsMax = 10_000;
const backoffMs = 250;
/** Maximum number of bytes to read of a failed response. It is read so that its connection can be reused and its usage is not lost. */
const discardedBytesMax = 1_048_576;
/** Maximum time to read a failed response. The hold lasts long enough for several. */
const discardedMsMax = 10_000;

export async function attemptCall(
  deps: AttemptDependencies,
  candidates: readonly Connection[],
  call: ForwardedCall,
  left: Cancellation,
): Promise<AttemptsResult> {
  const waitMs = deps.wait ?? defaultWait;
  let last: AttemptsResult = notAttempted;
  for (let attempt = 1; attempt <= attemptsMax; attempt += 1) {
    const connection = candidates[(attempt - 1) % candidates.length] as Connection;
    if (attempt > candidates.length) {
      const waitTime = pauseBefore(last, attempt);
      if (waitTime === undefined) {
        return last;
      }
      await waitMs(waitTime, left);
    }
    if (left.isCancelled) {
      return last;
    }
    if (last.kind === 'response') {
      const { connection: failed, response } = last;
      const { bytes, isWhole } = await readDiscarded(response);
      const failure = { connection: failed, response, bytes };
      if (call.observer?.mayBeCharged(failure) === true && !(await call.observer.coverAnother())) {
        return { ...last, response: { ...response, body: receivedBody(bytes, isWhole) } };
      }
      call.observer?.addDiscarded(failure);
    } else if (last.mayBeCharged && (await call.observer?.coverAnother()) === false) {
      return last;
    }
    last = await attemptOnce(deps, connection, call, attempt);
    if (last.kind === 'response' && !isRetryable(last.response.status)) {
      return last;
    }
    call.observer?.fail();
  }
  return last;
}

async function attemptOnce(
  { client, connections, countAttempt }: AttemptDependencies,
  connection: Connection,
  call: ForwardedCall,
  attempts: number,
): Promise<AttemptsResult> {
  call.observer?.begin(connection);
  const send = (credential: Credential) => {
    const request = {
      connection,
      method: call.method,
      path: call.pathFor(connection),
      headers: requestHeaders(call.headersFor(connection), connection),
      body: call.bodyFor(connection),
      cut: call.cut,
      atMs: Date.now(),
    };
    kindOf(connection).authenticate(request, credential);
    return client.send(request);
  };
  try {
    const found = connection.credential();
    let credential = found instanceof Promise ? await found : found;
    let response = await send(credential);
    const previous = isKeyRejected(response.status) ? await connection.previousCredential() : undefined;
    if (previous !== undefined) {
      await readDiscarded(response);
      credential = previous;
      response = await send(credential);
    }
    const redaction = keyRedaction(secretsOf(credential));
    const { status, body, isEncoded } = response;
    if (isRetryable(status) || isKeyRejected(status)) {
      connections.failed(connection.id, { reason: 'status', status });
    } else {
      connections.succeeded(connection.id);
    }
    countAttempt(isRetryable(status) ? 'retryable' : status >= 400 ? 'client_error' : 'success');
    const headers = redaction.headers(response.headers);
    return {
      kind: 'response',
      connection,
      response: { status, headers, body, isEncoded },
      redaction,
      attempts,
    };
  } catch (error) {
    if (!(error instanceof ProviderUnreachable) && !(error instanceof ConnectionKeyUnavailable)) {
      throw error;
    }
    const { isTimeout, mayBeCharged } =
      error instanceof ProviderUnreachable ? error : { isTimeout: false, mayBeCharged: false };
    connections.failed(connection.id, { reason: reasonOf(error, isTimeout) });
    countAttempt('unreachable');
    if (mayBeCharged) {
      call.observer?.addUnanswered();
    }
    return { kind: 'unreachable', isTimeout, mayBeCharged, attempts };
  }
}

async function readDiscarded({ body }: ProviderResponse): Promise<ReadBody> {
  const late = new Cancellation();
  const timer = setTimeout(() => late.cancel(), discardedMsMax);
  const read = await readAll(body, discardedBytesMax, late);
  clearTimeout(timer);
  return read;
}

function reasonOf(error: Error, isTimeout: boolean): Exclude<AttemptFailure['reason'], 'status'> {
  if (error instanceof ConnectionKeyUnavailable) {
    return 'key_unavailable';
  }
  return isTimeout ? 'timeout' : 'unreachable';
}

function isRetryable(status: number): boolean {
  return status === 429 || status === 408 || status >= 500;
}

function isKeyRejected(status: number): boolean {
  return status === 401 || status === 403;
}

/** Returns the pause before another attempt at the same connection; undefined if the provider asks for too long a pause. */
function pauseBefore(last: AttemptsResult, attempt: number): number | undefined {
  const retryAfter = last.kind === 'response' ? retryAfterMs(last.response) : undefined;
  if (retryAfter !== undefined) {
    return retryAfter <= retryAfterMsMax ? retryAfter : undefined;
  }
  return backoffMs * 2 ** (attempt - 2);
}

function retryAfterMs({ headers }: ProviderResponse): number | undefined {
  const precise = Number(headers['retry-after-ms']);
  if (headers['retry-after-ms'] !== undefined && Number.isFinite(precise) && precise >= 0) {
    return precise;
  }
  const value = headers['retry-after'];
  if (typeof value !== 'string') {
    return undefined;
  }
  const seconds = Number(value);
  const ms = Number.isFinite(seconds) ? seconds * 1_000 : new Date(value).getTime() - Date.now();
  return Number.isFinite(ms) && ms >= 0 ? ms : undefined;
}

/** Waits. Resolves early if the client leaves. */
function defaultWait(ms: number, left: Cancellation): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      left.off(end);
      resolve();
    };
    const timer = setTimeout(end, ms).unref();
    left.onCancel(end);
  });
}
