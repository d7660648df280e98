import { createHmac } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { type TestOrg, useWorld } from '../../../../test/harness.ts';
import { type Receiver, startReceiver } from '../../../../test/support/webhook-receiver.ts';
import { controlWebhooks, makeBudget, subscribe, type Webhooks } from '../../../../test/support/webhooks.ts';
import { attemptDelaysSeconds } from './retries.ts';

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

const receiver = async (...args: Parameters<typeof startReceiver>) => {
  const started = await startReceiver(...args);
  receivers.push(started);
  return started;
};
const get = async (org: TestOrg, path: string) =>
  (await world.request('GET', `/v1/orgs/${org.id}/webhooks/${path}`, { key: org.ownerKey })).json;
const post = (org: TestOrg, path: string, body?: object) =>
  world.request('POST', `/v1/orgs/${org.id}/webhooks/${path}`, {
    key: org.ownerKey,
    ...(body !== undefined && { body }),
  });
const orgSecret = async (org: TestOrg): Promise<string> =>
  (await world.request('GET', `/v1/admin/orgs/${org.id}/webhook-secret`, { key: world.operatorKey })).json
    .secret;
const hmac = (secret: string, text: string) => createHmac('sha256', secret).update(text).digest('hex');

describe('a delivery', () => {
  test('contains the event, signed with the org secret and marked as deprecated without an own secret', async () => {
    const org = await world.createOrg();
    const there = await receiver();
    await subscribe(world, org, there.url);
    await makeBudget(world, org, 'first');
    await webhooks.deliver();
    const [got] = there.received;
    expect(there.received).toHaveLength(1);
    expect(got?.event).toEqual({
      id: expect.stringMatching(/^evt_/),
      type: 'budget.created',
      created_at: world.clock.now().toISOString(),
      org_id: org.id,
      data: expect.objectContaining({ name: 'first', limit_usd: '1' }),
    });
    expect(got?.headers).toMatchObject({
      'content-type': 'application/json',
      'x-svc-event-version': '1',
      'x-svc-signature': `v1=${hmac(await orgSecret(org), got?.body ?? '')}`,
      deprecation: `@${Date.UTC(2026, 6, 22) / 1_000}`,
      sunset: 'Fri, 31 Dec 2027 23:59:59 GMT',
      link: '<https://docs.example>; rel="deprecation"',
    });
  });

  test('a delivery is signed with the time and the own secret, and with both during a rotation', async () => {
    const org = await world.createOrg();
    const there = await receiver();
    const id = await subscribe(world, org, there.url);
    const { secret: first } = (await post(org, `${id}/signing/rotate`)).json;
    await makeBudget(world, org);
    await webhooks.deliver();
    const { secret: second } = (await post(org, `${id}/signing/rotate`)).json;
    await makeBudget(world, org);
    await webhooks.deliver();
    world.clock.advanceSeconds(24 * 3_600);
    await makeBudget(world, org);
    await webhooks.deliver();

    expect(there.received).toHaveLength(3);
    const signedBy = [[first], [second, first], [second]];
    for (const [index, { headers, body }] of there.received.entries()) {
      const [t, ...signatures] = String(headers['x-svc-signature']).split(',');
      const time = t?.slice(2) ?? '';
      expect(signatures).toEqual(signedBy[index]?.map((secret) => `v1=${hmac(secret, `${time}.${body}`)}`));
      expect(headers['x-svc-event-version']).toBe('2');
      expect(Object.keys(headers)).not.toEqual(expect.arrayContaining(['deprecation']));
      expect(headers.sunset).toBeUndefined();
      expect(headers.link).toBeUndefined();
    }
    expect(String(there.received[2]?.headers['x-svc-signature'])).toContain(
      `t=${Math.floor(world.clock.now().getTime() / 1_000)},`,
    );
  });

  test('uses the subscription as it is when it is sent, not when the event happened', async () => {
    const org = await world.createOrg();
    let status = 500;
    const there = await receiver((response) => void response.writeHead(status).end());
    const id = await subscribe(world, org, there.url);
    await makeBudget(world, org);
    await webhooks.deliver();
    await post(org, `${id}/signing/rotate`);
    status = 200;
    world.clock.advanceSeconds(10);
    await webhooks.deliver();
    expect(there.received.map(({ headers }) => headers['x-svc-event-version'])).toEqual(['1', '2']);
    expect(there.received[0]?.body).toBe(there.received[1]?.body);
  });

  test('a delivery is created only for matching event types of the same org', async () => {
    const [org, other] = [await world.createOrg(), await world.createOrg()];
    const [everything, budgets, keys, theirs] = [
      await receiver(),
      await receiver(),
      await receiver(),
      await receiver(),
    ];
    world.clock.advanceSeconds(120);
    await subscribe(world, org, everything.url, ['*']);
    await subscribe(world, org, budgets.url, ['budget.created', 'limit.*']);
    await subscribe(world, org, keys.url, ['key.*']);
    await subscribe(world, other, theirs.url, ['*']);
    await makeBudget(world, org);
    await world.mintKey(org, 'viewer', []);
    await webhooks.deliver();
    const types = ({ received }: Receiver) => received.map(({ event }) => event.type).sort();
    expect(types(everything)).toEqual(['budget.created', 'key.created']);
    expect(types(budgets)).toEqual(['budget.created']);
    expect(types(keys)).toEqual(['key.created']);
    expect(types(theirs)).toEqual([]);
  });
});

