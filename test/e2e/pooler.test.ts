/** A pooler in transaction mode in front of PostgreSQL: money is exact, and a revoked key is rejected in every process. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { endAllProcesses } from '../support/child-process.ts';
import { eventually } from '../support/eventually.ts';
import { createSpendingOrg, spending } from '../support/money.ts';
import { findPgBouncer, type PgBouncer, startPgBouncer } from '../support/pgbouncer.ts';
import { type ServiceProcess, settingsOf, startPurser } from '../support/service-process.ts';
import { untilHeard } from '../support/signs-of-life.ts';
import { makePlace, type Place } from '../support/test-database.ts';

const observerName = 'purser_pooled_observer';

describe.runIf(findPgBouncer() !== undefined)('behind a pooler in transaction mode', () => {
  let place: Place;
  let pooler: PgBouncer;
  beforeAll(async () => {
    place = await makePlace({ migrated: true });
    pooler = await startPgBouncer(place.databaseUrl ?? '');
  });
  afterAll(async () => {
    await endAllProcesses();
    await pooler?.stop();
    await place?.remove();
  });

  const throughPooler = (listenUrl?: string, name = 'purser') => ({
    ...settingsOf(place),
    SVC_DATABASE_URL: `${pooler.url}?application_name=${name}`,
    ...(listenUrl !== undefined && { SVC_DATABASE_LISTEN_URL: listenUrl }),
  });
  const notifications = async (service: ServiceProcess) =>
    (await service.request('GET', '/readyz')).json.notifications;

  /** Lets the observer cache a key, revokes it through the changer, and returns what the observer then answers. */
  async function revoke(changer: ServiceProcess, observer: ServiceProcess, heard: () => Promise<void>) {
    const org = await changer.request('POST', '/v1/admin/orgs', { body: { name: 'Pooled' } });
    const key = await changer.request('POST', `/v1/admin/orgs/${org.json.id}/keys`, {
      body: { name: 'reader', role: 'viewer', scopes: ['org:read'] },
    });
    const read = () => observer.request('GET', `/v1/orgs/${org.json.id}`, { key: key.json.secret });
    for (let n = 0; n < 5; n += 1) {
      expect((await read()).status).toBe(200);
    }
    const revoked = await changer.request('POST', `/v1/admin/orgs/${org.json.id}/suspend`);
    expect(revoked.status, revoked.text).toBe(200);
    await heard();
    return read();
  }

  test('parallel decisions are exact, and a change is heard over the direct connection', async () => {
    const changer = await startPurser(throughPooler(place.databaseUrl));
    const observer = await startPurser(throughPooler(place.databaseUrl, observerName));
    await eventually(async () => expect(await notifications(observer)).toBe('up'));
    const answer = await revoke(changer, observer, () => untilHeard(place, observerName));
    expect(answer).toMatchObject({ status: 403, code: 'org_suspended' });

    const org = await createSpendingOrg(changer);
    expect((await spending(changer, org).cap('40')).status).toBe(200);
    const answers = await Promise.all(
      Array.from({ length: 200 }, (_, n) =>
        spending(n % 2 === 0 ? changer : observer, org).decide({ estimated_cost_usd: '1' }),
      ),
    );
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(40);
    expect(answers.filter(({ code }) => code !== undefined).map(({ status }) => status)).toEqual(
      Array.from({ length: 160 }, () => 402),
    );
    await spending(changer, org).balanced();
    await endAllProcesses();
  });

  test('behind a pooler without a direct connection caches are bypassed, and readiness, metrics and log say why', async () => {
    const changer = await startPurser(throughPooler());
    const observer = await startPurser(throughPooler());
    const reason = 'SVC_DATABASE_URL leads to a pooler that does not deliver notifications';
    await eventually(async () => expect(await notifications(observer)).toContain(reason));
    expect((await observer.request('GET', '/readyz')).status).toBe(200);
    expect((await observer.request('GET', '/metrics')).text).toContain('\nsvc_notifications_healthy 0\n');
    expect(observer.log().map(({ msg }) => msg)).toContainEqual(expect.stringContaining(reason));
    // At once: nothing needs to be heard.
    const answer = await revoke(changer, observer, async () => undefined);
    expect(answer).toMatchObject({ status: 403, code: 'org_suspended' });
    await endAllProcesses();
  });

  test('behind a pooler in session mode notifications arrive over the pooler itself', async () => {
    const sessions = await startPgBouncer(place.databaseUrl ?? '', {
      mode: 'session',
      serverConnections: 40,
    });
    const service = await startPurser({
      ...settingsOf(place),
      SVC_DATABASE_URL: sessions.url,
      SVC_DATABASE_POOLER: 'session',
    });
    await eventually(async () => expect(await notifications(service)).toBe('up'));
    await endAllProcesses();
    await sessions.stop();
  });
});
