import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { newPair } from '../../../test/support/certificates.ts';
import { type SinkOptions, type SmtpSink, startSmtpSink } from '../../../test/support/smtp-sink.ts';
import { isMailAddress, parseMailbox } from './addresses.ts';
import { createMailer, type Mail, type MailerOptions } from './mailer.ts';
import { parseSmtpUrl } from './smtp-url.ts';

const sinks: SmtpSink[] = [];
afterEach(async () => {
  for (const sink of sinks.splice(0)) {
    await sink.close();
  }
});

const pair = newPair();
const from = parseMailbox('Purser <purser@example.com>');
const mail: Mail = {
  to: ['ada@example.com'],
  subject: 'Budget used',
  text: 'Hello',
  html: '<p>Hello</p>',
  messageId: '<evt_1@example.com>',
  headers: { 'Auto-Submitted': 'auto-generated' },
};

async function sinkOf(options: SinkOptions = {}): Promise<SmtpSink> {
  const sink = await startSmtpSink(options);
  sinks.push(sink);
  return sink;
}

function mailerOf(url: string, options: Partial<MailerOptions> = {}) {
  return createMailer({ server: parseSmtpUrl(url), from, ...options });
}

describe('a message', () => {
  test('arrives with its id, its headers, and both parts', async () => {
    const sink = await sinkOf();
    const answer = await mailerOf(sink.url).send(mail);
    expect(answer).toMatchObject({ status: 250, error: null, isRejected: false });
    expect(sink.mails).toMatchObject([
      {
        from: 'purser@example.com',
        to: ['ada@example.com'],
        headers: {
          from: 'Purser <purser@example.com>',
          'message-id': '<evt_1@example.com>',
          'auto-submitted': 'auto-generated',
        },
      },
    ]);
    expect(sink.mails[0]?.text.trim()).toBe('Hello');
    expect(sink.mails[0]?.html.trim()).toBe('<p>Hello</p>');
  });

  test('an e-mail cannot add headers or recipients by its subject or address', async () => {
    const sink = await sinkOf();
    const hostile = 'x\r\nBcc: eve@example.com\r\n\r\nbody';
    await mailerOf(sink.url).send({ ...mail, subject: hostile });
    await mailerOf(sink.url).send({ ...mail, to: ['ada@example.com, eve@example.com'] });
    expect(sink.mails.flatMap(({ to }) => to)).not.toContain('eve@example.com');
    expect(sink.mails[0]?.headers).not.toHaveProperty('bcc');
  });

  test.each([
    ['the recipient is rejected for good', { recipient: [550] }, { status: 550, isRejected: true }],
    ['the recipient is rejected for now', { recipient: [450] }, { status: 450, isRejected: false }],
    ['the message is rejected for good', { data: [554] }, { status: 554, isRejected: true }],
    ['the message is rejected for now', { data: [451] }, { status: 451, isRejected: false }],
    ['the connection is cut after the message', { data: [0] }, { status: null, error: 'connection_reset' }],
    ['the server is silent', { data: [-1] }, { status: null, error: 'timeout' }],
  ])('an e-mail has a known outcome if %s', async (_case, faults, expected) => {
    const sink = await sinkOf();
    Object.assign(sink.faults, { recipient: [], data: [], ...faults });
    const mailer = mailerOf(sink.url, { timeouts: { connect: 2_000, silence: 300 } });
    expect(await mailer.send(mail)).toMatchObject(expected);
  });

  test('an e-mail is given up in time by a server that keeps sending something, and the connection is closed', async () => {
    const connections: Promise<unknown>[] = [];
    const server = createServer((socket) => {
      socket.write('220 ready\r\n');
      const timer = setInterval(() => socket.write('250-more\r\n'), 10);
      socket.on('error', () => undefined).on('close', () => clearInterval(timer));
      connections.push(once(socket, 'close'));
    });
    await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready));
    const url = `smtp://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const timeouts = { connect: 5_000, silence: 5_000, total: 300 };
    expect(await mailerOf(url, { timeouts }).send(mail)).toMatchObject({ status: null, error: 'timeout' });
    await Promise.allSettled(connections);
    expect(connections).toHaveLength(1);
    server.close();
  });

  test('an e-mail is not sent if nothing listens, and without a server', async () => {
    const sink = await sinkOf();
    const { url } = sink;
    await sinks.pop()?.close();
    expect(await mailerOf(url).send(mail)).toMatchObject({ status: null, error: 'connection_refused' });
    const none = createMailer({ server: undefined, from });
    expect(none.isConfigured).toBe(false);
    expect(await none.send(mail)).toMatchObject({ status: null, error: 'not_configured' });
  });
});

describe('a connection', () => {
  const tls = { key: pair.key, cert: pair.certificate };
  const login = { user: 'purser', password: 'p@ss:word/ü' };
  const withLogin = (url: string) =>
    url.replace('://', `://${login.user}:${encodeURIComponent(login.password)}@`);

  test.each([
    ['TLS from the start', true],
    ['STARTTLS', false],
  ])('signs in over %s, with a certificate that is verified', async (_kind, secure) => {
    const sink = await sinkOf({ ...tls, secure, login });
    const url = `${withLogin(sink.url)}${secure ? '' : '?starttls=required'}`;
    expect(await mailerOf(url, { ca: pair.certificate }).send(mail)).toMatchObject({ status: 250 });
    expect(await mailerOf(url, { ca: pair.certificate }).verify()).toMatchObject({ error: null });
    expect(await mailerOf(url).send(mail)).toMatchObject({ status: null, error: 'tls' });
    expect(sink.mails).toHaveLength(1);
  });

  test('a connection to the mail server is refused if STARTTLS is required and not offered', async () => {
    const sink = await sinkOf();
    expect(await mailerOf(`${sink.url}?starttls=required`).send(mail)).toMatchObject({
      isRejected: false,
      error: 'tls',
    });
    expect(sink.mails).toEqual([]);
  });

  test('a connection to the mail server with a wrong password fails, and does not repeat it', async () => {
    const sink = await sinkOf({ ...tls, secure: true, login });
    const url = withLogin(sink.url).replace('purser:', 'other:');
    const answer = await mailerOf(url, { ca: pair.certificate }).send(mail);
    expect(answer).toMatchObject({ status: 535, error: 'authentication', isRejected: false });
    expect(JSON.stringify(answer)).not.toContain(login.password);
  });
});

