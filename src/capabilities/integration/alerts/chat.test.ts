/** Alerts to receivers in the shape of Slack and Teams: real requests, each alert once. */
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { type TestOrg, useWorld } from '../../../../test/harness.ts';
import { startSlack, startTeams } from '../../../../test/support/chat-receivers.ts';
import type { Receiver } from '../../../../test/support/webhook-receiver.ts';
import { controlWebhooks, type Webhooks } from '../../../../test/support/webhooks.ts';
import { alertEvents } from '../../../contract/alert-events.ts';

const world = useWorld({ SVC_WEBHOOK_ALLOW_PRIVATE_NETWORKS: 'true' });
let webhooks: Webhooks;
const receivers: Receiver[] = [];

beforeAll(() => {
  webhooks = controlWebhooks(world);
});
afterAll(() => webhooks.stop());
afterEach(async () => {
  for (const receiver of receivers.splice(0)) {
    await receiver.close();
  }
});

const started = async (receiver: Promise<Receiver>) => {
  receivers.push(await receiver);
  return receiver;
};
const call = (org: TestOrg, method: string, path: string, body?: object) =>
  world.request(method, `/v1/orgs/${org.id}${path}`, {
    key: org.ownerKey,
    ...(body !== undefined && { body }),
  });
const run = (org: TestOrg, cost_usd: string, more: object = {}) =>
  world.request('POST', '/v1/runs', { key: org.ownerKey, body: { model: 'm', cost_usd, ...more } });

test.each([
  ['slack', startSlack],
  ['teams', startTeams],
] as const)('%s gets each alert once, as a message that it accepts', async (format, start) => {
  const org = await world.createOrg('Acme & Söhne <Ltd>');
  const there = await started(start());
  const { json: hook } = await call(org, 'POST', '/webhooks', { url: there.url, format });
  expect(hook).toMatchObject({ format, events: [...alertEvents] });
  const budget = {
    name: 'team <a>',
    scope_kind: 'org',
    period: 'day',
    limit_usd: '50',
    alert_thresholds: [50, 80],
  };
  const { json: made } = await call(org, 'POST', '/budgets', budget);
  await run(org, '41');
  for (let i = 0; i < 3; i += 1) {
    await run(org, '20');
  }
  await world.runJob('emit-limit-events');
  await webhooks.deliver();
  await webhooks.deliver();
  const bodies = there.received.map(({ body }) => body);
  expect(bodies).toHaveLength(2);
  expect(bodies.some((body) => body.includes('has used 82% ($41 of $50)'))).toBe(true);
  expect(bodies.some((body) => body.includes('has blocked a request'))).toBe(true);
  expect(bodies.every((body) => body.includes(`http://localhost/console/limits/${made.id}`))).toBe(true);
  for (const { headers, body } of there.received) {
    expect(body).toContain(headers['x-svc-event-id']);
    expect(headers['x-svc-signature']).toBeDefined();
  }
  const { json } = await call(org, 'GET', `/webhooks/${hook.id}/deliveries`);
  expect(json.data.map(({ state }: { state: string }) => state)).toEqual(['delivered', 'delivered']);
});

test('thresholds that a run reaches at once are one message per limit, also if they are fanned out in several batches', async () => {
  const org = await world.createOrg();
  const { json: hook } = await call(org, 'POST', '/webhooks', { url: 'http://localhost/', format: 'slack' });
  await call(org, 'POST', `/webhooks/${hook.id}/pause`);
  const budget = {
    name: 'b',
    scope_kind: 'org',
    period: 'day',
    limit_usd: '1',
    alert_thresholds: [50, 80, 100],
  };
  await call(org, 'POST', '/budgets', budget);
  await run(org, '1');
  // More events than a batch has, so that those of some limits are in two batches.
  await world.db.query(
    `INSERT INTO limits SELECT (jsonb_populate_record(l, jsonb_build_object('id', 'bud_' || n))).*
       FROM limits l, generate_series(1, 400) AS n WHERE org_id = $1`,
    [org.id],
  );
  await world.db.query(
    `INSERT INTO outbox (tenant_id, id, type, created_at, data)
     SELECT tenant_id, id || n, type, created_at, data || jsonb_build_object('limit_id', 'bud_' || n)
       FROM outbox, generate_series(1, 400) AS n
      WHERE tenant_id = $1 AND type = 'limit.threshold_reached' ORDER BY n, id`,
    [org.id],
  );
  await world.runJob('fan-out-events');
  const sent = await world.db.query(
    `SELECT data ->> 'threshold_percent' AS percent, count(*)::int4 AS count FROM webhook_deliveries d
       JOIN outbox o ON o.tenant_id = d.org_id AND o.id = d.event_id
      WHERE d.org_id = $1 AND d.subscription_id = $2 GROUP BY 1`,
    [org.id, hook.id],
  );
  expect(sent).toEqual([{ percent: '100', count: 401 }]);
});

