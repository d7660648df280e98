/** `purser doctor` under real conditions: each check reports what is wrong, and the remedy. */
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { checkFileDescriptors, checkTimeZones } from '../../src/cli/doctor/host-checks.ts';
import { endAllProcesses } from '../support/child-process.ts';
import { inspectDatabase } from '../support/database-inspection.ts';
import { examine as examineDeployment, type Report } from '../support/doctor.ts';
import { endAllRedis, findRedis, startRedis } from '../support/redis.ts';
import { type ServiceProcess, settingsOf, startPurser } from '../support/service-process.ts';
import { engine, makePlace, type Place } from '../support/test-database.ts';

let place: Place;
let settings: Record<string, string>;
const cleanUps: (() => void)[] = [];
/** Each test gets a new place, or all tests of a `describe` the same one. */
function usePlace(how: 'each' | 'all'): void {
  const [before, after] = how === 'each' ? [beforeEach, afterEach] : [beforeAll, afterAll];
  before(async () => {
    place = await makePlace({ migrated: true });
    settings = settingsOf(place);
  });
  after(async () => {
    await endAllProcesses();
    runCleanUps();
    await place.remove();
  });
}
afterEach(() => {
  vi.useRealTimers();
  endAllRedis();
  runCleanUps();
});

function runCleanUps(): void {
  for (const cleanUp of cleanUps.splice(0)) {
    cleanUp();
  }
}

const examine = (more: Record<string, string> = {}, url?: string) =>
  examineDeployment({ ...settings, ...more }, url);
const statusOf = (report: Report, id: string) => report[id]?.status;

async function onDatabase(sql: string): Promise<void> {
  const client = new pg.Client(place.databaseUrl);
  await client.connect();
  await client.query(sql);
  await client.end();
}

describe('on a machine', () => {
  usePlace('each');
  test.runIf(engine === 'embedded')('finds nothing wrong with a new data directory', async () => {
    rmSync(join(place.dataDir, 'database'), { recursive: true });
    chmodSync(place.dataDir, 0o700);
    const report = await examine();
    expect(Object.values(report).filter(({ status }) => status === 'warn' || status === 'fail')).toEqual([]);
    expect(report.database?.finding).toMatch(/`serve` creates it/);
  });

  test.runIf(engine === 'embedded')('reports a port that another program uses', async () => {
    const other = createServer((_, response) => response.end('not Purser')).listen(0, '127.0.0.1');
    await new Promise((resolve) => other.once('listening', resolve));
    cleanUps.push(() => other.close());
    const report = await examine({ SVC_PORT: String((other.address() as AddressInfo).port) });
    expect(report.port).toMatchObject({ status: 'fail', remedy: expect.stringMatching(/SVC_PORT/) });
    expect(statusOf(report, 'service')).toBe('skip');
    await new Promise((resolve) => other.close(resolve));
  });

  test.runIf(engine === 'embedded')(
    'reports a base URL that is missing, unencrypted or leads elsewhere',
    async () => {
      const open = await examine({ SVC_HOST: '0.0.0.0' });
      expect(open['base-url']).toMatchObject({ status: 'warn', finding: expect.stringMatching(/not set/) });
      const plain = await examine({ SVC_BASE_URL: 'http://purser.example.com' });
      expect(plain['base-url']).toMatchObject({
        status: 'warn',
        finding: expect.stringMatching(/without encryption/),
      });
      expect((await examine({ SVC_BASE_URL: 'https://purser.example.com' }))['base-url']?.status).toBe('ok');
    },
  );

  test('reports few file descriptors and missing time zones', () => {
    const limits = (hard: string) =>
      `Limit  Soft Limit  Hard Limit  Units\nMax open files            1024                 ${hard}                files\n`;
    expect(checkFileDescriptors(limits('1024'))).toMatchObject({
      status: 'warn',
      remedy: expect.stringMatching(/4096/),
    });
    expect(checkFileDescriptors(limits('4096')).status).toBe('ok');
    expect(checkFileDescriptors(limits('unlimited')).status).toBe('ok');
    expect(checkFileDescriptors(undefined).status).toBe('skip');
    expect(checkTimeZones(Intl.DateTimeFormat).status).toBe('ok');
    const onlyUtc = ((locale: string, options: Intl.DateTimeFormatOptions) =>
      new Intl.DateTimeFormat(locale, { ...options, timeZone: 'UTC' })) as typeof Intl.DateTimeFormat;
    expect(checkTimeZones(onlyUtc).status).toBe('fail');
    const none = (() => {
      throw new RangeError('Invalid time zone specified');
    }) as unknown as typeof Intl.DateTimeFormat;
    expect(checkTimeZones(none).status).toBe('fail');
  });
});

