/** Alerts by e-mail through a real mail server: each once, retried, to recipients who can leave. */
import { beforeEach, describe, expect, test } from 'vitest';
import { createWorld, useOrgPerTest } from '../../../../test/harness.ts';
import { eventually } from '../../../../test/support/eventually.ts';
import { useFixture } from '../../../../test/support/fixtures.ts';
import { cookieOf, postForm } from '../../../../test/support/sign-in.ts';
import { startSmtpSink } from '../../../../test/support/smtp-sink.ts';
import { alertEvents } from '../../../contract/alert-events.ts';

const sink = useFixture(startSmtpSink);
const world = useFixture(() =>
  createWorld({ SVC_SMTP_URL: sink.url, SVC_SMTP_FROM: 'Purser <purser@example.com>' }),
);
const org = useOrgPerTest(world);

beforeEach(() => {
  sink.mails.length = 0;
  sink.faults.recipient = [];
  sink.faults.data = [];
});

const call = (method: string, path: string, body?: object, key = org.ownerKey) =>
  world.request(method, `/v1/orgs/${org.id}${path}`, { key, ...(body !== undefined && { body }) });
const subscribe = async (body: object = {}) =>
  (await call('POST', '/email-subscriptions', { recipients: ['ada@example.com'], ...body })).json;
const deliveriesOf = async (id: string) =>
  (await call('GET', `/email-subscriptions/${id}/deliveries`)).json.data;
const audited = async (id: string) => {
  const rows = await world.db.query<{ action: string }>(
    'SELECT action FROM audit_log WHERE tenant_id = $1 AND target_id = $2 ORDER BY seq',
    [org.id, id],
  );
  return rows.map(({ action }) => action);
};
/** Queues events and sends what is due. */
async function send(): Promise<void> {
  await world.runJob('fan-out-events');
  await world.job('send-mail').runOnce();
}
const settled = (id: string, state: string, count = 1) =>
  eventually(async () => {
    // A queue that is just being released cannot be claimed yet.
    await world.job('send-mail').runOnce();
    const found = (await deliveriesOf(id)).filter((one: { state: string }) => one.state === state);
    expect(found).toHaveLength(count);
  });
const run = (cost_usd: string, more: object = {}) =>
  world.request('POST', '/v1/runs', { key: org.ownerKey, body: { model: 'm', cost_usd, ...more } });
const makeBudget = (more: object = {}) =>
  call('POST', '/budgets', { name: 'team-a', scope_kind: 'org', period: 'day', limit_usd: '50', ...more });

