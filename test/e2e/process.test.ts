/**
 * The process from the view of an operator, each test at its own place: first start, invalid starts, faults, traces,
 * and the shutdown.
 */
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer, request as httpRequest, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { endAllProcesses, runPurser } from '../support/child-process.ts';
import { inspectDatabase } from '../support/database-inspection.ts';
import { eventually } from '../support/eventually.ts';
import { startFaulty } from '../support/faulty-service.ts';
import { rounds } from '../support/rounds.ts';
import {
  operatorKey,
  retryWhile,
  type ServiceProcess,
  settingsOf,
  startPurser,
} from '../support/service-process.ts';
import { engine, makePlace, type Place } from '../support/test-database.ts';

let place: Place;
let settings: Record<string, string>;
beforeEach(async () => {
  place = await makePlace({ migrated: true });
  settings = settingsOf(place);
});
afterEach(async () => {
  await endAllProcesses();
  await place.remove();
});

const orgs = '/v1/admin/orgs';
/** On a busy machine a service that has just started may wait too long for its database. */
const statusOfOrgs = async (service: ServiceProcess, key: string) =>
  (await retryWhile(['service_unavailable'], () => service.request('GET', orgs, { key }))).status;
const hasStopped = { code: 0, signal: null };

test('work that fails unobserved is logged, and the service continues', async () => {
  const preload = fileURLToPath(new URL('../support/reject-on-signal.mjs', import.meta.url));
  const service = await startPurser({ ...settings, NODE_OPTIONS: `--import ${preload}` });
  service.spawned.child.kill('SIGUSR2');
  await eventually(() => {
    const line = service.log().find(({ msg }) => msg === 'an operation failed unobserved');
    expect(line).toMatchObject({ level: 'error', err: { message: 'rejected by the test' } });
  });
  expect(await statusOfOrgs(service, operatorKey)).toBe(200);
});

describe('the first start', () => {
  test('makes an operator key that works, in a file that only its owner can read', async () => {
    const { SVC_BOOTSTRAP_OPERATOR_KEY: _, ...without } = settings;
    const service = await startPurser(without);
    const file = join(place.dataDir, 'operator-key');
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const key = readFileSync(file, 'utf8').trim();
    expect(await statusOfOrgs(service, key)).toBe(200);
    expect(service.log().find((line) => line.file === file)).toBeDefined();
    await eventually(() => expect(service.log().some(({ msg }) => msg === 'start: ready')).toBe(true));
    const complete = service.log().filter(({ msg }) => /^start: .+ is complete$/.test(msg));
    expect(complete.map(({ phase }) => phase)).toEqual([
      'open-database',
      'apply-migrations',
      'load-state',
      'listen',
    ]);
    expect(service.spawned.stdout() + service.spawned.stderr()).not.toContain(key);

    // The second start keeps the key.
    expect(await service.end('SIGTERM')).toEqual(hasStopped);
    const again = await startPurser(without);
    expect(readFileSync(file, 'utf8').trim()).toBe(key);
    expect(await statusOfOrgs(again, key)).toBe(200);
  });
});