/** Mounting needs root and its capabilities, which a container often lacks. */
function canMount(directory: string): boolean {
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=4m', 'tmpfs', directory], { stdio: 'pipe' });
  } catch {
    return false;
  }
  cleanUps.push(() => execFileSync('umount', ['--lazy', directory]));
  return true;
}

describe.runIf(engine === 'embedded')('on a disk', () => {
  usePlace('each');
  let small: string;
  beforeEach(() => {
    small = join(place.dataDir, 'small');
    mkdirSync(small);
  });

  test('reports a full one', async ({ skip }) => {
    skip(!canMount(small), 'this user may not mount file systems');
    expect(() => writeFileSync(join(small, 'filling'), Buffer.alloc(8_000_000))).toThrow(/ENOSPC/);
    const report = await examine({ SVC_DATA_DIR: small });
    expect(report['disk-space']).toMatchObject({
      status: 'fail',
      finding: expect.stringMatching(/^0\.0 GB/),
    });
    expect(report['disk-sync']).toMatchObject({ status: 'fail', finding: expect.stringMatching(/ENOSPC/) });
  });

  test('reports a read-only one', async ({ skip }) => {
    skip(!canMount(small), 'this user may not mount file systems');
    execFileSync('mount', ['-o', 'remount,ro', small]);
    const report = await examine({ SVC_DATA_DIR: small });
    expect(report['data-directory']).toMatchObject({
      status: 'fail',
      finding: expect.stringMatching(/EROFS/),
    });
    expect(statusOf(report, 'disk-sync')).toBe('fail');
  });

  test('reports a data directory that other users may access', async () => {
    chmodSync(place.dataDir, 0o755);
    expect((await examine())['data-directory']).toMatchObject({
      status: 'warn',
      remedy: expect.stringMatching(/chmod 0700/),
    });
  });
});

describe('on keys', () => {
  usePlace('all');
  // The first start creates the key of secrets, and stores a secret.
  beforeAll(async () => {
    const service = await startPurser(settings);
    await service.end('SIGTERM');
  });

  test('reports files that other users may read', async () => {
    const { SVC_BOOTSTRAP_OPERATOR_KEY: key = '' } = settings;
    writeFileSync(join(place.dataDir, 'operator-key'), key);
    chmodSync(join(place.dataDir, 'operator-key'), 0o644);
    chmodSync(join(place.dataDir, 'secrets-key'), 0o640);
    const report = await examine();
    chmodSync(join(place.dataDir, 'secrets-key'), 0o600);
    expect(report['secrets-key']).toMatchObject({ status: 'fail', finding: expect.stringMatching(/0640/) });
    expect(report['operator-key']).toMatchObject({
      status: 'fail',
      remedy: expect.stringMatching(/chmod 0600/),
    });
  });

  test('reports a key that does not decrypt the stored secrets, a lost one and a broken one', async () => {
    expect(statusOf(await examine(), 'secrets-decrypt')).toBe('ok');
    const other = await examine({ SVC_SECRETS_KEY: 'ab'.repeat(32) });
    expect(other['secrets-decrypt']).toMatchObject({
      status: 'fail',
      finding: expect.stringMatching(/another key/),
    });
    writeFileSync(join(place.dataDir, 'secrets-key'), 'half a key');
    expect(statusOf(await examine(), 'secrets-key')).toBe('fail');
    rmSync(join(place.dataDir, 'secrets-key'));
    expect((await examine())['secrets-decrypt']).toMatchObject({
      status: 'fail',
      remedy: expect.stringMatching(/SVC_SECRETS_KEY/),
    });
  });
});

