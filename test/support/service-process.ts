/** A service in its own process, called over HTTP. Every response under `/v1` is checked against the contract. */
import { performance } from 'node:perf_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import { generateKey } from '../../src/platform/http/routes/key-format.ts';
import { type Ending, type Spawned, spawnPurser } from './child-process.ts';
import { checkAnswer } from './contract-check.ts';
import type { Place } from './test-database.ts';

/** The operator key of every service that a test starts with `settingsOf`. */
export const operatorKey = generateKey('test');

/** Returns the settings of a service at this place, on a free port. */
export function settingsOf(place: Place): Record<string, string> {
  return {
    SVC_PORT: '0',
    SVC_DATA_DIR: place.dataDir,
    SVC_BOOTSTRAP_OPERATOR_KEY: operatorKey,
    ...(place.databaseUrl !== undefined && { SVC_DATABASE_URL: place.databaseUrl }),
  };
}

export interface ServiceRequest {
  /** By default the operator's key; null sends no key. */
  readonly key?: string | null;
  readonly body?: unknown;
  /** Sent unchanged, instead of `body`. */
  readonly raw?: string;
  readonly idempotencyKey?: string;
}

export interface ServiceAnswer {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: a test looks into answers of every shape.
  readonly json: any;
  /** The error code, if the response is an error. */
  readonly code: string | undefined;
  readonly replayed: boolean;
}

export interface ServiceProcess {
  readonly url: string;
  readonly spawned: Spawned;
  readonly request: (method: string, path: string, request?: ServiceRequest) => Promise<ServiceAnswer>;
  /** The parsed lines of the log. */
  log(): LogLine[];
  end(signal: NodeJS.Signals): Promise<Ending>;
}

export interface LogLine {
  readonly level: string;
  readonly msg: string;
  readonly [field: string]: unknown;
}

export async function startPurser(env: Record<string, string>): Promise<ServiceProcess> {
  return serviceOf(spawnPurser(['serve'], env));
}

/** Resolves when the process has logged the URL on which it listens. */
export async function serviceOf(spawned: Spawned): Promise<ServiceProcess> {
  const log = () => parseLog(spawned.stdout());
  const url = await new Promise<string>((resolve, reject) => {
    const look = () => {
      const line = log().find(({ msg }) => msg.startsWith('Purser is listening'));
      if (line !== undefined) {
        spawned.child.stdout?.off('data', look);
        resolve(String(line.url));
      }
    };
    spawned.child.stdout?.on('data', look);
    void spawned.ended.then(({ code, signal }) =>
      reject(new Error(`the service ended (${code ?? signal}) before it listened:\n${spawned.stderr()}`)),
    );
  });
  return {
    url,
    spawned,
    log,
    end: (signal) => spawned.end(signal),
    request: (method, path, request) => send(url, method, path, request),
  };
}

async function send(
  url: string,
  method: string,
  path: string,
  { key = operatorKey, body, raw, idempotencyKey }: ServiceRequest = {},
): Promise<ServiceAnswer> {
  const payload = raw ?? (body === undefined ? undefined : JSON.stringify(body));
  const response = await fetch(url + path, {
    method,
    headers: {
      ...(key !== null && { authorization: `Bearer ${key}` }),
      ...(payload !== undefined && { 'content-type': 'application/json' }),
      ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
    },
    ...(payload !== undefined && { body: payload }),
  });
  const text = await response.text();
  const headers = Object.fromEntries(response.headers);
  if (path.startsWith('/v1')) {
    checkAnswer({ status: response.status, headers, text }, undefined, method);
  }
  const json = headers['content-type']?.startsWith('application/json') ? JSON.parse(text) : undefined;
  const code = response.status >= 400 ? json?.error?.code : undefined;
  const replayed = headers['idempotent-replayed'] === 'true';
  return { status: response.status, headers, text, json, code, replayed };
}

const retryEveryMs = 50;
/** Ends a test that would never end: no test checks how long a response takes. */
const retryForMs = 300_000;

/** Retries after a pause while the response has one of these codes. Returns the last response. */
export async function retryWhile(
  codes: readonly string[],
  ask: () => Promise<ServiceAnswer>,
): Promise<ServiceAnswer> {
  const deadlineMs = performance.now() + retryForMs;
  for (;;) {
    const answer = await ask();
    if (!codes.includes(answer.code ?? '') || performance.now() > deadlineMs) {
      return answer;
    }
    await pause(retryEveryMs);
  }
}

function parseLog(text: string): LogLine[] {
  const whole = text.slice(0, text.lastIndexOf('\n') + 1);
  return whole
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as LogLine);
}
