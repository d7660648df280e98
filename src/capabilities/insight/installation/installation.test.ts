import { expect, test } from 'vitest';
import { engine, useWorld } from '../../../../test/harness.ts';
import { checksOf, type InstallationFigures, worstOf } from './checks.ts';

const world = useWorld({ SVC_REGION: 'eu' });

const read = async () =>
  (await world.request('GET', '/v1/admin/installation', { key: world.operatorKey })).json;

test('names the version, engine, migrations, processes and jobs', async () => {
  const found = await read();
  expect(found).toMatchObject({
    version: expect.stringMatching(/^\d+\.\d+\.\d+/),
    engine,
    region: 'eu',
    database_version: expect.stringMatching(/^PostgreSQL \d+/),
    process_started_at: expect.any(String),
    migrations: { last_applied: expect.stringMatching(/^\d{4}_/), due: [], postponed: [] },
    queues: { webhook_deliveries_waiting: 0, webhook_overdue_seconds: 0 },
    spools: { fail_open_decisions: 0, fail_open_bytes: 0, gateway_settlements: 0 },
  });
  expect(found.migrations.applied).toBeGreaterThan(40);
  expect(found.processes).toEqual([
    expect.objectContaining({
      id: world.services.processes.id,
      version: found.version,
      current: true,
    }),
  ]);
  expect(found.jobs.map(({ id }: { id: string }) => id)).toEqual(
    expect.arrayContaining(['send-webhooks', 'summarize-orgs', 'purge-removed-orgs']),
  );
});

test('shows the last run and the last error of a job, and warns while it fails', async () => {
  const jobOf = async (id: string) => (await read()).jobs.find((job: { id: string }) => job.id === id);
  expect(await jobOf('delete-old-sign-ins')).toMatchObject({ last_started_at: null, failures: 0 });
  await world.runJob('delete-old-sign-ins');
  const now = world.clock.now().toISOString();
  expect(await jobOf('delete-old-sign-ins')).toMatchObject({ last_started_at: now, last_error: null });
  await world.db.query('ALTER TABLE sso_tests RENAME TO sso_tests_away');
  await expect(world.runJob('delete-old-sign-ins')).rejects.toThrow();
  await world.db.query('ALTER TABLE sso_tests_away RENAME TO sso_tests');
  expect(await jobOf('delete-old-sign-ins')).toMatchObject({
    failures: 1,
    last_error: expect.stringContaining('sso_tests'),
    last_failed_at: now,
  });
  const warned = (await read()).checks.find(({ id }: { id: string }) => id === 'jobs');
  expect(warned).toMatchObject({ status: 'warn', finding: 'delete-old-sign-ins failed.' });
  await world.runJob('delete-old-sign-ins');
  expect((await read()).checks.find(({ id }: { id: string }) => id === 'jobs').status).toBe('ok');
});

test('counts what waits, from the metrics', async () => {
  const org = await world.createOrg();
  const asOwner = (path: string, body: object) => world.request('POST', path, { key: org.ownerKey, body });
  await asOwner(`/v1/orgs/${org.id}/webhooks`, { url: 'https://receiver.example/hook', events: ['*'] });
  await asOwner(`/v1/orgs/${org.id}/budgets`, {
    name: 'All',
    scope_kind: 'org',
    period: 'month',
    limit_usd: '5',
  });
  await asOwner('/v1/edge/decision', { model: 'm', estimated_cost_usd: '1' });
  const { holds, status } = await read();
  expect(holds.open).toBe(1);
  expect(['ok', 'warn', 'fail']).toContain(status);
  const { text } = await world.request('GET', '/metrics');
  expect(text).toMatch(/^svc_events_waiting \d+$/m);
});

test('the state of the installation is for operators', async () => {
  const org = await world.createOrg();
  const answer = await world.request('GET', '/v1/admin/installation', { key: org.ownerKey });
  expect(answer.json.error.code).toBe('forbidden');
});

const fine: InstallationFigures = {
  version: '1.0.0',
  engine: 'postgres',
  database_version: 'PostgreSQL 15',
  region: null,
  process_started_at: '2026-11-01T00:00:00Z',
  processes: [{ id: 'a', version: '1.0.0', seen_at: '2026-11-01T00:00:00Z', current: true }],
  migrations: { applied: 1, last_applied: '0001', last_applied_at: null, due: [], postponed: [] },
  queues: {
    events_waiting: 0,
    events_oldest_seconds: 0,
    webhook_deliveries_waiting: 0,
    webhook_overdue_seconds: 0,
  },
  holds: { open: 0, overdue: 0, overdue_seconds: 0 },
  spools: { fail_open_decisions: 0, fail_open_bytes: 0, gateway_settlements: 0 },
  ledger_drift_usd: 0,
  credentials_failing: 0,
  retention_failing_orgs: 0,
  prices: { newest_at: '2026-10-01T00:00:00Z', changes_pending: 0 },
  database_connections: { used: 0, idle: 1, waiting: 0 },
  jobs: [],
  notReady: [],
  notificationProblem: undefined,
  mail: { isConfigured: true, problem: null },
};
const at = new Date('2026-11-01T00:00:00Z');

test.each<[string, Partial<InstallationFigures>, string, 'warn' | 'fail']>([
  ['a process that is not ready', { notReady: ['draining'] }, 'ready', 'fail'],
  ['missing notifications', { notificationProblem: 'no connection' }, 'notifications', 'warn'],
  ['pending migrations', { migrations: { ...fine.migrations, due: ['0002'] } }, 'migrations', 'warn'],
  [
    'processes of two versions',
    { processes: [...fine.processes, { id: 'b', version: null, seen_at: '', current: false }] },
    'processes',
    'warn',
  ],
  ['old events', { queues: { ...fine.queues, events_oldest_seconds: 61 } }, 'events', 'warn'],
  ['overdue deliveries', { queues: { ...fine.queues, webhook_overdue_seconds: 3_601 } }, 'webhooks', 'fail'],
  ['a mail server that rejects', { mail: { isConfigured: true, problem: 'no' } }, 'mail', 'warn'],
  ['overdue holds', { holds: { open: 1, overdue: 1, overdue_seconds: 601 } }, 'holds', 'fail'],
  ['spooled decisions', { spools: { ...fine.spools, fail_open_decisions: 1 } }, 'spools', 'warn'],
  ['drift', { ledger_drift_usd: 0.000000001 }, 'drift', 'fail'],
  ['a credential that cannot be renewed', { credentials_failing: 1 }, 'credentials', 'warn'],
  ['failing retention', { retention_failing_orgs: 1 }, 'retention', 'fail'],
  ['old prices', { prices: { newest_at: '2026-08-01T00:00:00Z', changes_pending: 0 } }, 'prices', 'warn'],
  ['pending price changes', { prices: { ...fine.prices, changes_pending: 2 } }, 'prices', 'warn'],
])('%s is a finding with a remedy', (_, change, id, status) => {
  expect(worstOf(checksOf(fine, at))).toBe('ok');
  const checks = checksOf({ ...fine, ...change }, at);
  const notFine = checks.filter((check) => check.status !== 'ok');
  expect(notFine.map((check) => [check.id, check.status])).toEqual([[id, status]]);
  expect(notFine[0]?.remedy).not.toBe('');
  expect(worstOf(checks)).toBe(status);
});
