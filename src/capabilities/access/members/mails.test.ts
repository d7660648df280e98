/** Invitations by e-mail: sent with their link, retried, and never for a link that is no longer valid. */
import { beforeEach, expect, test } from 'vitest';
import { createWorld, type TestOrg } from '../../../../test/harness.ts';
import { useFixture } from '../../../../test/support/fixtures.ts';
import { postForm } from '../../../../test/support/sign-in.ts';
import { startSmtpSink } from '../../../../test/support/smtp-sink.ts';

const sink = useFixture(startSmtpSink);
const world = useFixture(() => createWorld({ SVC_SMTP_URL: sink.url, SVC_SMTP_FROM: 'purser@example.com' }));
let org: TestOrg;

beforeEach(async () => {
  sink.mails.length = 0;
  sink.faults.data = [];
  sink.faults.recipient = [];
  org = await world.createOrg('Acme');
});

const call = (method: string, path: string, body?: object) =>
  world.request(method, `/v1/orgs/${org.id}${path}`, {
    key: org.ownerKey,
    ...(body !== undefined && { body }),
  });
const invite = async (email = 'ada@example.com') =>
  (await call('POST', '/members', { email, name: 'Ada', role: 'viewer' })).json;
const send = () => world.runJob('send-member-mails');
const waiting = () =>
  world.db.query('SELECT id FROM member_mails WHERE org_id = $1 AND sent_at IS NULL', [org.id]);
const stored = () =>
  world.db.query<{ row: string }>('SELECT m::text AS row FROM member_mails m WHERE org_id = $1', [org.id]);

test('an invitation is sent with its link, which signs in once, and is in no log line', async () => {
  const invited = await invite();
  expect(invited.emailed).toBe(true);
  expect((await stored())[0]?.row).not.toContain(invited.sign_in_url);
  await send();
  expect(sink.mails).toMatchObject([
    {
      to: ['ada@example.com'],
      headers: { subject: 'Invitation to Acme', 'auto-submitted': 'auto-generated' },
    },
  ]);
  expect(sink.mails[0]?.text).toContain(invited.sign_in_url);
  expect(await waiting()).toEqual([]);
  const { pathname } = new URL(invited.sign_in_url);
  expect((await postForm(world, pathname, {})).status).toBe(303);
  expect(world.logLines.some((line) => line.includes(pathname))).toBe(false);
});

test('the name of an organization is shortened to one line', async () => {
  org = await world.createOrg(`Acme\u2028\u202e${'x'.repeat(150)}`);
  await invite();
  await send();
  expect(sink.mails[0]?.text).toContain(`invited to join Acme ${'x'.repeat(94)}… on Purser`);
});

test('an invitation is retried with the same id while the mail server rejects it for now', async () => {
  await invite();
  sink.faults.data = [451, 0];
  await send();
  world.clock.advanceSeconds(11);
  await send();
  world.clock.advanceSeconds(30);
  await send();
  expect(sink.mails).toHaveLength(2);
  expect(new Set(sink.mails.map(({ headers }) => headers['message-id'])).size).toBe(1);
  expect(await waiting()).toEqual([]);
});

test('a link that was replaced, or whose member was removed, is not sent', async () => {
  const { id, sign_in_url } = await invite();
  const again = (await call('POST', `/members/${id}/sign-in-link`)).json;
  expect(again.emailed).toBe(true);
  await send();
  expect(sink.mails).toHaveLength(1);
  expect(sink.mails[0]?.text).toContain(again.sign_in_url);
  expect(sink.mails[0]?.text).not.toContain(sign_in_url);
  const { id: removed } = await invite('bob@example.com');
  await call('DELETE', `/members/${removed}`);
  await send();
  expect(sink.mails).toHaveLength(1);
  expect(await waiting()).toEqual([]);
});

test('a rejected address is not retried, and an unusable one is not tried', async () => {
  await invite();
  sink.faults.recipient = [550];
  await send();
  expect(await waiting()).toEqual([]);
  expect((await invite('a,b@example.com')).emailed).toBe(false);
  await send();
  expect(sink.mails).toEqual([]);
});

test('an address gets five messages an hour, also if its member is removed and invited again', async () => {
  for (let sent = 1; sent <= 5; sent += 1) {
    const { id, emailed } = await invite();
    expect(emailed).toBe(true);
    await send();
    await call('DELETE', `/members/${id}`);
  }
  const sixth = await invite();
  expect(sixth).toMatchObject({ emailed: false, sign_in_url: expect.any(String) });
  expect((await call('POST', `/members/${sixth.id}/sign-in-link`)).json.emailed).toBe(false);
  expect((await invite('bob@example.com')).emailed).toBe(true);
  await send();
  expect(sink.mails).toHaveLength(6);

  world.clock.advanceSeconds(3_600);
  expect((await call('POST', `/members/${sixth.id}/sign-in-link`)).json.emailed).toBe(true);
  await send();
  expect(sink.mails).toHaveLength(7);
  expect(await stored()).toHaveLength(1);
});

test('a message that is replaced while it is being sent is counted', async () => {
  const { id } = await invite();
  for (let sent = 1; sent <= 5; sent += 1) {
    let replaced: boolean | undefined;
    world.fault = async (point) => {
      if (point === 'mail.after_send') {
        world.fault = undefined;
        replaced = (await call('POST', `/members/${id}/sign-in-link`)).json.emailed;
      }
    };
    await send();
    expect([sent, replaced]).toEqual([sent, sent < 5]);
  }
  await send();
  expect(sink.mails).toHaveLength(5);
});

test('an organization sends 200 messages an hour', async () => {
  const { id } = await invite();
  await send();
  await world.db.query(
    `INSERT INTO member_mails (org_id, id, member_id, sealed, link_digest, due_at, created_at, sent_at)
     SELECT org_id, 'mml_' || n, member_id, sealed, link_digest, due_at, created_at, sent_at
       FROM member_mails, generate_series(1, 199) AS n WHERE org_id = $1 AND member_id = $2`,
    [org.id, id],
  );
  expect((await invite('bob@example.com')).emailed).toBe(false);
});
