/** Client for commands that call the running service over HTTP with the operator key. */
import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Config } from '../config/settings.ts';
import type { Envelope } from '../contract/api-error.ts';
import { literalUrl } from '../platform/http/server/local-url.ts';

/** Returns the URL of the service, from the command line or the settings. */
export function serviceUrl(config: Config, given: string | undefined): string {
  return (given ?? config.baseUrl ?? literalUrl(config.host, config.port)).replace(/\/+$/, '');
}

export async function isRunning(url: string): Promise<boolean> {
  try {
    await fetch(`${url}/healthz`, { signal: AbortSignal.timeout(5_000) });
    return true;
  } catch {
    return false;
  }
}

export async function operatorKey({ bootstrapOperatorKey, dataDir }: Config): Promise<string> {
  const file = join(dataDir, 'operator-key');
  try {
    return bootstrapOperatorKey ?? (await readFile(file, 'utf8')).trim();
  } catch {
    throw new Error(`no operator key: set SVC_BOOTSTRAP_OPERATOR_KEY, or write one to ${file}`);
  }
}

export type CallApi = <Body>(
  key: string,
  method: string,
  path: string,
  body?: object,
  headers?: Readonly<Record<string, string>>,
) => Promise<Body>;

/** An error response of the service. */
export class ApiRequestError extends Error {
  readonly error: Partial<Envelope['error']>;

  constructor(message: string, error: Partial<Envelope['error']>) {
    super(message);
    this.error = error;
  }
}

export function createApi(url: string): CallApi {
  return async <Body>(
    key: string,
    method: string,
    path: string,
    body?: object,
    headers?: Readonly<Record<string, string>>,
  ) => {
    const response = await fetchUntilAvailable(url + path, {
      method,
      headers: {
        authorization: `Bearer ${key}`,
        ...(method === 'POST' && { 'idempotency-key': randomUUID() }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    if (response.status === 204) {
      return undefined as Body;
    }
    const received = (await response.json().catch(() => undefined)) as Body | Envelope | undefined;
    if (!response.ok || received === undefined) {
      const { error } = (received ?? {}) as Partial<Envelope>;
      const message = `${method} ${url}${path} returned ${response.status}: ${describeError(error)}`;
      throw new ApiRequestError(message, error ?? {});
    }
    return received as Body;
  };
}

const attemptsMax = 6;
const pauseMsMax = 10_000;

/** Sends a request. If the service is too busy, sends it again after the requested pause, with the same idempotency key. */
async function fetchUntilAvailable(url: string, request: RequestInit): Promise<Response> {
  for (let attempt = 1; ; attempt += 1) {
    const response = await fetch(url, request);
    if ((response.status !== 503 && response.status !== 429) || attempt === attemptsMax) {
      return response;
    }
    await response.body?.cancel();
    const seconds = Number(response.headers.get('retry-after') ?? 2 ** (attempt - 2));
    await pause(Math.min(seconds * 1_000, pauseMsMax));
  }
}

function describeError(error: Envelope['error'] | undefined): string {
  if (error === undefined) {
    return 'the response is not from Purser. Check the URL.';
  }
  const { fields = [] } = error.details as { fields?: { field: string; message: string }[] };
  return [error.message, ...fields.map(({ field, message }) => `${field}: ${message}`)].join('\n        ');
}
