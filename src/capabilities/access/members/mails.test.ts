/** Invitations by e-mail: sent with their link, retried, and never for a link that is no longer valid. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createWorld, type TestOrg, type World } from '../../../../test/harness.ts';
import { postForm } from '../../../../test/support/sign-in.ts';
import { type SmtpSink, startSmtpSink } from '../../../../test/support/smtp-sink.ts';

let world: World;
let sink: SmtpSink;
let org: TestOrg;

beforeAll(async () => {
  sink = await startSmtpSink();
  world = await createWorld({ SVC_SMTP_URL: sink.url, SVC_SMTP_FROM: 'purser@example.com' });
});
afterAll(async () => {
  await world.close();
  await sink.close();
});
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
const waiting = () => world.db.query('SELECT id FROM member_mails WHERE org_id = $1', [org.id]);

test('an invitation is sent with its link, which signs in once, and is in no log line', async () => {
  const invited = await invite();
  expect(invited.emailed).toBe(true);
  const [stored] = await world.db.query<{ row: string }>(
    'SELECT m::text AS row FROM member_mails m WHERE org_id = $1',
    [org.id],
  );
  expect(stored?.row).not.toContain(invited.sign_in_url);
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