describe('an attempt that fails', () => {
  test('an attempt that fails is retried on schedule with the same id and a new time, and fails after the last attempt', async () => {
    const org = await world.createOrg();
    const there = await receiver((response) => void response.writeHead(500).end('out of order'));
    const id = await subscribe(world, org, there.url);
    await post(org, `${id}/signing/rotate`);
    await makeBudget(world, org);
    await webhooks.deliver();
    for (const [index, delay] of attemptDelaysSeconds.slice(1).entries()) {
      world.clock.advanceSeconds(delay - 1);
      await webhooks.deliver();
      expect(there.received, 'a second before it is due').toHaveLength(index + 1);
      world.clock.advanceSeconds(1);
      await webhooks.deliver();
      expect(there.received).toHaveLength(index + 2);
    }
    world.clock.advanceSeconds(1_000_000);
    await webhooks.deliver();
    expect(new Set(there.ids()).size).toBe(1);
    expect(there.received).toHaveLength(10);
    const stamps = there.received.map(({ headers }) => String(headers['x-svc-signature']).split(',')[0]);
    expect(new Set(stamps).size).toBe(10);
    const { data } = await get(org, `${id}/deliveries`);
    expect(data[0]).toMatchObject({ state: 'failed', failure: 'attempts_exhausted', next_attempt_at: null });
    expect(data[0].attempts).toHaveLength(10);
    expect(data[0].attempts[0]).toMatchObject({ status: 500, error: null, response: 'out of order' });
  });

  test.each([
    ['seconds', '100', 100],
    ['a date', 'Sun, 15 Nov 2099 00:00:00 GMT', 86_400],
    ['too many seconds', '999999999', 86_400],
    ['nonsense, so not at all', 'soon', 5],
  ])('honors Retry-After within bounds: %s', async (_, retryAfter, seconds) => {
    const org = await world.createOrg();
    const there = await receiver(
      (response) => void response.writeHead(503, { 'retry-after': retryAfter }).end(),
    );
    const id = await subscribe(world, org, there.url);
    await makeBudget(world, org);
    await webhooks.deliver();
    const { data } = await get(org, `${id}/deliveries`);
    expect(Date.parse(data[0].next_attempt_at) - world.clock.now().getTime()).toBe(seconds * 1_000);
  });

  test('does not follow a redirect', async () => {
    const org = await world.createOrg();
    const elsewhere = await receiver();
    const there = await receiver(
      (response) => void response.writeHead(307, { location: elsewhere.url }).end(),
    );
    const id = await subscribe(world, org, there.url);
    await makeBudget(world, org);
    await webhooks.deliver();
    expect(elsewhere.received).toHaveLength(0);
    expect((await get(org, `${id}/deliveries`)).data[0].attempts[0].status).toBe(307);
  });

  test('an attempt that fails with 410 disables the subscription, with an event and an audit entry', async () => {
    const org = await world.createOrg();
    const gone = await receiver((response) => void response.writeHead(410).end());
    const other = await receiver();
    const id = await subscribe(world, org, gone.url);
    await subscribe(world, org, other.url, ['webhook.*']);
    await makeBudget(world, org);
    await makeBudget(world, org);
    await webhooks.deliver();
    await webhooks.deliver();
    expect(gone.received).toHaveLength(1);
    expect(await get(org, id)).toMatchObject({ status: 'disabled', disabled_reason: 'gone' });
    expect(
      other.received.map(({ event }) => [event.type, event.data.id, event.data.disabled_reason]),
    ).toEqual([['webhook.disabled', id, 'gone']]);
    const { data } = await get(org, `${id}/deliveries`);
    expect(data.map(({ failure }: { failure: string }) => failure).sort()).toEqual(['disabled', 'gone']);
    const audited = await world.db.query(
      `SELECT 1 AS one FROM audit_log WHERE tenant_id = $1 AND action = 'webhooks.disable' AND actor_kind = 'service'`,
      [org.id],
    );
    expect(audited).toHaveLength(1);
    // No more deliveries are queued until the subscription is resumed.
    await makeBudget(world, org);
    await webhooks.deliver();
    expect((await get(org, `${id}/deliveries`)).data).toHaveLength(2);
  });

  test('attempts that fail for five days disable the subscription; one success in between prevents that', async () => {
    const org = await world.createOrg();
    let status = 500;
    const there = await receiver((response) => void response.writeHead(status).end());
    const id = await subscribe(world, org, there.url);
    const day = async (answer = 500) => {
      status = answer;
      await makeBudget(world, org);
      await webhooks.deliver();
      world.clock.advanceSeconds(24 * 3_600);
    };
    for (const answer of [500, 500, 500, 200, 500, 500, 500, 500, 500]) {
      await day(answer);
      expect(await get(org, id)).toMatchObject({ status: 'active' });
    }
    await day();
    expect(await get(org, id)).toMatchObject({ status: 'disabled', disabled_reason: 'failing' });
    // After a resume the five days of failures start again.
    await post(org, `${id}/resume`);
    await day();
    expect(await get(org, id)).toMatchObject({ status: 'active', disabled_reason: null, disabled_at: null });
  });
});

