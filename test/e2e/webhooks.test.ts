/**
 * Real processes on both ends: a receiver that follows the guide can verify every signature, and no delivery is lost.
 */
import { fileURLToPath } from 'node:url';
import Stripe from 'stripe';
import { afterEach, expect, test, vi } from 'vitest';
import { scopes } from '../../src/contract/scopes.ts';
import { openSecrets } from '../../src/platform/secrets/secrets.ts';
import { endAllProcesses, spawnNode } from '../support/child-process.ts';
import { inspectDatabase } from '../support/database-inspection.ts';
import { eventually } from '../support/eventually.ts';
import { startFaulty } from '../support/faulty-service.ts';
import { type ServiceProcess, settingsOf, startPurser } from '../support/service-process.ts';
import { makePlace, type Place } from '../support/test-database.ts';

let place: Place;
afterEach(async () => {
  await endAllProcesses();
  await place.remove();
});

const settings = () => ({ ...settingsOf(place), SVC_WEBHOOK_ALLOW_PRIVATE_NETWORKS: 'true' });

interface Judged {
  readonly verdict: 'right' | 'wrong' | 'unknown';
  readonly version: string;
  readonly header: string;
  readonly body: string;
  readonly id: string;
}

async function startReceiver() {
  const entry = fileURLToPath(new URL('../support/receiver-process.mjs', import.meta.url));
  const { child } = spawnNode([entry], {}, true);
  const judged: Judged[] = [];
  let learned = () => {};
  const port = await new Promise<number>((resolve) => {
    child.on('message', (message: { port?: number; learned?: true } | Judged) => {
      if ('verdict' in message) {
        judged.push(message);
      } else if (message.port !== undefined) {
        resolve(message.port);
      } else {
        learned();
      }
    });
  });
  return {
    url: `http://127.0.0.1:${port}/`,
    judged,
    rightIds: () => new Set(judged.filter(({ verdict }) => verdict === 'right').map(({ id }) => id)),
    learn: (secrets: { org?: string; own?: string }) =>
      new Promise<void>((resolve) => {
        learned = resolve;
        child.send(secrets);
      }),
  };
}

async function createOrg(service: ServiceProcess) {
  const { json: org } = await service.request('POST', '/v1/admin/orgs', { body: { name: 'Acme' } });
  const minting = { name: 'owner', role: 'owner', scopes };
  const { json: minted } = await service.request('POST', `/v1/admin/orgs/${org.id}/keys`, { body: minting });
  const call = (method: string, path: string, body?: object) =>
    service.request(method, `/v1/orgs/${org.id}${path}`, { key: minted.secret, ...(body && { body }) });
  return { id: org.id as string, key: minted.secret as string, call };
}

const makeBudget = (call: Awaited<ReturnType<typeof createOrg>>['call'], name: string) =>
  call('POST', '/budgets', { name, scope_kind: 'org', period: 'day', limit_usd: '1' });

test('a subscription moves from the org secret to its own while deliveries flow: none is lost, none fails', async () => {
  place = await makePlace({ migrated: true });
  const service = await startPurser(settings());
  const { id, call } = await createOrg(service);
  const receiver = await startReceiver();
  const { secret: org } = (await service.request('GET', `/v1/admin/orgs/${id}/webhook-secret`)).json;
  await receiver.learn({ org });
  const { json: subscription } = await call('POST', '/webhooks', { url: receiver.url, events: ['budget.*'] });

  const total = 60;
  let own = '';
  for (let i = 0; i < total; i += 1) {
    await makeBudget(call, `budget ${i}`);
    if (i === total / 2) {
      await eventually(() => expect(receiver.judged, 'signed with the secret of the org').not.toEqual([]));
      own = (await call('POST', `/webhooks/${subscription.id}/signing/rotate`)).json.secret;
    }
    if (i === total / 2 + 5) {
      // The owner of the receiver takes a moment to deploy the new secret.
      await receiver.learn({ own });
    }
  }
  await vi.waitFor(() => expect(receiver.rightIds().size).toBe(total), { timeout: 60_000, interval: 50 });
  expect(receiver.judged.filter(({ verdict }) => verdict === 'wrong')).toEqual([]);
  expect(new Set(receiver.judged.map(({ version }) => version))).toEqual(new Set(['1', '2']));

  // Stripe signs like version 2 of our signatures, so its library must accept them.
  const { body, header } = receiver.judged.at(-1) ?? { body: '', header: '' };
  const event = Stripe.webhooks.constructEvent(body, header, own);
  expect(event.id).toBe(JSON.parse(body).id);
  expect(() => Stripe.webhooks.constructEvent(`${body} `, header, own)).toThrow('signature');
  // The outcome is stored a moment later.
  await eventually(async () => {
    const stored = await call('GET', `/webhooks/${subscription.id}/deliveries?state=delivered&limit=200`);
    expect(stored.json.data).toHaveLength(total);
  });
});

test('a process killed after sending and before writing that down: the event comes again, with the same id', async () => {
  place = await makePlace({ migrated: true });
  const service = await startFaulty(settings());
  const { id, call } = await createOrg(service);
  const receiver = await startReceiver();
  const { secret: org } = (await service.request('GET', `/v1/admin/orgs/${id}/webhook-secret`)).json;
  await receiver.learn({ org });
  await call('POST', '/webhooks', { url: receiver.url, events: ['budget.created'] });
  const held = await service.holdAt('webhook.after_send', 'budget.created');
  await makeBudget(call, 'a');
  await held.reached;
  await service.end('SIGKILL');
  await eventually(() => expect(receiver.judged).toHaveLength(1));
  // The killed process still has the lease for some seconds.
  await inspectDatabase(place, async (db) => {
    await db.query('UPDATE webhook_lanes SET leased_until = now()', []);
  });

  await startPurser(settings());
  await vi.waitFor(() => expect(receiver.judged.length).toBeGreaterThan(1), {
    timeout: 60_000,
    interval: 50,
  });
  expect(receiver.judged.map(({ verdict }) => verdict)).toEqual(['right', 'right']);
  expect(receiver.judged[1]?.body).toBe(receiver.judged[0]?.body);
});

test('a start with a key that cannot open the stored secrets stops, and names the setting', async () => {
  place = await makePlace({ migrated: true });
  const key = Buffer.alloc(32, 1);
  await inspectDatabase(place, (db) => openSecrets(db, { dataDir: place.dataDir, keys: [key] }));
  const other = { ...settings(), SVC_SECRETS_KEY: Buffer.alloc(32, 2).toString('hex') };
  await expect(startPurser(other)).rejects.toThrow(/SVC_SECRETS_KEY cannot open the secrets/);
  // Without a key the start fails. No key is generated, because it could not decrypt the secrets either.
  await expect(startPurser(settings())).rejects.toThrow(/neither SVC_SECRETS_KEY nor/);
  const right = { ...settings(), SVC_SECRETS_KEY: key.toString('base64') };
  await (await startPurser(right)).end('SIGTERM');
});
