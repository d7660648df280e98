/**
 * `SVC_EDGE_FAIL_MODE=open` with real processes and a PostgreSQL server that is stopped: every decision that was answered is
 * counted once, whatever happens to the process that gave it.
 */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { endAllProcesses } from '../support/child-process.ts';
import { eventually } from '../support/eventually.ts';
import { type Cluster, findPostgres, startCluster } from '../support/postgres-cluster.ts';
import { scratch } from '../support/scratch.ts';
import { type ServiceProcess, settingsOf, startPurser } from '../support/service-process.ts';
import { engine, makePlace, type Place } from '../support/test-database.ts';

describe.runIf(engine === 'postgres')('while PostgreSQL is away', () => {
  let cluster: Cluster;
  let place: Place;
  let settings: Record<string, string>;
  beforeAll(async () => {
    cluster = await startCluster(findPostgres() ?? '', scratch);
    const { dataDir, remove } = await makePlace({ migrated: true });
    place = { dataDir, remove, databaseUrl: cluster.url };
    settings = { ...settingsOf(place), SVC_EDGE_FAIL_MODE: 'open' };
  });
  afterEach(endAllProcesses);
  afterAll(async () => {
    await cluster?.remove();
    await place?.remove();
  });

  async function orgIn(service: ServiceProcess) {
    const { json } = await service.request('POST', '/v1/admin/orgs', { body: { name: 'An org' } });
    const { json: key } = await service.request('POST', `/v1/admin/orgs/${json.id}/keys`, {
      body: {
        name: 'k',
        role: 'owner',
        scopes: ['edge:decide', 'runs:write', 'budgets:read', 'budgets:write'],
      },
    });
    const org = { id: json.id as string, key: key.secret as string };
    const cap = { key: org.key, body: { cap_usd: '1' } };
    expect((await service.request('PUT', `/v1/orgs/${org.id}/spend-cap`, cap)).status).toBe(200);
    expect((await decide(service, org)).json.degraded).toBeUndefined();
    return org;
  }
  type Org = Awaited<ReturnType<typeof orgIn>>;

  const decide = (service: ServiceProcess, { key }: Org, idempotencyKey?: string) =>
    service.request('POST', '/v1/edge/decision', {
      key,
      body: { model: 'm', estimated_cost_usd: '0.5' },
      ...(idempotencyKey !== undefined && { idempotencyKey }),
    });

  async function decideMany(service: ServiceProcess, org: Org, count: number): Promise<string[]> {
    const answers = await Promise.all(Array.from({ length: count }, () => decide(service, org)));
    expect(answers.map(({ status, json }) => [status, json.degraded])).toEqual(
      Array(count).fill([200, true]),
    );
    return answers.map(({ json }) => json.decision_id);
  }

  async function heldIds(service: ServiceProcess, { id, key }: Org): Promise<string[]> {
    const { json } = await service.request('GET', `/v1/orgs/${id}/holds?limit=200`, { key });
    return json.data.map((hold: { decision_id: string }) => hold.decision_id);
  }
  const reachable = (service: ServiceProcess) =>
    eventually(async () => expect((await service.request('GET', '/readyz')).status).toBe(200));
  const spooled = () =>
    readdirSync(join(place.dataDir, 'fail-open')).filter((name) => name.endsWith('.spool'));

  test.each(['SIGKILL', 'SIGTERM'] as const)(
    'decisions of a process that ends with %s are imported by the next one',
    async (signal) => {
      const first = await startPurser({ ...settings, SVC_DRAIN_SECONDS: '1' });
      const org = await orgIn(first);
      const before = await heldIds(first, org);
      await cluster.stop();
      const given = await decideMany(first, org, 20);
      const keyed = await decide(first, org, 'one');
      await first.end(signal);
      expect(spooled().length).toBeGreaterThan(0);
      await cluster.start();

      // In the other mode too: what was allowed is counted.
      const next = await startPurser({ ...settings, SVC_EDGE_FAIL_MODE: 'closed' });
      const wanted = [...before, ...given, keyed.json.decision_id].sort();
      await eventually(async () => expect((await heldIds(next, org)).sort()).toEqual(wanted));
      await eventually(() => expect(spooled()).toEqual([]));
      expect((await decide(next, org)).code).toBe('spend_cap_exceeded');
      const again = await decide(next, org, 'one');
      expect([again.text, again.replayed]).toEqual([keyed.text, true]);
      const { json } = await next.request('GET', `/v1/orgs/${org.id}/ledger/reconciliation`, {
        key: org.key,
      });
      expect(json.drift_usd).toBe('0');
    },
  );

  test('keys are known in a second outage, and two processes in one data directory import everything', async () => {
    const [one, two] = await Promise.all([startPurser(settings), startPurser(settings)]);
    const org = await orgIn(one);
    expect((await decide(two, org)).status).toBe(200);
    const wanted = await heldIds(one, org);
    for (let outage = 0; outage < 2; outage += 1) {
      await cluster.kill();
      wanted.push(...(await decideMany(one, org, 10)), ...(await decideMany(two, org, 10)));
      await cluster.start();
      await Promise.all([reachable(one), reachable(two)]);
      // The key is not presented between the outages to the process that must know it.
      await eventually(() => expect(spooled()).toEqual([]));
    }
    await eventually(async () => expect((await heldIds(one, org)).sort()).toEqual(wanted.sort()));
    const post = (service: ServiceProcess, decision_id: string | undefined) =>
      service.request('POST', '/v1/runs', {
        key: org.key,
        body: { model: 'm', cost_usd: '0.1', decision_id },
      });
    expect((await post(two, wanted.at(-1))).json.marks).toEqual(['degraded']);
    expect((await post(two, wanted.at(-1))).code).toBe('conflict');
    expect((await post(two, `${wanted.at(-1)?.slice(0, -1)}_`)).status).toBe(422);
  });
});