describe('a subscription', () => {
  test('an e-mail subscription has all alerts and no digest by default, and is found only by its own org and path', async () => {
    const made = await subscribe({ recipients: ['Ada@Example.com', 'ops@example.com'] });
    expect(made).toMatchObject({
      id: expect.stringMatching(/^eml_/),
      recipients: ['ada@example.com', 'ops@example.com'],
      events: [...alertEvents],
      digest: 'none',
      enabled: true,
    });
    expect((await call('GET', `/webhooks/${made.id}`)).status).toBe(404);
    expect((await call('GET', '/webhooks')).json.data).toEqual([]);
    expect((await call('GET', '/email-subscriptions')).json.data).toEqual([made]);
    const other = await world.createOrg();
    expect((await call('GET', `/email-subscriptions/${made.id}`, undefined, other.ownerKey)).status).toBe(
      404,
    );
    const hook = (await call('POST', '/webhooks', { url: 'https://receiver.example/', events: ['*'] })).json;
    expect((await call('GET', `/email-subscriptions/${hook.id}`)).status).toBe(404);
  });

  test.each([
    ['no recipients', { recipients: [] }, 'recipients'],
    [
      'too many recipients',
      { recipients: Array.from({ length: 21 }, (_, i) => `a${i}@example.com`) },
      'recipients',
    ],
    [
      'another header in an address',
      { recipients: ['a@example.com\r\nBcc: b@example.com'] },
      'recipients[0]',
    ],
    ['two addresses in one', { recipients: ['a@example.com,b@example.com'] }, 'recipients[0]'],
    ['the same address twice', { recipients: ['a@example.com', 'A@example.com'] }, 'recipients[1]'],
    ['events that are no alerts', { events: ['run.finished'] }, 'events[0]'],
    ['a group with events that are no alerts', { events: ['key.*'] }, 'events[0]'],
    ['an event that is no alert beside all alerts', { events: ['limit.*', 'run.finished'] }, 'events[1]'],
    ['the digest as an event', { events: ['digest.weekly'] }, 'events'],
    ['nothing', { events: [] }, 'events'],
    ['an unknown digest', { digest: 'daily' }, 'digest'],
    ['an unknown field', { url: 'https://receiver.example/' }, 'url'],
  ])('an e-mail subscription is rejected with %s', async (_case, body, field) => {
    const { status, json } = await call('POST', '/email-subscriptions', {
      recipients: ['a@example.com'],
      ...body,
    });
    expect(status).toBe(422);
    expect(json.error.details.fields[0].field).toBe(field);
  });

  test('an e-mail subscription has all alerts with `*`, and no digest', async () => {
    const all = await subscribe({});
    const wild = await subscribe({ events: ['*'] });
    expect(wild).toMatchObject({ events: all.events, digest: 'none' });
    const changed = await call('PATCH', `/email-subscriptions/${wild.id}`, {
      events: ['limit.exhausted', '*'],
    });
    expect(changed.json.events.toSorted()).toEqual(all.events.toSorted());
    expect(changed.json.digest).toBe('none');
    for (const { id } of [all, wild]) {
      await call('DELETE', `/email-subscriptions/${id}`);
    }
  });

  test('an e-mail subscription is changed, turned off and deleted, with audit entries', async () => {
    const { id } = await subscribe();
    const change = { digest: 'weekly', events: ['limit.*'], description: 'On call' };
    expect((await call('PATCH', `/email-subscriptions/${id}`, change)).json).toMatchObject(change);
    expect((await call('PATCH', `/email-subscriptions/${id}`, { enabled: false })).json.enabled).toBe(false);
    expect((await call('GET', '/email-subscriptions?enabled=true')).json.data).toEqual([]);
    expect((await call('PATCH', `/email-subscriptions/${id}`, { events: [], digest: 'none' })).status).toBe(
      422,
    );
    expect((await call('DELETE', `/email-subscriptions/${id}`)).status).toBe(204);
    expect((await call('GET', `/email-subscriptions/${id}`)).status).toBe(404);
    expect(await audited(id)).toEqual([
      'email_subscriptions.create',
      'email_subscriptions.change',
      'email_subscriptions.change',
      'email_subscriptions.delete',
    ]);
  });

  test('an e-mail subscription cannot be created without a mail server, as the console says before the form is filled in', async () => {
    const without = await createWorld();
    try {
      const org = await without.createOrg();
      const path = `/v1/orgs/${org.id}/email-subscriptions`;
      const body = { recipients: ['a@example.com'] };
      const { status, json } = await without.request('POST', path, { key: org.ownerKey, body });
      expect(status).toBe(409);
      expect(json.error.message).toContain('SVC_SMTP_URL');
      const cookie = cookieOf(await postForm(without, '/console/login', { key: org.ownerKey }));
      for (const page of ['/console/email-alerts', '/console/email-alerts/new']) {
        const { text } = await without.request('GET', page, { headers: { cookie } });
        expect(text).toContain('Ask the operator to set <code>SVC_SMTP_URL</code>');
      }
    } finally {
      await without.close();
    }
  });
});

