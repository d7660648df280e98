/**
 * Sends e-mail by SMTP. Each message has a separate connection, so that its outcome is known exactly. Never throws: the outcome is
 * a value. Errors and log lines never contain credentials.
 */
import { Socket } from 'node:net';
import { performance } from 'node:perf_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import { createTransport } from 'nodemailer';
import { shortened } from '../shortened-text.ts';
import type { Mailbox } from './addresses.ts';
import type { SmtpServer } from './smtp-url.ts';

export interface Mail {
  readonly to: readonly string[];
  readonly subject: string;
  readonly text: string;
  readonly html: string;
  /** Message id in angle brackets. It is the same in every attempt, so that a repeated message is recognized. */
  readonly messageId: string;
  readonly headers: Readonly<Record<string, string>>;
}

export const mailErrors = [
  'not_configured',
  'timeout',
  'name_not_resolved',
  'connection_refused',
  'connection_reset',
  'tls',
  'authentication',
  'network',
] as const;
export type MailError = (typeof mailErrors)[number];

export interface MailAnswer {
  /** Status of the server's reply to the message, or of the reply that rejected it; null if there was none. */
  readonly status: number | null;
  readonly error: MailError | null;
  /** True if the server permanently rejects the recipient or the message. */
  readonly isRejected: boolean;
  /** Text of the reply. */
  readonly response: string | null;
  readonly latencyMs: number;
}

export interface Mailer {
  /** False without `SVC_SMTP_URL`. Every message then fails with `not_configured`. */
  readonly isConfigured: boolean;
  /** The sender of every message. */
  readonly from: Mailbox | undefined;
  send(mail: Mail): Promise<MailAnswer>;
  /** Connects and signs in without sending a message. */
  verify(): Promise<MailAnswer>;
}

export interface MailerOptions {
  readonly server: SmtpServer | undefined;
  readonly from: Mailbox | undefined;
  /** Certificates to trust instead of the system's. */
  readonly ca?: string;
  readonly timeouts?: Partial<typeof usualTimeoutsMs>;
}

const usualTimeoutsMs = {
  connect: 10_000,
  /** Maximum silence of the server. */
  silence: 20_000,
  /** Maximum duration of the whole exchange, even if the server keeps sending. */
  total: 60_000,
};
const responseCharsMax = 1_000;

export function createMailer({ server, from, ca, timeouts }: MailerOptions): Mailer {
  const { connect, silence, total } = { ...usualTimeoutsMs, ...timeouts };
  if (server === undefined || from === undefined) {
    const nowhere = async (): Promise<MailAnswer> => ({
      ...noReply,
      error: 'not_configured',
      latencyMs: 0,
    });
    return { isConfigured: false, from: undefined, send: nowhere, verify: nowhere };
  }
  const transportOver = (socket: Socket) =>
    createTransport({
      socket,
      host: server.host,
      port: server.port,
      secure: server.isSecure,
      requireTLS: !server.isSecure && server.startTls === 'required',
      ignoreTLS: server.startTls === 'never',
      ...(server.credentials && {
        auth: { user: server.credentials.user, pass: server.credentials.password },
      }),
      tls: { rejectUnauthorized: true, minVersion: 'TLSv1.2', ...(ca !== undefined && { ca }) },
      connectionTimeout: connect,
      greetingTimeout: connect,
      dnsTimeout: connect,
      socketTimeout: silence,
      logger: false,
      // A message never reads files or URLs.
      disableFileAccess: true,
      disableUrlAccess: true,
    });

  async function timed(
    work: (transport: ReturnType<typeof transportOver>) => Promise<Omit<MailAnswer, 'latencyMs'>>,
  ): Promise<MailAnswer> {
    const startedMs = performance.now();
    const ended = new AbortController();
    const socket = new Socket();
    const late = pause(total, undefined, { signal: ended.signal, ref: false }).then(
      () => {
        // Otherwise a server that keeps sending would keep the connection open.
        socket.destroy();
        return { ...noReply, error: 'timeout' as const };
      },
      () => noReply,
    );
    const answer = await Promise.race([work(transportOver(socket)).catch(failureOf), late]);
    ended.abort();
    return { ...answer, latencyMs: Math.round(performance.now() - startedMs) };
  }

  return {
    isConfigured: true,
    from,
    send: ({ to, headers, ...mail }) =>
      timed(async (transport) => {
        // Objects, because text would be parsed, and a comma in it would separate two addresses.
        const recipients = to.map((address) => ({ name: '', address }));
        const sent = await transport.sendMail({ ...mail, from, to: recipients, headers: { ...headers } });
        return {
          ...noReply,
          status: statusOf(sent.response),
          response: shortened(sent.response, responseCharsMax),
        };
      }),
    verify: () =>
      timed(async (transport) => {
        await transport.verify();
        return noReply;
      }),
  };
}

const noReply = { status: null, error: null, isRejected: false, response: null } as const;

function statusOf(response: string): number {
  return Number(/^\d{3}/.exec(response)?.[0] ?? 250);
}

interface SmtpFailure {
  readonly code?: string;
  readonly originalCode?: string;
  readonly command?: string;
  readonly responseCode?: number;
  readonly response?: string;
}

/** Commands whose rejection concerns this message or recipient, not the account or the sender. */
const commandsOfMessage = ['RCPT TO', 'DATA'];

function failureOf(cause: unknown): Omit<MailAnswer, 'latencyMs'> {
  const failure = cause as SmtpFailure;
  const { responseCode, command = '', response } = failure;
  if (responseCode === undefined) {
    return { ...noReply, error: errorOf(failure) };
  }
  return {
    status: responseCode,
    error: failure.code === 'EAUTH' ? 'authentication' : failure.code === 'ETLS' ? 'tls' : null,
    isRejected: responseCode >= 500 && commandsOfMessage.includes(command),
    response: response === undefined ? null : shortened(response, responseCharsMax),
  };
}

function errorOf({ code = '', originalCode = '' }: SmtpFailure): MailError {
  const both = `${code} ${originalCode}`;
  if (/ETIMEDOUT/.test(both)) {
    return 'timeout';
  }
  if (/EDNS|ENOTFOUND|EAI_AGAIN/.test(both)) {
    return 'name_not_resolved';
  }
  if (/ECONNREFUSED/.test(both)) {
    return 'connection_refused';
  }
  if (/EAUTH/.test(both)) {
    return 'authentication';
  }
  if (/ETLS|CERT|SELF_SIGNED|ALTNAME|SSL/.test(both)) {
    return 'tls';
  }
  return /ECONNRESET|EPIPE|ECONNECTION/.test(both) ? 'connection_reset' : 'network';
}
