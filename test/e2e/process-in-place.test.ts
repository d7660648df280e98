/** The process as an operator meets it, one after the other at the same place: chosen key, taken directory, and the end. */
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { generateKey } from '../../src/platform/http/key-format.ts';
import { endAllProcesses, processTimeouts, runPurser } from '../support/child-process.ts';
import { operatorKey, type ServiceProcess, settingsOf, startPurser } from '../support/service-process.ts';
import { engine, makePlace, type Place } from '../support/test-database.ts';

vi.setConfig(processTimeouts);

const orgs = '/v1/admin/orgs';
let place: Place;
let settings: Record<string, string>;
let service: ServiceProcess;
/** Nobody listens there. */
const collector = 'http://127.0.0.1:1';
beforeAll(async () => {
  place = await makePlace({ migrated: true });
  settings = { ...settingsOf(place), OTEL_EXPORTER_OTLP_ENDPOINT: collector, SVC_DRAIN_SECONDS: '60' };
  service = await startPurser(settings);
});
afterAll(async () => {
  await endAllProcesses();
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

test('SIGTERM waits neither for connections that have nothing to say nor for a collector that is away', async () => {
  const silent = connect(Number(new URL(service.url).port), '127.0.0.1');
  await once(silent, 'connect');
  silent.on('error', () => undefined);
  expect((await service.request('GET', orgs)).status).toBe(200);
  const toldMs = performance.now();
  expect(await service.end('SIGTERM')).toEqual({ code: 0, signal: null });
  // The exporter alone would retry for many seconds, the drain would wait for a minute.
  expect(performance.now() - toldMs).toBeLessThan(6_000);
  silent.destroy();
  expect(existsSync(join(place.dataDir, 'lock'))).toBe(false);
});