describe('with the service running', () => {
  usePlace('all');
  let service: ServiceProcess;
  beforeAll(async () => {
    service = await startPurser({ ...settings, SVC_HOLDS_MAX: '10' });
  });

  test('finds it, its keys and its data in order', async () => {
    const report = await examine({}, service.url);
    const ids = [
      'service',
      'database',
      'credentials',
      'secrets-decrypt',
      'operator-key',
      'holds',
      'drift',
      'prices',
      'webhooks',
      'retention',
    ];
    expect(ids.map((id) => [id, statusOf(report, id)])).toEqual(ids.map((id) => [id, 'ok']));
    expect(report.holds?.finding).toMatch(/^0 open holds/);
  });

  test('reports a base URL that leads to another program', async () => {
    const other = createServer((_, response) => response.end('not Purser')).listen(0, '127.0.0.1');
    await new Promise((resolve) => other.once('listening', resolve));
    cleanUps.push(() => other.close());
    const elsewhere = `http://127.0.0.1:${(other.address() as AddressInfo).port}`;
    expect(statusOf(await examine({ SVC_BASE_URL: elsewhere }, service.url), 'base-url-reachable')).toBe(
      'fail',
    );
    expect(statusOf(await examine({ SVC_BASE_URL: service.url }, service.url), 'base-url-reachable')).toBe(
      'ok',
    );
    await new Promise((resolve) => other.close(resolve));
    expect(statusOf(await examine({ SVC_BASE_URL: elsewhere }, service.url), 'base-url-reachable')).toBe(
      'warn',
    );
  });

  test('reports an operator key that the service rejects', async () => {
    const { json } = await service.request('POST', '/v1/admin/keys', { body: { name: 'short-lived' } });
    await service.request('DELETE', `/v1/admin/keys/${json.id}`);
    const report = await examine({ SVC_BOOTSTRAP_OPERATOR_KEY: json.secret }, service.url);
    expect(report['operator-key']).toMatchObject({ status: 'warn', finding: expect.stringMatching(/410/) });
  });

  test.runIf(engine === 'embedded')('reports that open holds are close to their maximum', async () => {
    const { json: org } = await service.request('POST', '/v1/admin/orgs', { body: { name: 'Busy' } });
    const body = { name: 'gateway', role: 'member', scopes: ['edge:decide'] };
    const { json: key } = await service.request('POST', `/v1/admin/orgs/${org.id}/keys`, { body });
    const decide = () =>
      service.request('POST', '/v1/edge/decision', {
        key: key.secret,
        body: { model: 'm', estimated_cost_usd: '1' },
      });
    for (let holds = 0; holds < 8; holds += 1) {
      expect((await decide()).status).toBe(200);
    }
    const report = await examine({ SVC_HOLDS_MAX: '10' }, service.url);
    expect(report.holds).toMatchObject({
      status: 'warn',
      finding: expect.stringMatching(/^8 open holds of at most 10/),
    });
  });

  test.runIf(engine === 'embedded')(
    'says that another process has the database, if it does not find the service',
    async () => {
      const report = await examine({}, 'http://127.0.0.1:1');
      expect(report.database).toMatchObject({ status: 'warn', remedy: expect.stringMatching(/--url/) });
      expect(statusOf(report, 'migrations')).toBe('skip');
    },
  );
});

describe('on data', () => {
  usePlace('each');
  test('reports old prices, pending migrations and migrations of another build', async () => {
    await inspectDatabase(place, async (db) => {
      await db.query(`UPDATE schema_migrations SET applied_at = now() - interval '100 days'`, []);
      await db.query(
        `DELETE FROM schema_migrations WHERE version = (SELECT max(version) FROM schema_migrations)`,
        [],
      );
    });
    const report = await examine();
    expect(report.prices).toMatchObject({ status: 'warn', finding: expect.stringMatching(/100 days ago/) });
    expect(report.migrations).toMatchObject({
      status: 'warn',
      remedy: expect.stringMatching(/purser migrate/),
    });
    await inspectDatabase(place, async (db) => {
      await db.query(
        `INSERT INTO schema_migrations (version, name, checksum) VALUES (9999, '9999_later.sql', '')`,
        [],
      );
    });
    expect(statusOf(await examine(), 'migrations')).toBe('fail');
  });

  test('reports a clock that is behind', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() - 3_600_000 });
    // The embedded database has the clock of this machine: the last write shows that the clock was set back.
    await inspectDatabase(place, async (db) => {
      await db.query('UPDATE schema_migrations SET applied_at = clock_timestamp()', []);
    });
    expect((await examine()).clock).toMatchObject({
      status: 'fail',
      finding: expect.stringMatching(/3[56]\d\d\.\d s behind/),
    });
  });
});

