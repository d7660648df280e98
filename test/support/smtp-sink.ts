/** A mail server on a real socket, which keeps the messages. The test chooses its faults. */
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';

export interface ReceivedMail {
  readonly from: string;
  readonly to: readonly string[];
  readonly raw: string;
  /** In lower case, unfolded. */
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
  readonly html: string;
}

export interface SmtpSink {
  readonly port: number;
  readonly url: string;
  readonly mails: ReceivedMail[];
  /** Answers the next recipients, or the end of the next messages, with these replies; 0 cuts the connection, -1 is silence. */
  readonly faults: { recipient: number[]; data: number[] };
  close(): Promise<void>;
}

export interface SinkOptions extends SMTPServerOptions {
  readonly login?: { readonly user: string; readonly password: string };
}

export async function startSmtpSink({ login, ...options }: SinkOptions = {}): Promise<SmtpSink> {
  const mails: ReceivedMail[] = [];
  const faults: SmtpSink['faults'] = { recipient: [], data: [] };
  const failure = (code: number) => Object.assign(new Error('as the test wants'), { responseCode: code });
  const server = new SMTPServer({
    disabledCommands: [
      ...(login === undefined ? ['AUTH'] : []),
      ...(options.key === undefined ? ['STARTTLS'] : []),
    ],
    authOptional: login === undefined,
    logger: false,
    onAuth({ username, password }, _session, done) {
      if (username === login?.user && password === login?.password) {
        done(null, { user: username });
      } else {
        done(new Error('Invalid credentials'));
      }
    },
    onRcptTo(_address, _session, done) {
      const code = faults.recipient.shift();
      done(code === undefined ? null : failure(code));
    },
    onData(stream, session, done) {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => {
        const code = faults.data.shift();
        if (code === undefined || code === 0) {
          const { mailFrom, rcptTo } = session.envelope;
          const raw = Buffer.concat(chunks).toString('utf8');
          mails.push({
            from: mailFrom === false ? '' : mailFrom.address,
            to: rcptTo.map(({ address }) => address),
            raw,
            ...parsed(raw),
          });
        }
        if (code === 0) {
          // The message is accepted, and the connection is lost before the reply.
          for (const connection of connectionsOf(server)) {
            connection._socket.destroy();
          }
        } else if (code !== -1) {
          done(code === undefined ? null : failure(code));
        }
      });
    },
    ...options,
  });
  // A client that ends a connection is not a problem of the server.
  server.on('error', () => undefined);
  server.listen(0, '127.0.0.1');
  await once(server.server, 'listening');
  const { port } = server.server.address() as AddressInfo;
  return {
    port,
    url: `smtp${options.secure === true ? 's' : ''}://127.0.0.1:${port}`,
    mails,
    faults,
    async close() {
      for (const connection of connectionsOf(server)) {
        connection._socket.destroy();
      }
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

function connectionsOf(server: SMTPServer): Set<{ readonly _socket: { destroy(): void } }> {
  return (server as unknown as { connections: Set<{ readonly _socket: { destroy(): void } }> }).connections;
}

function parsed(raw: string): Pick<ReceivedMail, 'headers' | 'text' | 'html'> {
  const { headers, body } = splitPart(raw);
  const boundary = /boundary="?([^";]+)"?/.exec(headers['content-type'] ?? '')?.[1];
  const parts = boundary === undefined ? [] : body.split(`--${boundary}`).slice(1, -1).map(splitPart);
  const find = (type: string) => {
    const part = parts.find((one) => (one.headers['content-type'] ?? '').startsWith(type));
    return part === undefined ? '' : decoded(part.headers['content-transfer-encoding'] ?? '7bit', part.body);
  };
  return { headers, text: find('text/plain'), html: find('text/html') };
}

function splitPart(raw: string): { headers: Record<string, string>; body: string } {
  const trimmed = raw.replace(/^\r?\n/, '');
  const [head = '', ...rest] = trimmed.split(/\r?\n\r?\n/);
  const lines = head.replaceAll(/\r?\n[ \t]+/g, ' ').split(/\r?\n/);
  return {
    headers: Object.fromEntries(
      lines.map((line) => [
        line.slice(0, line.indexOf(':')).toLowerCase(),
        line.slice(line.indexOf(':') + 1).trim(),
      ]),
    ),
    body: rest.join('\n\n'),
  };
}

function decoded(encoding: string, body: string): string {
  if (encoding === 'base64') {
    return Buffer.from(body, 'base64').toString('utf8');
  }
  if (encoding !== 'quoted-printable') {
    return body;
  }
  const joined = body.replaceAll(/=\r?\n/g, '');
  const bytes = joined.replaceAll(/=([0-9A-F]{2})/g, (_, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  );
  return Buffer.from(bytes, 'latin1').toString('utf8');
}
