/**
 * A complete service in the test's process: new database, fake clock, seeded ids, and every response checked against
 * the contract.
 */
import { once } from 'node:events';
import { cpSync } from 'node:fs';
import { Agent, type IncomingMessage, request as sendOverHttp } from 'node:http';
import type { AddressInfo } from 'node:net';
import { trace } from '@opentelemetry/api';
import inject from 'light-my-request';
import { beforeAll, beforeEach } from 'vitest';
import { bootstrapOperator } from '../src/capabilities/access/keys/index.ts';
import { type Config, loadConfig } from '../src/config/settings.ts';
import { type KeyScope, type OrgRole, scopes } from '../src/contract/scopes.ts';
import type { Database } from '../src/platform/db/database.ts';
import { type FaultPoint, noFaults } from '../src/platform/faults.ts';
import { openFastPath } from '../src/platform/http/fast/fast-path.ts';
import { generateKey } from '../src/platform/http/routes/key-format.ts';
import type { Route } from '../src/platform/http/routes/route.ts';
import type { Router } from '../src/platform/http/routes/router.ts';
import { type Drainable, drainable } from '../src/platform/http/server/drain.ts';
import { createHttpServer } from '../src/platform/http/server/server.ts';
import { createIds } from '../src/platform/ids.ts';
import type { Job } from '../src/platform/jobs/jobs.ts';
import { createLog } from '../src/platform/log.ts';
import type { SharedClock } from '../src/platform/time/clock.ts';
import { type App, createApp } from '../src/server/app.ts';
import type { AppDependencies } from '../src/server/dependencies.ts';
import { openServices, type Services } from '../src/server/services.ts';
import { startOfClock } from './support/clock.ts';
import { checkAnswer, checkSignals } from './support/contract-check.ts';
import { forwardTo, useFixture } from './support/fixtures.ts';
import { makePlace, openPlace, type Place } from './support/test-database.ts';

export { engine } from './support/test-database.ts';