describe.runIf(engine === 'postgres')('on PostgreSQL', () => {
  usePlace('each');
  test('reports settings that can lose acknowledged spend', async () => {
    // The servers of the tests run without fsync.
    await onDatabase(`ALTER DATABASE ${nameOf(place)} SET synchronous_commit = off`);
    expect((await examine())['postgres-durability']).toMatchObject({
      status: 'fail',
      finding: expect.stringMatching(/^fsync and synchronous_commit are off/),
    });
  });

  test('reports read-only transactions, another isolation level, and a low connection limit', async () => {
    await onDatabase(`ALTER DATABASE ${nameOf(place)} SET default_transaction_isolation = 'serializable'`);
    await onDatabase(`ALTER DATABASE ${nameOf(place)} CONNECTION LIMIT 15`);
    const first = await examine();
    expect(first['postgres-settings']).toMatchObject({
      status: 'warn',
      finding: expect.stringMatching(/serializable/),
    });
    expect(first['postgres-connections']).toMatchObject({
      status: 'warn',
      finding: expect.stringMatching(/need 22 connections, 15/),
    });
    await onDatabase(`ALTER DATABASE ${nameOf(place)} CONNECTION LIMIT 5`);
    await onDatabase(`ALTER DATABASE ${nameOf(place)} SET default_transaction_read_only = on`);
    const second = await examine();
    expect(statusOf(second, 'postgres-connections')).toBe('fail');
    const failures = Object.values(second).filter(({ status }) => status === 'fail');
    expect(failures.map(({ finding }) => finding)).toContainEqual(expect.stringMatching(/read-only/));
    expect(second['secrets-decrypt']?.status).not.toBe('ok');
  });

  test('reports a role that may not create tables', async () => {
    const role = `doctor_${nameOf(place)}`;
    await onDatabase(
      `CREATE ROLE ${role} LOGIN; REVOKE CREATE ON SCHEMA public FROM PUBLIC; GRANT SELECT ON ALL TABLES IN SCHEMA public TO ${role}`,
    );
    const url = new URL(place.databaseUrl ?? '');
    url.username = role;
    const report = await examine({ SVC_DATABASE_URL: url.href });
    expect(report['postgres-privileges']).toMatchObject({
      status: 'fail',
      remedy: expect.stringMatching(/GRANT CREATE/),
    });
    await onDatabase(`DROP OWNED BY ${role}; DROP ROLE ${role}`);
  });

  test('reports an unreachable database, and still checks the rest', async () => {
    const report = await examine({ SVC_DATABASE_URL: 'postgres://purser@127.0.0.1:1/purser' });
    expect(report.database).toMatchObject({
      status: 'fail',
      remedy: expect.stringMatching(/SVC_DATABASE_URL/),
    });
    expect(statusOf(report, 'notifications')).toBe('skip');
    expect(statusOf(report, 'disk-space')).toBe('ok');
  });

  test('a notification comes back, and the connection is direct', async () => {
    const report = await examine();
    expect([statusOf(report, 'notifications'), report.pooler?.finding]).toEqual([
      'ok',
      'A direct connection.',
    ]);
  });

  test('reports overdue holds, a ledger that does not balance, and overdue deliveries', async () => {
    const service = await startPurser(settings);
    const { json: org } = await service.request('POST', '/v1/admin/orgs', { body: { name: 'Drifting' } });
    const body = { name: 'agent', role: 'admin', scopes: ['runs:write', 'edge:decide', 'webhooks:write'] };
    const { json: key } = await service.request('POST', `/v1/admin/orgs/${org.id}/keys`, { body });
    const asAgent = (path: string, sent: object) =>
      service.request('POST', path, { key: key.secret, body: sent });
    expect((await asAgent('/v1/runs', { model: 'm', cost_usd: '1' })).status).toBe(201);
    expect((await asAgent('/v1/edge/decision', { model: 'm', estimated_cost_usd: '1' })).status).toBe(200);
    const hook = { url: 'https://receiver.example.com/', events: ['*'] };
    expect((await asAgent(`/v1/orgs/${org.id}/webhooks`, hook)).status).toBe(201);
    await service.end('SIGTERM');
    const before = await examine();
    expect([statusOf(before, 'holds'), statusOf(before, 'drift')]).toEqual(['ok', 'ok']);

    await onDatabase(`UPDATE runs SET cost_nanos = cost_nanos + 500000000`);
    await onDatabase(`UPDATE holds SET expires_at = now() - interval '20 minutes'`);
    await onDatabase(`UPDATE webhook_lanes SET next_due_at = now() - interval '2 hours'`);
    const after = await examine();
    expect(after.drift).toMatchObject({
      status: 'fail',
      finding: expect.stringMatching(new RegExp(`${org.id} by \\$0\\.5`)),
    });
    expect(after.holds).toMatchObject({
      status: 'fail',
      finding: expect.stringMatching(/^1 open hold, the oldest is/),
      remedy: expect.stringMatching(/Start the service/),
    });
    expect(statusOf(after, 'webhooks')).toBe('fail');
  });
});

describe.runIf(engine === 'embedded' && findRedis() !== undefined)('on Redis', () => {
  usePlace('each');
  test('reports one that has stopped', async () => {
    const redis = await startRedis();
    expect(statusOf(await examine({ SVC_REDIS_URL: redis.url }), 'redis')).toBe('ok');
    await redis.kill();
    expect((await examine({ SVC_REDIS_URL: redis.url })).redis).toMatchObject({
      status: 'fail',
      finding: expect.stringMatching(/ECONNREFUSED/),
    });
  });
});

function nameOf({ databaseUrl }: Place): string {
  return new URL(databaseUrl ?? '').pathname.slice(1);
}
