/** A gateway for programs of others: each gets a home of its own, a URL that counts its requests, and no way to any other server. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import {
  createServer,
  type IncomingMessage,
  type Server,
  type ServerResponse,
  request as send,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { text } from 'node:stream/consumers';
import { expect } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { createGatewayWorld, type GatewayWorld, type RunSummary } from '../support/gateway-world.ts';

export interface ClientWorld {
  readonly gateway: GatewayWorld;
  /** URL of the gateway for the client. */
  readonly url: string;
  /** Requests of the client to the gateway, in order. */
  readonly requests: ClientRequest[];
  /** Requests of the client to other servers. All of them fail. */
  readonly elsewhere: string[];
  /** The variables of a client, without a home: none of the tests' but the path, and proxies that reject every other server. */
  readonly environment: Readonly<Record<string, string>>;
  /** Runs a program until it ends, in a home of its own. */
  run(program: Program): Promise<Ended>;
  /** Returns the runs of the requests, in their order, once nothing is held. */
  settledRuns(): Promise<RunSummary[]>;
  /** Expects that the runs of the requests have the tokens that the provider billed. */
  expectBilled(): Promise<void>;
  /**
   * Lets the provider send more than the limit allows to hold for the next stream, while the first hold of the stream still fits. Needs
   * `expectedHolds`.
   */
  outgrowLimit(firstHoldUsd: number): Promise<void>;
  /** Sets `hold: expected`, and makes enough calls to know the usual output of both models. */
  expectedHolds(): Promise<void>;
  /** Expects that the last run was ended by its limit, and charged for what the provider billed. */
  expectTruncated(): Promise<void>;
  /** Forgets requests and faults before the next test. */
  reset(): void;
  close(): Promise<void>;
}

export interface ClientRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  status: number | undefined;
  /** The run of the call and what was held for it, if it was admitted. */
  runId: string | undefined;
  heldUsd: number | undefined;
  /** Time at which the response was complete, or at which the client left. */
  endedMs: number | undefined;
}

export interface Program {
  readonly path: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Writes files of the home directory. */
  readonly prepare?: (home: string) => Promise<void>;
  readonly onStart?: (child: ChildProcess) => void;
}

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly endedMs: number;
}

export async function createClientWorld(): Promise<ClientWorld> {
  const gateway = await createGatewayWorld();
  const requests: ClientRequest[] = [];
  const elsewhere: string[] = [];
  const front = createServer((request, response) => forward(gateway.url, requests, request, response));
  // Codex tries a WebSocket first. The gateway has to answer that it has none.
  front.on('upgrade', (request, socket) => {
    const upstream = send(
      new URL(request.url ?? '/', gateway.url),
      { headers: request.headers },
      (answer) => {
        requests.push({ ...received(request), status: answer.statusCode, endedMs: performance.now() });
        socket.end(`HTTP/1.1 ${answer.statusCode} ${answer.statusMessage}\r\nconnection: close\r\n\r\n`);
      },
    );
    upstream.on('error', () => socket.destroy());
    upstream.end();
  });
  const trap = createServer((request, response) => {
    elsewhere.push(`${request.method} ${request.url}`);
    response.writeHead(502).end();
  });
  trap.on('connect', (request, socket) => {
    elsewhere.push(`CONNECT ${request.url}`);
    socket.on('error', () => {});
    socket.end('HTTP/1.1 502 Bad Gateway\r\n\r\n');
  });
  const [url, trapUrl] = await Promise.all([listen(front), listen(trap)]);
  const environment = {
    PATH: process.env.PATH ?? '',
    TERM: 'dumb',
    TZ: 'UTC',
    HTTP_PROXY: trapUrl,
    HTTPS_PROXY: trapUrl,
    NO_PROXY: '127.0.0.1',
  };
  async function settledRuns(): Promise<RunSummary[]> {
    await eventually(async () => expect(await gateway.holds()).toBe(0));
    const ids = requests.flatMap(({ runId }) => runId ?? []);
    const key = gateway.org.ownerKey;
    return Promise.all(
      ids.map(async (id) => (await gateway.world.request('GET', `/v1/runs/${id}`, { key })).json),
    );
  }
  return {
    settledRuns,
    async expectBilled() {
      const runs = await settledRuns();
      expect(runs.map((one) => [one.input_tokens, one.output_tokens])).toEqual(
        gateway.provider.bill.map((billed) => [billed.inputTokens, billed.outputTokens]),
      );
    },
    gateway,
    url,
    requests,
    elsewhere,
    environment,
    run: (program) => run(program, environment),
    async expectedHolds() {
      // Calls without a maximum of their own must be able to outgrow their limit.
      gateway.settings = { ...gateway.settings, hold: 'expected', defaultMaxOutputTokens: 20_000 };
      for (let call = 0; call < 20; call += 1) {
        await plainCall(gateway, '/openai/v1/responses', { model: 'gpt-test', input: 'Hello' });
        const messages = [{ role: 'user', content: 'Hello' }];
        await plainCall(gateway, '/anthropic/v1/messages', {
          model: 'claude-test',
          max_tokens: 50,
          messages,
        });
      }
      gateway.provider.requests.length = 0;
      gateway.provider.bill.length = 0;
    },
    async outgrowLimit(firstHoldUsd) {
      const spent = await spentUsd(gateway);
      gateway.provider.outputOf = () => 2_000;
      await gateway.cap((spent + firstHoldUsd + 0.005).toFixed(9));
    },
    async expectTruncated() {
      const run = (await settledRuns()).at(-1);
      expect(run).toMatchObject({ status: 'succeeded' });
      expect(run?.marks).toContain('truncated');
      expect(run?.output_tokens).toBeGreaterThanOrEqual(gateway.provider.bill.at(-1)?.outputTokens ?? 0);
    },
    reset() {
      gateway.settings = { ...gateway.settings, hold: 'worst_case', defaultMaxOutputTokens: 1_000 };
      requests.length = 0;
      elsewhere.length = 0;
      gateway.provider.fault = undefined;
      gateway.provider.beforeChunk = undefined;
      gateway.provider.toolOf = () => undefined;
      gateway.provider.requests.length = 0;
      gateway.provider.sent.length = 0;
      gateway.provider.bill.length = 0;
      gateway.provider.outputOf = () => 5;
    },
    async close() {
      for (const server of [front, trap]) {
        server.closeAllConnections();
        server.close();
      }
      await gateway.close();
    },
  };
}