export class FakeClock implements SharedClock {
  #nowMs = startOfClock.getTime();
  now(): Date {
    return new Date(this.#nowMs);
  }
  agreed(): Date {
    return this.now();
  }
  advanceSeconds(seconds: number): void {
    this.#nowMs += seconds * 1_000;
  }
  setTo(atMs: number): void {
    this.#nowMs = atMs;
  }
}

/** mulberry32: small, seedable, and random enough for unique ids. */
export function seededBytes(seed: number): (size: number) => Uint8Array {
  let state = seed;
  return (size) =>
    Uint8Array.from({ length: size }, () => {
      state = (state + 0x6d2b79f5) | 0;
      let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
      mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
      return (mixed ^ (mixed >>> 14)) & 255;
    });
}

export interface RequestOptions {
  readonly key?: string;
  readonly body?: unknown;
  /** Sent unchanged, instead of `body`. */
  readonly raw?: string | Buffer;
  readonly headers?: Record<string, string>;
  readonly address?: string;
}

export interface TestAnswer {
  readonly status: number;
  readonly headers: Record<string, string | undefined>;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests read responses of every shape.
  readonly json: any;
}

export interface TestOrg {
  readonly id: string;
  /** A key of role owner with every scope. */
  readonly ownerKey: string;
}

export interface World {
  readonly app: App;
  readonly db: Database;
  readonly services: Services;
  readonly clock: FakeClock;
  readonly operatorKey: string;
  readonly logLines: string[];
  readonly router: Router;
  /** The base URL in the app's configuration. */
  baseUrl: string;
  /** Called at each fault point; assign undefined to reset. */
  fault: ((point: FaultPoint, routeId: string) => void | Promise<void>) | undefined;
  request(method: string, path: string, options?: RequestOptions): Promise<TestAnswer>;
  createOrg(name?: string): Promise<TestOrg>;
  /** Returns the job with this id. Throws if there is none. */
  job(id: string): Job;
  /** Runs a job until it has no more work. */
  runJob(id: string): Promise<void>;
  mintKey(
    org: TestOrg,
    role: OrgRole,
    keyScopes: readonly KeyScope[],
    more?: object,
  ): Promise<{ id: string; secret: string }>;
  /** Serves the same app on a new port. */
  listen(): Promise<{ url: string; port: number }>;
  close(): Promise<void>;
  /**
   * Ends the service and returns another one on the same data, at the same time of the same clock. A crash continues from a copy
   * of the data directory as it is, on the embedded engine.
   */
  restart(how?: 'stop' | 'crash'): Promise<World>;
}

export interface WorldOptions {
  readonly baseUrl?: string;
  /** Data of an earlier world; by default new data. */
  readonly place?: Place;
  readonly clock?: FakeClock;
  /** Ids of worlds on the same data differ. */
  readonly idSeed?: number;
  /** Replaces the connections and the settings of the gateway. */
  readonly gateway?: AppDependencies['gateway'];
}

/** A world for the tests of a file or of a `describe`, closed after them. */
export function useWorld(env?: Record<string, string>, options?: WorldOptions): World {
  return useFixture(() => createWorld(env, options));
}

/** One org for all tests. */
export function useOrg(world: World, name?: string): TestOrg {
  let org: TestOrg | undefined;
  beforeAll(async () => {
    org = await world.createOrg(name);
  });
  return forwardTo(() => org);
}

/** A new org for each test. */
export function useOrgPerTest(world: World): TestOrg {
  let org: TestOrg | undefined;
  beforeEach(async () => {
    org = await world.createOrg();
  });
  return forwardTo(() => org);
}

export async function createWorld(
  env: Record<string, string> = {},
  { baseUrl = 'http://localhost', clock = new FakeClock(), idSeed = 1, ...options }: WorldOptions = {},
): Promise<World> {
  const place = options.place ?? (await makePlace({ migrated: true }));
  const db = await openPlace(place);
  const ids = createIds(clock, seededBytes(idSeed));
  const config: Config = loadConfig({
    SVC_DATA_DIR: place.dataDir,
    ...(process.env.PURSER_TEST_FAST_PATH === 'off' && { SVC_HTTP_FAST_PATH: 'false' }),
    ...env,
  });
  const operatorKey = generateKey('test', seededBytes(2));

  const logLines: string[] = [];
  const log = createLog('trace', { write: (line: string) => void logLines.push(line) });
  const servers: Drainable[] = [];
  const agent = new Agent({ keepAlive: true });
  let ownPort: Promise<number> | undefined;
  const services = await openServices({ config, db, clock, ids, log });
  await bootstrapOperator({
    db,
    ids,
    heads: services.auditHeads,
    clock,
    environment: 'test',
    dataDir: place.dataDir,
    chosenKey: operatorKey,
  });
  const app = createApp({
    config,
    services,
    db,
    clock,
    ids,
    log,
    tracer: trace.getTracer('test'),
    faults: (point, routeId) => (world.fault ?? noFaults)(point, routeId),
    baseUrl: () => world.baseUrl,
    health: { answer: () => ({ status: 200, body: '{}' }) },
    metricsEveryMs: 0,
    ...(options.gateway !== undefined && { gateway: options.gateway }),
    // Tests of the complete service do not check this timeout: the machine may be busy.
    samlAnswerMsMax: 60_000,
  });
  let orgs = 0;

  const world: World = {
    app,
    db,
    services,
    clock,
    operatorKey,
    logLines,
    router: app.router,
    baseUrl,
    fault: undefined,
    async request(method, path, { key, body, raw, headers = {}, address = defaultAddress } = {}) {
      const payload = raw ?? (body === undefined ? undefined : JSON.stringify(body));
      const sent: Sent = {
        method,
        path,
        headers: {
          ...(key !== undefined && { authorization: `Bearer ${key}` }),
          ...(body !== undefined && { 'content-type': 'application/json' }),
          ...headers,
        },
        payload,
      };
      let response: Omit<TestAnswer, 'json'>;
      if (address === defaultAddress && (transport === 'sockets' || hasFastHandler(method, path))) {
        ownPort ??= world.listen().then(({ port }) => port);
        response = await overSocket({ agent, port: await ownPort }, sent);
      } else {
        response = await injected(app, sent, address);
      }
      const answer = { ...response, json: parseOrUndefined(response.text) };
      const route = routeOf(app.router, method, path);
      if (path.startsWith('/v1')) {
        checkAnswer(answer, route, method);
      }
      checkSignals(answer, route, app.deprecations);
      return answer;
    },
    async createOrg(name = `Org ${++orgs}`) {
      const org = await world.request('POST', '/v1/admin/orgs', { key: operatorKey, body: { name } });
      const minted = await world.request('POST', `/v1/admin/orgs/${org.json.id}/keys`, {
        key: operatorKey,
        body: { name: 'owner', role: 'owner', scopes },
      });
      return { id: org.json.id, ownerKey: minted.json.secret };
    },
    job(id) {
      const job = app.jobs.find((one) => one.id === id);
      if (job === undefined) {
        throw new Error(`There is no job "${id}". Known: ${app.jobs.map((one) => one.id).join(', ')}`);
      }
      return job;
    },
    async runJob(id) {
      const job = world.job(id);
      while (await job.runOnce()) {
        // Continue with the next batch.
      }
    },
    async mintKey(org, role, keyScopes, more = {}) {
      const { json } = await world.request('POST', `/v1/admin/orgs/${org.id}/keys`, {
        key: operatorKey,
        body: { name: role, role, scopes: keyScopes, ...more },
      });
      return { id: json.id, secret: json.secret };
    },
    async listen() {
      const server = createHttpServer(app.handler, log, app.headersOfUnread);
      servers.push(drainable(server, app.fastPath && openFastPath(server, app.fastPath)));
      server.listen(0, '127.0.0.1');
      await once(server, 'listening');
      const { port } = server.address() as AddressInfo;
      return { url: `http://127.0.0.1:${port}`, port };
    },
    async close() {
      await end();
      await place.remove();
    },
    async restart(how = 'stop') {
      const isCopied = how === 'crash' && place.databaseUrl === undefined;
      const next = isCopied ? await makePlace({ migrated: false }) : place;
      if (isCopied) {
        cpSync(place.dataDir, next.dataDir, { recursive: true });
      }
      await end();
      if (isCopied) {
        await place.remove();
      }
      return createWorld(env, { ...options, baseUrl, place: next, clock, idSeed: idSeed + 1 });
    },
  };

  async function end(): Promise<void> {
    agent.destroy();
    await Promise.all(servers.map((server) => server.drain(0, app.endStreams)));
    // Like a stopping service: a job that fails to stop does not prevent the rest from being closed.
    await Promise.allSettled(app.jobs.map((job) => job.stop?.()));
    await app.finish().catch(() => undefined);
    await services.close();
    await db.close();
  }

  return world;
}

interface Sent {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly payload: string | Buffer | undefined;
}

const defaultAddress = '127.0.0.1';

/**
 * PURSER_TEST_TRANSPORT: `inject` (the default) calls the handler without a socket, which is faster; `sockets` sends
 * every request from the default address over kept-alive connections, through the fast HTTP path or Node's parser.
 */
export const transport = process.env.PURSER_TEST_TRANSPORT ?? 'inject';

async function injected(app: App, sent: Sent, address: string): Promise<Omit<TestAnswer, 'json'>> {
  const response = await inject((req, res) => void app.handler(req as never, res as never), {
    method: sent.method as 'GET',
    url: sent.path,
    remoteAddress: address,
    headers: sent.headers,
    ...(sent.payload !== undefined && { payload: sent.payload }),
  });
  return {
    status: response.statusCode,
    headers: response.headers as Record<string, string | undefined>,
    text: response.payload,
  };
}

/** True for decisions: their fast handler can only be reached over a socket. */
function hasFastHandler(method: string, path: string): boolean {
  return method === 'POST' && path === '/v1/edge/decision';
}

interface SocketOptions {
  readonly agent: Agent;
  readonly port: number;
}

async function overSocket(
  { agent, port }: SocketOptions,
  { method, path, headers, payload }: Sent,
): Promise<Omit<TestAnswer, 'json'>> {
  const request = sendOverHttp({
    host: defaultAddress,
    port,
    agent,
    method,
    path,
    headers: {
      ...(payload !== undefined && { 'content-length': Buffer.byteLength(payload) }),
      ...headers,
    },
  });
  request.end(payload);
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  // A response may arrive before the upload is complete; then the server closes the connection under the upload.
  request.on('error', () => undefined);
  const chunks: Buffer[] = [];
  for await (const chunk of response) {
    chunks.push(chunk as Buffer);
  }
  const { 'set-cookie': cookies, ...single } = response.headers;
  return {
    status: response.statusCode ?? 0,
    headers: {
      ...(single as Record<string, string | undefined>),
      // Like an injected response: a list only if there are several cookies.
      ...(cookies !== undefined && { 'set-cookie': (cookies.length === 1 ? cookies[0] : cookies) as string }),
    },
    text: Buffer.concat(chunks).toString(),
  };
}

/** Returns the route of a request; undefined for a page or an unknown path. */
export function routeOf(router: Router, method: string, path: string): Route | undefined {
  const endpoint = router.endpointOf(method, path);
  return endpoint?.kind === 'route' ? endpoint.route : undefined;
}

function parseOrUndefined(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
