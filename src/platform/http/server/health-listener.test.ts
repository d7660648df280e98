/** The health listener answers while the event loop of the process is blocked. */
import { once } from 'node:events';
import { request } from 'node:http';
import { type AddressInfo, createConnection, createServer } from 'node:net';
import { text } from 'node:stream/consumers';
import { Worker } from 'node:worker_threads';
import { afterEach, expect, test } from 'vitest';
import { eventually } from '../../../../test/support/eventually.ts';
import { createLog } from '../../log.ts';
import { type HealthListener, openHealthListener } from './health-listener.ts';
import {
  answerHealth,
  createHealthState,
  deadAfterStallMs,
  monotonicMs,
  publishHealth,
  unreadyAfterStallMs,
} from './health-state.js';
import { ProcessHealth } from './process-health.ts';

const log = createLog('silent');
const closing: (() => Promise<void> | void)[] = [];

afterEach(async () => {
  for (const close of closing.splice(0)) {
    await close();
  }
});

async function open(state: SharedArrayBuffer, port = 0): Promise<HealthListener> {
  const listener = await openHealthListener({ host: '127.0.0.1', port, state, log });
  closing.push(() => listener.close());
  return listener;
}

function processHealth(): ProcessHealth {
  const health = new ProcessHealth();
  closing.push(() => health.close());
  return health;
}

async function get(port: number, path: string, method = 'GET') {
  const sent = request({ host: '127.0.0.1', port, path, method }).end();
  const [response] = await once(sent, 'response');
  const body = await text(response);
  return { status: response.statusCode as number, body: body === '' ? undefined : JSON.parse(body) };
}

test('answers liveness and readiness, and nothing else', async () => {
  const health = processHealth();
  const { port } = await open(health.state);
  expect(await get(port, '/healthz')).toEqual({ status: 200, body: { status: 'ok' } });
  expect(await get(port, '/readyz')).toMatchObject({ status: 503, body: { reasons: ['starting'] } });
  health.set('starting', false);
  expect(await get(port, '/readyz?verbose')).toEqual({
    status: 200,
    body: { status: 'ready', database: 'up', draining: false, reasons: [] },
  });
  expect(await get(port, '/readyz', 'HEAD')).toEqual({ status: 200, body: undefined });
  health.set('database_not_writable', true);
  health.set('draining', true);
  expect(await get(port, '/readyz')).toEqual({
    status: 503,
    body: {
      status: 'unavailable',
      database: 'down',
      draining: true,
      reasons: ['draining', 'database_not_writable'],
    },
  });
  expect(await get(port, '/healthz')).toMatchObject({ status: 200 });
  for (const [path, method] of [
    ['/metrics', 'GET'],
    ['/', 'GET'],
    ['/healthz', 'POST'],
  ]) {
    expect(await get(port, path ?? '', method)).toMatchObject({
      status: 404,
      body: { error: { code: 'not_found' } },
    });
  }
});

/** Asks from another thread, and writes the status into shared memory. */
const asker = `
  const { workerData: { port, path, seen } } = require('node:worker_threads');
  require('node:http').get({ host: '127.0.0.1', port, path }, (response) => {
    const values = new Int32Array(seen);
    Atomics.store(values, 0, response.statusCode);
    Atomics.notify(values, 0);
    response.resume();
  });`;

test('answers while the event loop of the process is blocked', async () => {
  const health = processHealth();
  health.set('starting', false);
  const { port } = await open(health.state);
  for (const path of ['/healthz', '/readyz']) {
    const seen = new SharedArrayBuffer(4);
    const worker = new Worker(asker, { eval: true, workerData: { port, path, seen } });
    await once(worker, 'online');
    // Blocks this thread until the answer has arrived in the other one.
    Atomics.wait(new Int32Array(seen), 0, 0);
    expect(Atomics.load(new Int32Array(seen), 0)).toBe(200);
    await worker.terminate();
  }
});

test('an event loop that stalls is first unready, then dead', () => {
  const state = createHealthState();
  publishHealth(state, [], 1_000);
  const statuses = (stalledMs: number) =>
    ['/readyz', '/healthz'].map((path) => answerHealth(path, state, 1_000 + stalledMs)?.status);
  expect(statuses(unreadyAfterStallMs - 1)).toEqual([200, 200]);
  expect(statuses(unreadyAfterStallMs)).toEqual([503, 200]);
  expect(statuses(deadAfterStallMs - 1)).toEqual([503, 200]);
  expect(statuses(deadAfterStallMs)).toEqual([503, 503]);
  expect(JSON.parse(answerHealth('/readyz', state, 1_000 + unreadyAfterStallMs)?.body ?? '')).toMatchObject({
    database: 'up',
    reasons: ['event_loop_stalled'],
  });
  publishHealth(state, [], 99_000);
  expect(answerHealth('/healthz', state, 99_000)?.status).toBe(200);
});

test('the main port reports no stall: to answer proves that the loop turns', () => {
  const health = processHealth();
  health.set('starting', false);
  publishHealth(health.state, [], monotonicMs() - deadAfterStallMs);
  expect([health.answer('/healthz').status, health.answer('/readyz').status]).toEqual([200, 200]);
});

test('names the setting if the port is in use', async () => {
  const other = createServer().listen(0, '127.0.0.1');
  await once(other, 'listening');
  const { port } = other.address() as AddressInfo;
  await expect(open(createHealthState(), port)).rejects.toThrow(/SVC_HEALTH_PORT.*EADDRINUSE/);
  other.close();
});

test('connections that send nothing do not take the places of probes for good', async () => {
  const health = processHealth();
  const { port } = await open(health.state);
  const idle = Array.from({ length: 100 }, () => createConnection(port, '127.0.0.1'));
  closing.push(() => {
    for (const socket of idle) {
      socket.destroy();
    }
  });
  await Promise.all(idle.map((socket) => once(socket, 'connect')));
  await eventually(async () => expect((await get(port, '/healthz')).status).toBe(200));
});