async function plainCall({ url, key }: GatewayWorld, path: string, body: object): Promise<void> {
  const response = await fetch(`${url}${path}`, {
    method: 'POST',
    headers: { 'x-api-key': key, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  expect([response.status, (await response.text()).length > 0]).toEqual([200, true]);
}

async function spentUsd({ world, org }: GatewayWorld): Promise<number> {
  const [row] = await world.db.query<{ total: string | null }>(
    'SELECT sum(cost_nanos)::text AS total FROM runs WHERE org_id = $1',
    [org.id],
  );
  return Number(row?.total ?? 0) / 1e9;
}

async function listen(server: Server): Promise<string> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function received(request: IncomingMessage): ClientRequest {
  const { method = '', url = '', headers } = request;
  return {
    method,
    url,
    headers,
    status: undefined,
    runId: undefined,
    heldUsd: undefined,
    endedMs: undefined,
  };
}

function forward(
  target: string,
  requests: ClientRequest[],
  request: IncomingMessage,
  response: ServerResponse,
): void {
  const record = received(request);
  requests.push(record);
  response.on('close', () => {
    record.endedMs = performance.now();
  });
  const { method, headers, url = '/' } = request;
  const upstream = send(new URL(url, target), { method, headers }, (answer) => {
    record.status = answer.statusCode;
    record.runId = answer.headers['x-svc-run-id'] as string | undefined;
    record.heldUsd = record.runId === undefined ? undefined : Number(answer.headers['x-svc-held-usd']);
    response.writeHead(answer.statusCode ?? 502, answer.rawHeaders);
    answer.pipe(response);
    answer.on('error', () => response.destroy());
  });
  upstream.on('error', () => response.destroy());
  response.on('close', () => upstream.destroy());
  request.pipe(upstream);
}

async function run(
  { path, args, env, prepare, onStart }: Program,
  environment: Readonly<Record<string, string>>,
): Promise<Ended> {
  const home = await mkdtemp(join(tmpdir(), 'purser-client-'));
  const cwd = join(home, 'project');
  await mkdir(cwd);
  await prepare?.(home);
  const child = spawn(path, args, {
    cwd,
    env: { HOME: home, ...environment, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  onStart?.(child);
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  const endedMs = performance.now();
  await rm(home, { recursive: true, force: true, maxRetries: 5 });
  return { code: child.exitCode, stdout, stderr, endedMs };
}
