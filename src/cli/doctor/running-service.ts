/** The running service, seen from outside: its health, its metrics, and its operator API. */
import type { Config } from '../../config/settings.ts';
import { createApi, operatorKey } from '../running-service.ts';

export interface RunningService {
  readonly url: string;
  /** Status of `/readyz`. */
  readonly readyStatus: number;
  /** Body of `/readyz`, which is part of the finding. */
  readonly readyBody: string;
  /** Returns the value of a metric without labels; undefined if `/metrics` does not have it. */
  metric(name: string): Promise<number | undefined>;
  /** Reads from the operator API with the operator key. */
  read<Body>(path: string): Promise<Body>;
}

const answerWithinMs = 10_000;

/** Finds the service; undefined if nothing responds, or if the response is not from Purser. */
export async function findRunningService(url: string, config: Config): Promise<RunningService | undefined> {
  const get = (path: string) => fetch(url + path, { signal: AbortSignal.timeout(answerWithinMs) });
  let ready: Response;
  try {
    ready = await get('/readyz');
  } catch {
    return undefined;
  }
  if (!isPurser(ready)) {
    return undefined;
  }
  let metrics: Promise<string> | undefined;
  return {
    url,
    readyStatus: ready.status,
    readyBody: (await ready.text()).slice(0, 200),
    async metric(name) {
      metrics ??= get('/metrics').then((response) => response.text());
      const value = new RegExp(`^${name} (\\S+)$`, 'm').exec(await metrics)?.[1];
      return value === undefined ? undefined : Number(value);
    },
    read: async (path) => createApi(url)(await operatorKey(config), 'GET', path),
  };
}

/** Returns true for a response of Purser. Each one has a trace id. */
export function isPurser({ headers }: Response): boolean {
  return headers.has('x-svc-trace-id');
}
