/**
 * The process from the view of an operator, started repeatedly at the same place: a given key, a directory in use, and
 * the shutdown.
 */
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { generateKey } from '../../src/platform/http/routes/key-format.ts';
import { endAllProcesses, runPurser } from '../support/child-process.ts';
import { operatorKey, type ServiceProcess, settingsOf, startPurser } from '../support/service-process.ts';
import { engine, makePlace, type Place } from '../support/test-database.ts';

const orgs = '/v1/admin/orgs';
let place: Place;
let settings: Record<string, string>;
let service: ServiceProcess;
/** Accepts what is sent to it, and never responds. */
let collector: Server;
let wasAskedToCollect = false;
/** Longer than any test takes: a process that waited this long would not end in time. */
const neverMs = 3_600_000;
beforeAll(async () => {
  collector = createServer((socket) => {
    wasAskedToCollect = true;
    socket.on('error', () => undefined).resume();
  }).listen(0, '127.0.0.1');
  await once(collector, 'listening');
  place = await makePlace({ migrated: true });
  settings = {
    ...settingsOf(place),
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${(collector.address() as AddressInfo).port}`,
    OTEL_EXPORTER_OTLP_TIMEOUT: String(neverMs),
    OTEL_BSP_EXPORT_TIMEOUT: String(neverMs),
    SVC_DRAIN_SECONDS: String(neverMs / 1_000),
  };
  service = await startPurser(settings);
});
afterAll(async () => {
  await endAllProcesses();
  collector.close();
  await place?.remove();
});

test('takes the key that the operator chose, and writes no file', async () => {
  expect((await service.request('GET', orgs, { key: operatorKey })).status).toBe(200);
  expect((await service.request('GET', orgs, { key: generateKey('test') })).status).toBe(401);
  expect(existsSync(join(place.dataDir, 'operator-key'))).toBe(false);
  expect(service.spawned.stdout() + service.spawned.stderr()).not.toContain(operatorKey);
});

test.runIf(engine === 'embedded')(
  'a data directory in use is refused, until its process is gone',
  async () => {
    for (const command of ['serve', 'migrate']) {
      const { code, stderr } = await runPurser([command], settings);
      expect(code).toBe(1);
      expect(stderr).toMatch(/^purser: the data directory .+ is in use by another Purser process .+\n$/);
      expect(stderr).toContain(place.dataDir);
      expect(stderr).toContain(`pid ${service.spawned.child.pid}`);
    }
    expect((await service.request('POST', orgs, { body: { name: 'Unharmed' } })).status).toBe(201);

    await service.end('SIGKILL');
    expect(existsSync(join(place.dataDir, 'lock')), 'the lock of the dead is still there').toBe(true);
    service = await startPurser(settings);
    expect((await service.request('GET', `${orgs}?name=Unharmed`)).json.data).toHaveLength(1);
  },
);

test('SIGTERM waits neither for connections that send nothing nor for a collector that does not answer', async () => {
  const silent = connect(Number(new URL(service.url).port), '127.0.0.1');
  await once(silent, 'connect');
  silent.on('error', () => undefined);
  expect((await service.request('GET', orgs)).status).toBe(200);
  expect(await service.end('SIGTERM')).toEqual({ code: 0, signal: null });
  expect(wasAskedToCollect).toBe(true);
  silent.destroy();
  expect(existsSync(join(place.dataDir, 'lock'))).toBe(false);
});
