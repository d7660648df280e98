/** `/readyz` says whether writes succeed, recovers unaided, and is answered beside any number of connections. */
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createConnection, type Socket } from 'node:net';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { endAllProcesses } from '../support/child-process.ts';
import { eventually } from '../support/eventually.ts';
import { type Cluster, findPostgres, startCluster } from '../support/postgres-cluster.ts';
import { rawRequest } from '../support/raw-socket.ts';
import { scratch } from '../support/scratch.ts';
import { type ServiceProcess, settingsOf, startPurser } from '../support/service-process.ts';
import { engine, makePlace, type Place } from '../support/test-database.ts';

afterEach(endAllProcesses);

const healthUrlOf = (service: ServiceProcess) =>
  String(service.log().find(({ msg }) => msg === 'health listener is open')?.url);

/** Returns the readiness as both listeners report it. */
async function readinessOf(service: ServiceProcess) {
  const [main, own] = await Promise.all(
    [service.url, healthUrlOf(service)].map(async (url) => {
      const response = await fetch(`${url}/readyz`);
      const { reasons } = (await response.json()) as { reasons: string[] };
      return { status: response.status, reasons };
    }),
  );
  expect(own).toEqual(main);
  return own;
}

const ready = { status: 200, reasons: [] };

describe.runIf(engine === 'postgres')('PostgreSQL that answers queries but commits nothing', () => {
  let cluster: Cluster;
  let place: Place;
  beforeAll(async () => {
    cluster = await startCluster(findPostgres() ?? '', scratch);
    const { dataDir, remove } = await makePlace({ migrated: true });
    place = { dataDir, remove, databaseUrl: cluster.url };
  });
  afterAll(async () => {
    await cluster?.remove();
    await place?.remove();
  });

  /** Changes a setting of the running server. */
  async function configure(change: string): Promise<void> {
    const client = new pg.Client(cluster.url);
    await client.connect();
    await client.query('SET default_transaction_read_only = off');
    await client.query(`ALTER SYSTEM ${change}`);
    await client.query('SELECT pg_reload_conf()');
    await client.end();
  }

  test('a process whose PostgreSQL commits nothing is not ready, reads go on, and it is ready again once commits succeed', async () => {
    const service = await startPurser({ ...settingsOf(place), SVC_HEALTH_PORT: '0' });
    const notWritable = { status: 503, reasons: ['database_not_writable'] };
    for (const [stop, goOn] of [
      ['SET default_transaction_read_only = on', 'RESET default_transaction_read_only'],
      // A synchronous standby that does not exist: every COMMIT waits for it.
      ["SET synchronous_standby_names = 'missing'", 'RESET synchronous_standby_names'],
    ]) {
      expect(await readinessOf(service), stop).toEqual(ready);
      await configure(stop ?? '');
      await eventually(async () => expect(await readinessOf(service), stop).toEqual(notWritable));
      expect((await service.request('GET', '/v1/admin/orgs?limit=1')).status, stop).toBe(200);
      expect((await fetch(`${healthUrlOf(service)}/healthz`)).status, stop).toBe(200);
      await configure(goOn ?? '');
      await eventually(async () => expect(await readinessOf(service), goOn).toEqual(ready));
    }
    const created = await service.request('POST', '/v1/admin/orgs', { body: { name: 'Afterwards' } });
    expect(created.status).toBe(201);
  });
});

const mount = (directory: string) =>
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=400m', 'purser-test', directory], { stdio: 'pipe' });
const unmount = (directory: string) => execFileSync('umount', ['-l', directory], { stdio: 'pipe' });

function canMount(): boolean {
  const directory = mkdtempSync(join(scratch, 'purser-mount-'));
  try {
    mount(directory);
    unmount(directory);
    return true;
  } catch {
    return false;
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

/** Takes all space that is left. */
function fill(path: string): void {
  try {
    writeFileSync(path, Buffer.alloc(400 * 1_048_576));
  } catch (error) {
    expect(error).toMatchObject({ code: 'ENOSPC' });
  }
}

describe.runIf(engine === 'embedded' && canMount())('a full disk under the data directory', () => {
  let directory: string;
  beforeAll(async () => {
    const place = await makePlace({ migrated: true });
    directory = mkdtempSync(join(scratch, 'purser-full-'));
    mount(directory);
    cpSync(place.dataDir, directory, { recursive: true });
    await place.remove();
  });
  afterAll(async () => {
    await endAllProcesses();
    unmount(directory);
    rmSync(directory, { recursive: true, force: true });
  });

  test('a process whose data directory is full is not ready, and ready again once there is space', async () => {
    const place = { dataDir: directory, databaseUrl: undefined, remove: async () => undefined };
    const service = await startPurser({ ...settingsOf(place), SVC_HEALTH_PORT: '0' });
    expect(await readinessOf(service)).toEqual(ready);
    fill(join(directory, 'filler'));
    await eventually(async () => {
      const { status, reasons } = (await readinessOf(service)) ?? {};
      expect([status, reasons?.includes('data_directory_not_writable')]).toEqual([503, true]);
    });
    rmSync(join(directory, 'filler'));
    await eventually(async () => expect(await readinessOf(service)).toEqual(ready));
  });
});

describe.runIf(engine === 'embedded')('1,500 connections', () => {
  const count = 1_500;
  const requestsPerConnection = 5;

  test('1,500 connections do not delay the answers of the health listener', async () => {
    const place = await makePlace({ migrated: true });
    const service = await startPurser({ ...settingsOf(place), SVC_HEALTH_PORT: '0' });
    const { hostname, port } = new URL(service.url);
    const sockets: Socket[] = [];
    let answered = 0;
    const allAnswered = new Promise<void>((resolve) => {
      for (let n = 0; n < count; n += 1) {
        const socket = createConnection(Number(port), hostname);
        let answers = 0;
        socket.setEncoding('latin1').on('data', (text: string) => {
          answers += text.split('HTTP/1.1 200').length - 1;
          if (answers === requestsPerConnection) {
            answered += 1;
            if (answered === count) {
              resolve();
            }
          }
        });
        sockets.push(socket);
      }
    });
    await Promise.all(sockets.map((socket) => once(socket, 'connect')));
    for (const socket of sockets) {
      socket.write(rawRequest('GET', '/v1/meta/errors').repeat(requestsPerConnection));
    }
    for (const path of ['/healthz', '/readyz']) {
      expect((await fetch(healthUrlOf(service) + path)).status).toBe(200);
      // While connections still wait for their answers.
      expect(answered).toBeLessThan(count);
    }
    await allAnswered;
    for (const socket of sockets) {
      socket.destroy();
    }
    await service.end('SIGTERM');
    await place.remove();
  });
});