describe('the URL of a server', () => {
  test.each([
    ['smtp://mail.example.com', { port: 587, isSecure: false, startTls: 'required', credentials: undefined }],
    ['smtps://mail.example.com', { port: 465, isSecure: true }],
    ['smtp://localhost:2525', { port: 2525, startTls: 'optional' }],
    ['smtp://[::1]:25', { host: '::1', startTls: 'optional' }],
    ['smtp://mail.example.com?starttls=never', { startTls: 'never' }],
    ['smtp://a%40b:p%3Aw@mail.example.com', { credentials: { user: 'a@b', password: 'p:w' } }],
  ])('%s is accepted', (url, expected) => {
    expect(parseSmtpUrl(url)).toMatchObject(expected);
  });

  test.each([
    'mail.example.com',
    'http://mail.example.com',
    'smtp://',
    'smtp://mail.example.com/path',
    'smtp://mail.example.com?tls=off',
    'smtp://mail.example.com?starttls=maybe',
    'smtp://user@mail.example.com',
    'smtp://user:100%@mail.example.com',
  ])('%s is rejected', (url) => {
    expect(() => parseSmtpUrl(url)).toThrow(/^an absolute URL/);
  });
});

test('an address is plain: nothing in it starts another address or header', () => {
  expect(['a@b.example', 'a.b+c@x.example', "o'hara@x.example"].filter(isMailAddress)).toHaveLength(3);
  const bad = [
    'a',
    'a@',
    '@b',
    'a@b@c',
    'a b@c',
    'a@b,c@d',
    'a@b\r\nBcc: c@d',
    '<a@b>',
    '"a"@b',
    'a@b..c',
    `${'a'.repeat(65)}@b.c`,
  ];
  expect(bad.filter(isMailAddress)).toEqual([]);
  expect(() => parseMailbox('Evil\r\nBcc: c@d <a@b.example>')).toThrow(/e-mail address/);
});
