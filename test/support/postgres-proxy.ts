/**
 * A proxy between Purser and PostgreSQL that can cut a connection at the worst moment: after COMMIT was sent and before
 * its response. The test chooses whether the commit reaches the server; the client cannot know. The proxy can also
 * delay notifications, but not so long that they count as missed.
 */
import { connect, createServer, type Socket } from 'node:net';

export interface PostgresProxy {
  readonly url: string;
  /**
   * Cuts the connection of the transaction that sent this text, at its commit. Resolves when the connection is cut and,
   * if the commit was forwarded, the server has responded to it.
   */
  cutCommit(of: { readonly text: string; readonly reaches: boolean }): Promise<void>;
  /** Cuts all connections at once. */
  cutAll(): void;
  /** From now on, delays everything that the server sends. */
  delayAnswers(byMs: number): void;
  /** From now on, delays everything that the server sends on connections that listen for notifications. */
  delayNotices(byMs: number): void;
  close(): Promise<void>;
}

interface Cut {
  readonly text: string;
  readonly reaches: boolean;
  done(): void;
}

/** Encodes a simple query message: type, length and text. */
const message = (sql: string) => {
  const text = Buffer.from(`${sql}\0`);
  const head = Buffer.alloc(5, 'Q');
  head.writeInt32BE(text.length + 4, 1);
  return Buffer.concat([head, text]);
};
const begin = message('BEGIN');
const commit = message('COMMIT');

export async function startPostgresProxy(url: string): Promise<PostgresProxy> {
  const target = new URL(url);
  const sockets = new Set<Socket>();
  let cuts: Cut[] = [];
  let noticesDelayMs = 0;
  let answersDelayMs = 0;

  const server = createServer((client) => {
    const upstream = connect(Number(target.port), target.hostname);
    let sent = Buffer.alloc(0);
    /** Set while a commit is in flight whose response must not be forwarded. */
    let cutting: Cut | undefined;
    let listens = false;
    /** Data must not overtake earlier data that is delayed. */
    let notBeforeMs = 0;
    const passOn = (chunk: Buffer) => {
      const nowMs = performance.now();
      notBeforeMs = Math.max(notBeforeMs, nowMs + Math.max(answersDelayMs, listens ? noticesDelayMs : 0));
      if (notBeforeMs > nowMs) {
        setTimeout(() => client.write(chunk), notBeforeMs - nowMs);
      } else {
        client.write(chunk);
      }
    };
    const cutNow = (cut: Cut) => {
      client.destroy();
      upstream.destroy();
      cut.done();
    };
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      one.setNoDelay(true);
      sockets.add(one);
      one.on('error', () => other.destroy());
      one.on('close', () => {
        sockets.delete(one);
        other.destroy();
      });
    }
    client.on('data', (chunk) => {
      listens ||= chunk.indexOf('LISTEN ') >= 0;
      sent = chunk.indexOf(begin) >= 0 ? chunk : Buffer.concat([sent, chunk]);
      const at = cuts.length === 0 ? -1 : chunk.indexOf(commit);
      const cut = at < 0 ? undefined : cuts.find(({ text }) => sent.indexOf(text) >= 0);
      if (cut === undefined) {
        upstream.write(chunk);
        return;
      }
      cuts = cuts.filter((one) => one !== cut);
      if (cut.reaches) {
        cutting = cut;
        upstream.write(chunk);
      } else {
        cutNow(cut);
      }
    });
    upstream.on('data', (chunk) => {
      if (cutting === undefined) {
        passOn(chunk);
      } else {
        cutNow(cutting);
      }
    });
  });
  function cutAll(): void {
    for (const socket of sockets) {
      socket.destroy();
    }
  }
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const proxied = new URL(url);
  proxied.port = String(typeof address === 'object' ? address?.port : '');

  return {
    url: proxied.href,
    cutCommit: ({ text, reaches }) =>
      new Promise((resolve) => {
        cuts.push({ text, reaches, done: resolve });
      }),
    cutAll,
    delayAnswers(byMs) {
      answersDelayMs = byMs;
    },
    delayNotices(byMs) {
      noticesDelayMs = byMs;
    },
    async close() {
      cutAll();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
