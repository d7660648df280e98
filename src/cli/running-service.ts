/** What commands need that speak to a service over HTTP, as its operator. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Config } from '../config/settings.ts';
import type { Envelope } from '../contract/api-error.ts';
import { literalUrl } from '../platform/http/server/local-url.ts';

/** Where the service is: as the command line says, or as the settings do. */
export function serviceUrl(config: Config, given: string | undefined): string {
  return (given ?? config.baseUrl ?? literalUrl(config.host, config.port)).replace(/\/+$/, '');
}

export async function answers(url: string): Promise<boolean> {
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
    throw new Error(`there is no operator key: set SVC_BOOTSTRAP_OPERATOR_KEY, or put one into ${file}`);
  }
}

export type Api = <Answer>(key: string, method: string, path: string, body?: object) => Promise<Answer>;

/** What the service refused, with what it said. */
export class ApiRefusal extends Error {
  readonly error: Partial<Envelope['error']>;

  constructor(message: string, error: Partial<Envelope['error']>) {
    super(message);
    this.error = error;
  }
}

export function createApi(url: string): Api {
  return async <Answer>(key: string, method: string, path: string, body?: object) => {
    const response = await fetch(url + path, {
      method,
      headers: {
        authorization: `Bearer ${key}`,
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    if (response.status === 204) {
      return undefined as Answer;
    }
    const answer = (await response.json().catch(() => undefined)) as Answer | Envelope | undefined;
    if (!response.ok || answer === undefined) {
      const { error } = (answer ?? {}) as Partial<Envelope>;
      const message = `${method} ${url}${path} answered ${response.status}: ${complaintIn(error)}`;
      throw new ApiRefusal(message, error ?? {});
    }
    return answer as Answer;
  };
}

function complaintIn(error: Envelope['error'] | undefined): string {
  if (error === undefined) {
    return 'this is not Purser';
  }
  const { fields = [] } = error.details as { fields?: { field: string; message: string }[] };
  return [error.message, ...fields.map(({ field, message }) => `${field}: ${message}`)].join('\n        ');
}
