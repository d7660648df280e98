/**
 * Withdrawn access stays withdrawn: immediately in the process that made the change, and in every other process once it
 * has received the change. src/platform/db/postgres/change-listener.ts bounds this delay, and the bench measures it.
 * The other process has the key in its cache before the change.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { endAllProcesses } from '../support/child-process.ts';
import { startFaulty } from '../support/faulty-service.ts';
import { type ServiceProcess, settingsOf } from '../support/service-process.ts';
import { cutNotifications, namedOn, untilHeard } from '../support/signs-of-life.ts';
import { engine, makePlace, type Place } from '../support/test-database.ts';

const observerName = 'purser_observer';

let place: Place;
let changer: ServiceProcess;
/** The embedded engine has one process, which observes its own changes. */
let observer: ServiceProcess;
beforeAll(async () => {
  place = await makePlace({ migrated: true });
  const settings = settingsOf(place);
  changer = await startFaulty(settings);
  observer =
    engine === 'postgres' ? await startFaulty({ ...settings, ...namedOn(place, observerName) }) : changer;
});
afterAll(async () => {
  await endAllProcesses();
  await place?.remove();
});

interface Tenant {
  readonly orgId: string;
  readonly keyId: string;
  readonly secret: string;
  /** A support grant. `supportToken` is the token of a session under it. */
  readonly grantId: string;
  readonly supportToken: string;
}

let orgs = 0;
async function newTenant(): Promise<Tenant> {
  orgs += 1;
  const org = await changer.request('POST', '/v1/admin/orgs', { body: { name: `Org ${orgs}` } });
  const key = await changer.request('POST', `/v1/admin/orgs/${org.json.id}/keys`, {
    body: {
      name: 'owner',
      role: 'owner',
      scopes: ['org:read', 'org:write', 'keys:read', 'keys:write', 'runs:write', 'policies:write'],
    },
  });
  const grants = '/v1/admin/support/grants';
  const grant = await changer.request('POST', grants, {
    body: {
      org_id: org.json.id,
      scope: ['org:read'],
      reason: 'a',
      expires_at: new Date(Date.now() + 3_600_000).toISOString(),
    },
  });
  const session = await changer.request('POST', `${grants}/${grant.json.id}/sessions`);
  return {
    orgId: org.json.id,
    keyId: key.json.id,
    secret: key.json.secret,
    grantId: grant.json.id,
    supportToken: session.json.token,
  };
}

const read = (service: ServiceProcess, { orgId, secret }: Tenant) =>
  service.request('GET', `/v1/orgs/${orgId}`, { key: secret });

const readAsSupport = (service: ServiceProcess, { orgId, supportToken }: Tenant) =>
  service.request('GET', `/v1/orgs/${orgId}`, { key: supportToken });

const run = (service: ServiceProcess, { secret }: Tenant) =>
  service.request('POST', '/v1/runs', { key: secret, body: { model: 'm', cost_usd: '0.1' } });

interface Withdrawal {
  readonly what: string;
  readonly method: string;
  readonly path: (tenant: Tenant) => string;
  readonly body?: object;
  /** True if the tenant's own key makes the change, false if the operator's key does. */
  readonly own: boolean;
  /** The request that succeeds before the change and is rejected afterwards; by default it reads the org. */
  readonly attempt?: typeof read;
  readonly refusal: { readonly status: number; readonly code: string };
}

const withdrawals: readonly Withdrawal[] = [
  {
    what: 'a revoked key',
    method: 'DELETE',
    path: ({ orgId, keyId }) => `/v1/orgs/${orgId}/keys/${keyId}`,
    own: true,
    refusal: { status: 410, code: 'gone' },
  },
  {
    what: 'a suspended org',
    method: 'POST',
    path: ({ orgId }) => `/v1/admin/orgs/${orgId}/suspend`,
    body: {},
    own: false,
    refusal: { status: 403, code: 'org_suspended' },
  },
  {
    what: 'an address that is no longer allowed',
    method: 'PUT',
    path: ({ orgId }) => `/v1/orgs/${orgId}/ip-allow-list`,
    body: { cidrs: ['192.0.2.0/24'], force: true },
    own: true,
    refusal: { status: 403, code: 'ip_not_allowed' },
  },
  {
    what: 'a revoked support grant',
    method: 'DELETE',
    path: ({ grantId }) => `/v1/admin/support/grants/${grantId}`,
    own: false,
    attempt: readAsSupport,
    refusal: { status: 410, code: 'gone' },
  },
  {
    what: 'support access that the org forbids',
    method: 'PUT',
    path: ({ orgId }) => `/v1/orgs/${orgId}/support-access/settings`,
    body: { allowed: false, approval_required: false },
    own: true,
    attempt: readAsSupport,
    refusal: { status: 410, code: 'gone' },
  },
  {
    what: 'a model that a policy blocks',
    method: 'POST',
    path: ({ orgId }) => `/v1/orgs/${orgId}/policies`,
    body: { effect: 'block', models: ['m'], priority: 1, reason: 'because' },
    own: true,
    attempt: run,
    refusal: { status: 403, code: 'policy_blocked' },
  },
];

/** Resolves when the observer has received the change. On the embedded engine the observer made the change itself. */
const observerHasHeard = async () =>
  engine === 'postgres' ? await untilHeard(place, observerName) : undefined;

/**
 * Makes the observer cache the key, withdraws access through the changer, and expects the observer to reject the key
 * once it has received the change.
 */
async function withdraw(
  withdrawal: Withdrawal,
  beforehand: () => Promise<void> = async () => undefined,
): Promise<void> {
  const { method, path, body, own, refusal, attempt = read } = withdrawal;
  const tenant = await newTenant();
  for (let n = 0; n < 5; n += 1) {
    expect((await attempt(observer, tenant)).status).toBeLessThan(300);
  }
  await beforehand();
  const change = await changer.request(method, path(tenant), {
    ...(body !== undefined && { body }),
    ...(own && { key: tenant.secret }),
  });
  expect(change.status, change.text).toBeLessThan(300);
  expect(await attempt(changer, tenant), 'in the process that made the change').toMatchObject(refusal);
  await observerHasHeard();
  for (let n = 0; n < 5; n += 1) {
    expect(await attempt(observer, tenant), 'and it stays so').toMatchObject(refusal);
  }
}

describe.each(withdrawals)('$what', (withdrawal) => {
  test('is refused from the next request on, by another process once it has heard of it', () =>
    withdraw(withdrawal));

  test.runIf(engine === 'postgres')('also when the connection for notices was just cut', () =>
    withdraw(withdrawal, () => cutNotifications(place, observerName)),
  );
});

test('a reinstated org is admitted again, by another process once it has heard of it', async () => {
  const tenant = await newTenant();
  const act = (action: string) => changer.request('POST', `/v1/admin/orgs/${tenant.orgId}/${action}`);
  expect((await act('suspend')).status).toBe(200);
  await observerHasHeard();
  expect((await read(observer, tenant)).code).toBe('org_suspended');
  expect((await act('reinstate')).status).toBe(200);
  await observerHasHeard();
  expect((await read(observer, tenant)).status).toBe(200);
});
