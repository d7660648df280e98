/** Alerts from real processes: repeated with the same id after a kill, and sent once by several processes. */
import { afterEach, expect, test } from 'vitest';
import { scopes } from '../../src/contract/scopes.ts';
import { startSlack, startTeams } from '../support/chat-receivers.ts';
import { endAllProcesses } from '../support/child-process.ts';
import { inspectDatabase } from '../support/database-inspection.ts';
import { eventually } from '../support/eventually.ts';
import { startFaulty } from '../support/faulty-service.ts';
import { type ServiceProcess, settingsOf, startPurser } from '../support/service-process.ts';
import { type SmtpSink, startSmtpSink } from '../support/smtp-sink.ts';
import { engine, makePlace, type Place } from '../support/test-database.ts';
import type { Receiver } from '../support/webhook-receiver.ts';

let place: Place;
let sink: SmtpSink;
const receivers: Receiver[] = [];
afterEach(async () => {
  await endAllProcesses();
  for (const receiver of receivers.splice(0)) {
    await receiver.close();
  }
  await sink.close();
  await place.remove();
});

const settings = () => ({
  ...settingsOf(place),
  SVC_WEBHOOK_ALLOW_PRIVATE_NETWORKS: 'true',
  SVC_SMTP_URL: sink.url,
  SVC_SMTP_FROM: 'Purser <purser@example.com>',
});

async function createOrg(service: ServiceProcess) {
  const { json: org } = await service.request('POST', '/v1/admin/orgs', { body: { name: 'Acme' } });
  const minting = { name: 'owner', role: 'owner', scopes };
  const { json: minted } = await service.request('POST', `/v1/admin/orgs/${org.id}/keys`, { body: minting });
  const call = (method: string, path: string, body?: object, by = service) =>
    by.request(method, path.startsWith('/v1') ? path : `/v1/orgs/${org.id}${path}`, {
      key: minted.secret,
      ...(body && { body }),
    });
  return { id: org.id as string, call };
}

type Call = Awaited<ReturnType<typeof createOrg>>['call'];

/** Subscribes a chat of each kind and a recipient. */
async function subscribeAll(call: Call) {
  const slack = await startSlack();
  const teams = await startTeams();
  receivers.push(slack, teams);
  expect((await call('POST', '/webhooks', { url: slack.url, format: 'slack' })).status).toBe(201);
  expect((await call('POST', '/webhooks', { url: teams.url, format: 'teams' })).status).toBe(201);
  expect((await call('POST', '/email-subscriptions', { recipients: ['ada@example.com'] })).status).toBe(201);
  return { slack, teams };
}

const budget = { name: 'team-a', scope_kind: 'org', period: 'day', limit_usd: '50', alert_thresholds: [80] };

/** One kill for both points, because starting a process takes longer than everything else here. */
test('a process killed after it sent a mail and a message, before that is recorded: both come again, with the same id', async () => {
  sink = await startSmtpSink();
  place = await makePlace({ migrated: true });
  const service = await startFaulty(settings());
  const { call } = await createOrg(service);
  const { slack, teams } = await subscribeAll(call);
  await call('POST', '/budgets', budget);
  const mailSent = await service.holdAt('mail.after_send', 'limit.threshold_reached');
  const messageSent = await service.holdAt('webhook.after_send', 'limit.threshold_reached');
  await call('POST', '/v1/runs', { model: 'm', cost_usd: '41' });
  await mailSent.reached;
  await messageSent.reached;
  await service.end('SIGKILL');
  // The killed process still has the leases for some seconds.
  await inspectDatabase(place, async (db) => {
    await db.query('UPDATE webhook_lanes SET leased_until = now()', []);
  });
  await startPurser(settings());
  await eventually(() => {
    expect(sink.mails.length).toBeGreaterThanOrEqual(2);
    expect(slack.received.length + teams.received.length).toBeGreaterThanOrEqual(3);
    expect(slack.received.length).toBeGreaterThanOrEqual(1);
    expect(teams.received.length).toBeGreaterThanOrEqual(1);
  });
  expect(new Set(sink.mails.map(({ headers }) => headers['message-id'])).size).toBe(1);
  const ids = [...slack.received, ...teams.received].map(({ headers }) => headers['x-svc-event-id']);
  expect(new Set(ids).size).toBe(1);
  expect(sink.mails[0]?.headers['message-id']).toContain(ids[0]);
});

test.runIf(engine === 'postgres')('two processes send each alert once', async () => {
  sink = await startSmtpSink();
  place = await makePlace({ migrated: true });
  const first = await startPurser(settings());
  const second = await startPurser(settings());
  const { id, call } = await createOrg(first);
  const { slack, teams } = await subscribeAll(call);
  await call('POST', '/budgets', budget);
  await call('POST', '/v1/runs', { model: 'm', cost_usd: '41' });
  const denied = Array.from({ length: 20 }, (_, i) =>
    call('POST', '/v1/runs', { model: 'm', cost_usd: '20' }, i % 2 === 0 ? first : second),
  );
  expect(new Set((await Promise.all(denied)).map(({ status }) => status))).toEqual(new Set([402]));
  await eventually(() => {
    expect([sink.mails.length, slack.received.length, teams.received.length]).toEqual([2, 2, 2]);
  });
  // Everything that was queued is recorded: nothing else will be sent.
  await eventually(() =>
    inspectDatabase(place, async (db) => {
      const rows = await db.query<{ state: string }>(
        'SELECT state FROM webhook_deliveries WHERE org_id = $1',
        [id],
      );
      expect(rows.map(({ state }) => state)).toEqual(Array.from({ length: 6 }, () => 'delivered'));
    }),
  );
  expect([sink.mails.length, slack.received.length, teams.received.length]).toEqual([2, 2, 2]);
});