test('an alert that waits is not sent after the organization was removed', async () => {
  const org = await world.createOrg();
  const there = await started(startSlack());
  const { json: hook } = await call(org, 'POST', '/webhooks', { url: there.url, format: 'slack' });
  const operator = { key: world.operatorKey };
  await world.request('POST', `/v1/admin/orgs/${org.id}/suspend`, {
    ...operator,
    body: { reason: 'unpaid' },
  });
  expect((await world.request('DELETE', `/v1/admin/orgs/${org.id}`, operator)).status).toBe(204);
  await webhooks.deliver();
  expect(there.received).toEqual([]);
  const rows = await world.db.query(
    'SELECT event_type, state, failure FROM webhook_deliveries WHERE org_id = $1 AND subscription_id = $2',
    [org.id, hook.id],
  );
  expect(rows).toEqual([{ event_type: 'org.suspended', state: 'failed', failure: 'event_gone' }]);
});

test('waits as long as Slack asks for, and repeats the message with the same id', async () => {
  const org = await world.createOrg();
  let limited = true;
  const there = await started(
    startSlack((response) => {
      if (limited) {
        response.writeHead(429, { 'retry-after': '90' }).end('rate_limited');
      }
      return limited;
    }),
  );
  const { json: hook } = await call(org, 'POST', '/webhooks', { url: there.url, format: 'slack' });
  await call(org, 'POST', `/webhooks/${hook.id}/test`);
  await webhooks.deliver();
  limited = false;
  world.clock.advanceSeconds(60);
  await webhooks.deliver();
  expect(there.received).toHaveLength(1);
  world.clock.advanceSeconds(40);
  await webhooks.deliver();
  expect(there.received).toHaveLength(2);
  expect(there.received[1]?.body).toBe(there.received[0]?.body);
});

test('a limit with a counter per customer sends at most 20 messages per window', async () => {
  const org = await world.createOrg();
  const there = await started(startSlack());
  await call(org, 'POST', '/webhooks', { url: there.url, format: 'slack' });
  const limit = { customer_id: '*', period: 'day', limit_usd: '1', alert_thresholds: [80] };
  expect((await call(org, 'POST', '/customer-limits', limit)).status).toBe(201);
  for (let i = 0; i < 25; i += 1) {
    await run(org, '0.9', { customer_id: `customer-${i}` });
  }
  await webhooks.deliver();
  expect(there.received).toHaveLength(20);
  expect(there.received[0]?.body).toContain('customer customer-');
});

test('a webhook is in JSON by default, and rejects a chat format together with events that are not alerts', async () => {
  const org = await world.createOrg();
  const url = 'https://receiver.example/';
  const made = await call(org, 'POST', '/webhooks', { url, events: ['*'] });
  expect(made.json.format).toBe('json');
  const missing = await call(org, 'POST', '/webhooks', { url });
  expect(missing.status).toBe(422);
  expect(missing.json.error.details.fields).toEqual([
    { field: 'events', code: 'required', message: 'This field is required.' },
  ]);
  const all = await call(org, 'POST', '/webhooks', { url, format: 'slack', events: ['limit.*', '*'] });
  expect(all.json.error.details.fields).toMatchObject([
    { field: 'events[1]', message: expect.stringMatching(/Not an alert/) },
  ]);
  expect((await call(org, 'PATCH', `/webhooks/${made.json.id}`, { format: 'teams' })).status).toBe(422);
  const change = { format: 'teams', events: ['limit.*', 'digest.weekly'] };
  expect((await call(org, 'PATCH', `/webhooks/${made.json.id}`, change)).json).toMatchObject(change);
  expect((await call(org, 'PATCH', `/webhooks/${made.json.id}`, { events: ['budget.*'] })).status).toBe(422);
});