test('a paused subscription keeps its deliveries, and sends them when it is resumed', async () => {
  const org = await world.createOrg();
  const there = await receiver();
  const id = await subscribe(world, org, there.url);
  await post(org, `${id}/pause`);
  await makeBudget(world, org);
  await makeBudget(world, org);
  await webhooks.deliver();
  expect(there.received).toHaveLength(0);
  expect((await get(org, `${id}/deliveries?state=waiting`)).data).toHaveLength(2);
  await post(org, `${id}/resume`);
  await webhooks.deliver();
  expect(there.received).toHaveLength(2);
});

test('a redelivery sends one delivery, or those that failed in a time range, with the same event', async () => {
  const org = await world.createOrg();
  let status = 410;
  const there = await receiver((response) => void response.writeHead(status).end());
  const id = await subscribe(world, org, there.url);
  const from = world.clock.now().toISOString();
  await makeBudget(world, org);
  await makeBudget(world, org);
  await webhooks.deliver();
  await post(org, `${id}/resume`);
  status = 200;
  world.clock.advanceSeconds(60);
  expect((await post(org, `${id}/redeliver`, { from })).json).toEqual({
    redelivering: 2,
    more: false,
    next_cursor: null,
  });
  await webhooks.deliver();
  expect(there.received).toHaveLength(3);
  expect(new Set(there.ids()).size).toBe(2);
  const { data } = await get(org, `${id}/deliveries?state=delivered`);
  expect(data).toHaveLength(2);
  expect((await post(org, `${id}/redeliver`, { from })).json).toEqual({
    redelivering: 0,
    more: false,
    next_cursor: null,
  });

  expect((await post(org, `${id}/deliveries/${data[0].id}/redeliver`)).json).toMatchObject({
    state: 'waiting',
    event_id: data[0].event_id,
  });
  await webhooks.deliver();
  expect(there.ids().filter((event) => event === data[0].event_id).length).toBeGreaterThanOrEqual(2);
  expect((await get(org, `${id}/deliveries/${data[0].id}`)).attempts.length).toBeGreaterThanOrEqual(2);
});

describe('several processes', () => {
  test('share the work: everything is delivered once', async () => {
    const org = await world.createOrg();
    const there = await Promise.all([receiver(), receiver(), receiver(), receiver()]);
    for (const { url } of there) {
      await subscribe(world, org, url);
    }
    for (let i = 0; i < 25; i += 1) {
      await makeBudget(world, org, `budget ${i}`);
    }
    const other = controlWebhooks(world);
    await Promise.all([webhooks.deliver(), other.deliver()]);
    await other.stop();
    for (const one of there) {
      expect(one.ids()).toHaveLength(25);
      expect(new Set(one.ids()).size).toBe(25);
    }
  });

  test('take over from a dead process after its lease has expired, and send what it did not record', async () => {
    const org = await world.createOrg();
    const there = await receiver();
    await subscribe(world, org, there.url);
    await makeBudget(world, org);
    let sent = () => undefined as unknown;
    const isSent = new Promise((resolve) => {
      sent = () => resolve(undefined);
    });
    const gone = controlWebhooks(world, {
      faults: () => {
        sent();
        return new Promise(() => undefined);
      },
    });
    await gone.begin();
    await isSent;
    await webhooks.deliver();
    expect(there.received, 'while its lease lasts').toHaveLength(1);
    await world.db.query(
      `UPDATE webhook_lanes SET leased_until = now() - interval '1 second' WHERE org_id = $1`,
      [org.id],
    );
    await webhooks.deliver();
    expect(there.received).toHaveLength(2);
    expect(new Set(there.ids()).size).toBe(1);
  });
});