describe('an alert', () => {
  test('reaches each recipient once per limit and window, whatever happens after it', async () => {
    const { id } = await subscribe({ recipients: ['ada@example.com', 'ops@example.com'] });
    await makeBudget({ alert_thresholds: [50, 80] });
    // Passes both thresholds at once: one message.
    await run('40');
    await run('1');
    await send();
    await settled(id, 'delivered', 2);
    await run('1');
    await send();
    expect(sink.mails.map(({ to }) => to[0]).sort()).toEqual(['ada@example.com', 'ops@example.com']);
    const [mail] = sink.mails;
    expect(mail?.headers.subject).toContain('Budget team-a has used 80%');
    expect(mail?.text).toContain('Budget team-a has used 80% ($40 of $50) of its day. It resets on');
    expect(mail?.text).toContain('http://localhost/console/limits/bud_');
    expect(mail?.html).toContain('Open limit');
    expect(mail?.headers).toMatchObject({
      'auto-submitted': 'auto-generated',
      'list-unsubscribe-post': 'List-Unsubscribe=One-Click',
      'message-id': expect.stringMatching(/^<evt_[^.]+\.eml_[^.]+\.[0-9a-f]{12}@example\.com>$/),
    });
    world.clock.advanceSeconds(86_400);
    await run('45');
    await send();
    await settled(id, 'delivered', 4);
  });

  test('an alert of a model without a price is sent once a day, not for every run', async () => {
    const { id } = await subscribe({ events: ['model.unpriced', 'price.missing'] });
    for (let i = 0; i < 3; i += 1) {
      const decision = { model: 'home-grown', estimated_cost_usd: '0.1' };
      const { json } = await world.request('POST', '/v1/edge/decision', {
        key: org.ownerKey,
        body: decision,
      });
      const body = { model: 'home-grown', input_tokens: 1, decision_id: json.decision_id };
      await world.request('POST', '/v1/runs', { key: org.ownerKey, body });
    }
    await send();
    await settled(id, 'delivered', 2);
    expect(sink.mails.map(({ headers }) => headers.subject).sort()).toEqual([
      expect.stringContaining('has no price'),
      expect.stringContaining('is used without a price'),
    ]);
  });

  test('an alert is retried with the same id after a temporary error, and after a cut connection', async () => {
    const { id } = await subscribe();
    await call('POST', `/email-subscriptions/${id}/test`);
    sink.faults.data = [451];
    await send();
    await eventually(async () => expect((await deliveriesOf(id))[0].attempts).toHaveLength(1));
    sink.faults.data = [0];
    world.clock.advanceSeconds(10);
    await send();
    await eventually(async () => {
      await world.job('send-mail').runOnce();
      expect((await deliveriesOf(id))[0].attempts).toHaveLength(2);
    });
    world.clock.advanceSeconds(400);
    await send();
    await settled(id, 'delivered');
    const [delivery] = await deliveriesOf(id);
    expect(delivery.attempts).toMatchObject([
      { status: 451, error: null },
      { status: null, error: 'connection_reset' },
      { status: 250, error: null },
    ]);
    // The server had accepted the message whose reply was lost: it comes again, with the same id.
    expect(sink.mails).toHaveLength(2);
    expect(new Set(sink.mails.map(({ headers }) => headers['message-id'])).size).toBe(1);
  });

  test('an alert is not retried for a recipient that the server rejects; others get it, and the subscription stays', async () => {
    const { id } = await subscribe({ recipients: ['gone@example.com', 'ops@example.com'] });
    sink.faults.recipient = [550];
    await call('POST', `/email-subscriptions/${id}/test`);
    await send();
    await settled(id, 'delivered');
    const failed = (await deliveriesOf(id)).filter((one: { state: string }) => one.state === 'failed');
    expect(failed).toMatchObject([{ failure: 'rejected', attempts: [{ status: 550 }] }]);
    expect((await call('GET', `/email-subscriptions/${id}`)).json.enabled).toBe(true);
    const again = `/email-subscriptions/${id}/deliveries/${failed[0].id}/redeliver`;
    expect((await call('POST', again)).json.state).toBe('waiting');
    await send();
    await settled(id, 'delivered', 2);
  });

  test('an alert that waits is not sent to a recipient who was removed', async () => {
    const { id } = await subscribe({ recipients: ['ada@example.com', 'ops@example.com'] });
    await call('POST', `/email-subscriptions/${id}/test`);
    await call('PATCH', `/email-subscriptions/${id}`, { recipients: ['ops@example.com'] });
    await send();
    await settled(id, 'failed');
    await settled(id, 'delivered');
    expect(sink.mails.map(({ to }) => to)).toEqual([['ops@example.com']]);
  });
});