describe('a start that cannot work ends, and says why', () => {
  test('a start with a bad setting ends and says why', async () => {
    const bad = {
      SVC_DATABASE_URL: 'mysql://user:hunter2@localhost/db',
      SVC_BOOTSTRAP_OPERATOR_KEY: 'svc_live_hunter2',
      SVC_PORT: 'eighty',
      SVC_IDEMPOTENCY_INFLIGHT_TAKEOVER_SECS: '0',
      SVC_TRUSTED_PROXIES: '10.0.0.0/99',
    };
    // src/config/settings.test.ts checks the message of every setting.
    for (const [name, value] of Object.entries(bad).slice(0, rounds(1, 5))) {
      const { code, stdout, stderr } = await runPurser(['serve'], { ...settings, [name]: value });
      expect(code).toBe(1);
      expect(stderr).toMatch(new RegExp(`^purser: ${name} is invalid: must be .+\n$`));
      expect(stdout + stderr).not.toContain('hunter2');
    }
  });

  // `serve` waits for it: test/e2e/start-without-database.test.ts
  test.runIf(engine === 'postgres')('a command without its database', async () => {
    const url = 'postgres://user:hunter2@127.0.0.1:1/db';
    const { code, stdout, stderr } = await runPurser(['check'], { ...settings, SVC_DATABASE_URL: url });
    expect(code).toBe(1);
    expect(stderr).toMatch(/^purser: .*ECONNREFUSED.*\. Check that PostgreSQL is running, .+\n$/);
    expect(stdout + stderr).not.toContain('hunter2');
  });

  test('a port that is taken', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await eventually(() => expect(taken.listening).toBe(true));
    const port = String((taken.address() as AddressInfo).port);
    const { code, stderr } = await runPurser(['serve'], { ...settings, SVC_PORT: port });
    taken.close();
    expect(code).toBe(1);
    expect(stderr).toMatch(/^purser: cannot listen on .+: stop it, or set SVC_PORT to another one\.\n$/);
    expect(stderr).toContain(`127.0.0.1:${port}`);
  });

  test('a damaged database, with the stack in the log at level debug only', async () => {
    const dataDir = join(place.dataDir, 'damaged');
    mkdirSync(join(dataDir, 'database'), { recursive: true });
    writeFileSync(join(dataDir, 'database', 'postgresql.conf'), '');
    const embedded = settingsOf({ ...place, dataDir, databaseUrl: undefined });
    for (const level of ['info', 'debug']) {
      const { code, stdout, stderr } = await runPurser(['serve'], { ...embedded, SVC_LOG_LEVEL: level });
      expect(code).toBe(1);
      expect(stderr).toMatch(/^purser: the embedded database in .+ is damaged .+ `purser restore FILE .+\n$/);
      expect(stdout.includes('"stack"'), level).toBe(level === 'debug');
    }
  });
});

test('SIGTERM lets a request in flight finish, takes no new ones, and loses nothing', async () => {
  const service = await startPurser(settings);
  const body = JSON.stringify({ name: 'Last call' });
  // The service sends 100 Continue once the request is admitted. From then on the request is in flight.
  const pending = httpRequest(service.url + orgs, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${operatorKey}`,
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
      expect: '100-continue',
    },
  });
  const answered = new Promise<IncomingMessage>((resolve, reject) => {
    pending.once('response', resolve).once('error', reject);
  });
  const admitted = new Promise((resolve) => pending.once('continue', resolve));
  pending.flushHeaders();
  await admitted;

  service.spawned.child.kill('SIGTERM');
  await eventually(() => expect(service.log().some(({ msg }) => msg.startsWith('draining'))).toBe(true));
  await expect(service.request('GET', '/healthz')).rejects.toThrow();
  pending.end(body);
  expect((await answered).statusCode).toBe(201);
  expect(await service.spawned.ended).toEqual(hasStopped);
  expect(service.spawned.stderr()).toBe('');

  await inspectDatabase(place, async (db) => {
    expect(await db.query(`SELECT id FROM orgs WHERE name = 'Last call'`, [])).toHaveLength(1);
  });
});

test('an unexpected fault tells the client a trace id, and the log the rest', async () => {
  const service = await startFaulty(settings);
  const inside = 'the inner workings of table tb_x1';
  const ask: Record<string, () => ReturnType<ServiceProcess['request']>> = {
    'orgs.list': () => service.request('GET', orgs),
    'orgs.create': () => service.request('POST', orgs, { body: { name: 'Faulty' } }),
  };
  for (const [routeId, send] of Object.entries(ask)) {
    await service.throwAt('handler', routeId, inside);
    const { status, json, text, headers } = await send();
    expect(status).toBe(500);
    expect(json.error).toEqual({ code: 'internal', message: expect.any(String), details: {} });
    expect(text + JSON.stringify(headers)).not.toMatch(/inner workings|tb_x1|Error:|faulty-server/);
    const traceId = headers['x-svc-trace-id'];
    await eventually(() => {
      const lines = service.log().filter((line) => line.traceId === traceId);
      expect(lines).toContainEqual(
        expect.objectContaining({
          level: 'error',
          err: expect.objectContaining({ message: inside, stack: expect.stringContaining('faulty-server') }),
        }),
      );
      expect(lines).toContainEqual(expect.objectContaining({ status: 500, code: 'internal' }));
    });
    expect((await send()).status, 'the next request is served').toBeLessThan(300);
  }
  expect((await service.request('GET', `${orgs}?name=Faulty`)).json.data).toHaveLength(1);
});

test('with the standard setting, spans that name the route go to the collector', async () => {
  const received: { path: string | undefined; body: Buffer }[] = [];
  const collector = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) {
      chunks.push(chunk as Buffer);
    }
    received.push({ path: request.url, body: Buffer.concat(chunks) });
    response.end();
  }).listen(0, '127.0.0.1');
  await eventually(() => expect(collector.listening).toBe(true));
  const endpoint = `http://127.0.0.1:${(collector.address() as AddressInfo).port}`;

  const service = await startPurser({
    ...settings,
    OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
    OTEL_SERVICE_NAME: 'the-books',
  });
  const answer = await service.request('GET', `${orgs}/org_missing`);
  expect(answer.status).toBe(404);
  // Buffered spans are sent during the drain, so all have arrived once the process has ended.
  expect(await service.end('SIGTERM')).toEqual(hasStopped);
  expect(received.map(({ path }) => path)).toContain('/v1/traces');
  // Protobuf contains strings unchanged.
  const sent = Buffer.concat(received.map(({ body }) => body)).toString('latin1');
  expect(sent).toContain(`GET ${orgs}/{org_id}`);
  expect(sent).toContain('http.route');
  expect(sent).toContain('the-books');
  expect(sent).toContain(answer.headers['x-svc-trace-id']);
  expect(sent).not.toContain('org_missing');
  expect(sent).not.toContain(operatorKey);
  collector.close();
});
