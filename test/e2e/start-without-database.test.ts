/** A start without a database waits for it, with an open port. A wrong password or database is reported at once. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { endAllProcesses, runPurser, spawnPurser } from '../support/child-process.ts';
import { eventually } from '../support/eventually.ts';
import { freePort } from '../support/free-port.ts';
import { type Cluster, findPostgres, startCluster } from '../support/postgres-cluster.ts';
import { scratch } from '../support/scratch.ts';
import { settingsOf } from '../support/service-process.ts';
import { engine, makePlace, type Place } from '../support/test-database.ts';

describe.runIf(engine === 'postgres')('without a database', () => {
  let cluster: Cluster;
  let place: Place;
  beforeAll(async () => {
    cluster = await startCluster(findPostgres() ?? '', scratch);
    place = { ...(await makePlace({ migrated: false })), databaseUrl: cluster.url };
  });
  afterEach(endAllProcesses);
  afterAll(async () => {
    await cluster?.remove();
    await place?.remove();
  });

  test('a start waits, says what for, and continues when the database is there', async () => {
    await cluster.kill();
    const port = await freePort();
    const spawned = spawnPurser(['serve'], { ...settingsOf(place), SVC_PORT: String(port) });
    const answer = async (path: string) => {
      const response = await fetch(`http://127.0.0.1:${port}${path}`);
      return { status: response.status, text: await response.text() };
    };
    await eventually(async () => expect((await answer('/healthz')).status).toBe(200));
    expect(await answer('/readyz')).toMatchObject({ status: 503, text: expect.stringContaining('"down"') });
    expect(await answer('/v1/runs')).toMatchObject({
      status: 503,
      text: expect.stringContaining('"service_unavailable"'),
    });
    const { port: databasePort } = new URL(cluster.url);
    await eventually(() =>
      expect(spawned.stdout()).toMatch(
        new RegExp(`waiting for the database: .*ECONNREFUSED 127\\.0\\.0\\.1:${databasePort}`),
      ),
    );
    await cluster.start();
    await eventually(async () => expect((await answer('/readyz')).status).toBe(200));
    expect(await spawned.end('SIGTERM')).toEqual({ code: 0, signal: null });
  });

  test('SIGTERM ends the wait', async () => {
    const port = await freePort();
    const spawned = spawnPurser(['serve'], {
      ...settingsOf(place),
      SVC_DATABASE_URL: `postgres://purser:hunter2@127.0.0.1:${port}/postgres`,
    });
    await eventually(() => expect(spawned.stdout()).toContain('waiting for the database: '));
    expect(spawned.stdout() + spawned.stderr()).not.toContain('hunter2');
    expect(await spawned.end('SIGTERM')).toEqual({ code: 0, signal: null });
  });

  test.each([
    ['a database that does not exist', 'postgres://purser@HOST/nowhere', 'database "nowhere" does not exist'],
    ['a role that does not exist', 'postgres://nobody@HOST/postgres', 'role "nobody" does not exist'],
  ])('%s ends the start with a clear message', async (_, url, message) => {
    const { host } = new URL(cluster.url);
    const { code, stderr } = await runPurser(['serve'], {
      ...settingsOf(place),
      SVC_DATABASE_URL: url.replace('HOST', host),
    });
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining(message) });
    expect(stderr).toContain('SVC_DATABASE_URL');
  });
});