describe('a recipient', () => {
  test('gets at most five test messages an hour, also through other and deleted subscriptions', async () => {
    const statuses: number[] = [];
    for (let n = 1; n <= 6; n += 1) {
      const { id } = await subscribe({ recipients: ['ada@example.com', `other-${n}@example.com`] });
      statuses.push((await call('POST', `/email-subscriptions/${id}/test`)).status);
      await call('DELETE', `/email-subscriptions/${id}`);
    }
    expect(statuses).toEqual([200, 200, 200, 200, 200, 429]);
    const { id } = await subscribe();
    const limited = await call('POST', `/email-subscriptions/${id}/test`);
    expect(limited.json.error.code).toBe('rate_limited');
    expect(Number(limited.headers['retry-after'])).toBeGreaterThan(3_000);
    const elsewhere = await subscribe({ recipients: ['ops@example.com'] });
    expect((await call('POST', `/email-subscriptions/${elsewhere.id}/test`)).status).toBe(200);
    world.clock.advanceSeconds(3_700);
    expect((await call('POST', `/email-subscriptions/${id}/test`)).status).toBe(200);
  });

  test('gets the same message at most ten times an hour, however often it is redelivered', async () => {
    const { id } = await subscribe();
    const { data } = (await call('POST', `/email-subscriptions/${id}/test`)).json;
    const again = `/email-subscriptions/${id}/deliveries/${data[0].id}/redeliver`;
    for (let sent = 1; sent <= 10; sent += 1) {
      await send();
      await settled(id, 'delivered');
      expect((await call('POST', again)).status).toBe(sent < 10 ? 200 : 429);
    }
    await send();
    // Messages of other tests may still be in the queue.
    expect(sink.mails.filter(({ headers }) => headers['list-id']?.includes(id))).toHaveLength(10);
  });

  test('leaves with the link of the message, without signing in, also by the button of a mail program', async () => {
    const { id } = await subscribe({ recipients: ['ada@example.com', 'ops@example.com'] });
    await call('POST', `/email-subscriptions/${id}/test`);
    await send();
    await settled(id, 'delivered', 2);
    const links = Object.fromEntries(
      sink.mails.map(({ to, headers }) => [
        to[0],
        headers['list-unsubscribe']?.replace(/^<http:\/\/localhost|>$/g, ''),
      ]),
    );
    const page = await world.request('GET', links['ada@example.com'] ?? '');
    expect(page.text).toContain('ada@example.com');
    expect((await call('GET', `/email-subscriptions/${id}`)).json.recipients).toHaveLength(2);
    const form = { 'content-type': 'application/x-www-form-urlencoded' };
    const oneClick = { raw: 'List-Unsubscribe=One-Click', headers: form };
    expect((await world.request('POST', links['ada@example.com'] ?? '', oneClick)).status).toBe(200);
    expect((await world.request('POST', links['ada@example.com'] ?? '', oneClick)).status).toBe(200);
    expect((await call('GET', `/email-subscriptions/${id}`)).json).toMatchObject({
      recipients: ['ops@example.com'],
      enabled: true,
    });
    await world.request('POST', links['ops@example.com'] ?? '', oneClick);
    expect((await call('GET', `/email-subscriptions/${id}`)).json).toMatchObject({
      recipients: [],
      enabled: false,
    });
    const forged = (links['ops@example.com'] ?? '').replace(/.$/, (last: string) =>
      last === 'A' ? 'B' : 'A',
    );
    expect((await world.request('POST', `${forged}x`, oneClick)).status).toBe(404);
    expect((await audited(id)).at(-1)).toBe('email_subscriptions.unsubscribe');
  });

  test('gets nothing after leaving, even if the address is added again, until the link allows it', async () => {
    const { id } = await subscribe({ recipients: ['eve@example.com', 'ops@example.com'] });
    const sendTest = async (subscription: string, state: string) => {
      world.clock.advanceSeconds(3_700);
      await call('POST', `/email-subscriptions/${subscription}/test`);
      await send();
      await settled(subscription, state);
    };
    const sentTo = () => sink.mails.filter(({ to }) => to[0] === 'eve@example.com').length;
    await call('PATCH', `/email-subscriptions/${id}`, { recipients: ['eve@example.com'] });
    await sendTest(id, 'delivered');
    expect(sentTo()).toBe(1);
    const link = sink.mails
      .findLast(({ to }) => to[0] === 'eve@example.com')
      ?.headers['list-unsubscribe']?.replace(/^<http:\/\/localhost|>$/g, '') as string;
    const form = { raw: '', headers: { 'content-type': 'application/x-www-form-urlencoded' } };
    expect((await world.request('POST', link, form)).text).toContain('gets no alerts of');
    const again = await subscribe({ recipients: ['eve@example.com'] });
    await sendTest(again.id, 'failed');
    expect(sentTo()).toBe(1);
    expect((await deliveriesOf(again.id))[0]).toMatchObject({
      failure: 'rejected',
      attempts: [{ response: 'The recipient has unsubscribed.' }],
    });
    expect((await world.request('GET', link)).text).toContain('Allow alerts again');
    expect((await world.request('POST', `${link}/allow`, form)).status).toBe(200);
    await sendTest(again.id, 'delivered');
    expect(sentTo()).toBe(2);
    expect(await audited(id)).toEqual(
      expect.arrayContaining(['email_subscriptions.unsubscribe', 'email_subscriptions.allow']),
    );
    const other = await world.createOrg();
    expect(
      await world.db.query('SELECT 1 AS one FROM unsubscribed_recipients WHERE org_id = $1', [other.id]),
    ).toEqual([]);
  });
});

test('messages beyond a thousand within an hour are sent later', async () => {
  world.clock.advanceSeconds(3_700);
  const { id } = await subscribe({ recipients: ['late@example.com'] });
  const sentBefore = {
    key: `${org.id}:mail`,
    limit: 1_000n,
    burst: 1_000n,
    windowSeconds: 3_600,
    amount: 1_000n,
    rolling: true,
  };
  await world.services.rates.take([sentBefore], world.clock.now().getTime());
  await call('POST', `/email-subscriptions/${id}/test`);
  await send();
  await eventually(async () => expect((await deliveriesOf(id))[0].attempts).toHaveLength(1));
  const [waiting] = await deliveriesOf(id);
  expect(waiting).toMatchObject({
    state: 'waiting',
    attempts: [{ response: expect.stringMatching(/^Postponed/) }],
  });
  const waitMs = Date.parse(waiting.next_attempt_at) - world.clock.now().getTime();
  expect(waitMs).toBeGreaterThan(3_000_000);
  expect(sink.mails.filter(({ to }) => to[0] === 'late@example.com')).toEqual([]);
  world.clock.advanceSeconds(7_300);
  await settled(id, 'delivered');
});
