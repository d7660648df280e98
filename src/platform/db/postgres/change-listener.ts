/**
 * The connection that hears notices from other processes.
 *
 * A process must know within a second that a key was revoked elsewhere, also when this connection dies
 * without a word. So it is asked for a sign of life several times a second, and `areCurrent` is true only
 * while the last answered question was asked a short time ago: PostgreSQL delivers the notices committed
 * before a question with or before its answer.
 */
import { performance } from 'node:perf_hooks';
import pg from 'pg';
import type { Log } from '../../log.ts';
import type { LocalNotifications } from '../transaction.ts';

const pingEveryMs = 200;
const answerWithinMs = 400;
const currentForMs = 800;
const reconnectAfterMs = { first: 100, max: 2_000 };

export class ChangeListener {
  readonly #settings: pg.ClientConfig;
  readonly #board: LocalNotifications;
  readonly #log: Log;
  readonly #nowMs: () => number;
  #client: pg.Client | undefined;
  #confirmedAtMs = Number.NEGATIVE_INFINITY;
  #stopped = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(
    settings: pg.ClientConfig,
    board: LocalNotifications,
    log: Log,
    nowMs = () => performance.now(),
  ) {
    this.#settings = { ...settings, query_timeout: answerWithinMs };
    this.#board = board;
    this.#log = log;
    this.#nowMs = nowMs;
  }

  areCurrent(): boolean {
    return this.#nowMs() - this.#confirmedAtMs < currentForMs;
  }

  /** Connects; a failure is retried in the background, with notices not current until it succeeds. */
  async start(): Promise<void> {
    await this.#connect(reconnectAfterMs.first);
  }

  /** There is a new channel on the board; until the connection listens to it, notices are not current. */
  channelAdded(): void {
    this.#confirmedAtMs = Number.NEGATIVE_INFINITY;
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    const client = this.#client;
    this.#client = undefined;
    await client?.end().catch(() => undefined);
  }

  async #connect(retryAfterMs: number): Promise<void> {
    const client = new pg.Client(this.#settings);
    client.on('error', (error) => this.#lost(error, client));
    client.on('end', () => this.#lost(new Error('the connection ended'), client));
    client.on('notification', ({ channel, payload }) =>
      this.#board.deliver({ channel, payload: payload ?? '' }),
    );
    try {
      await client.connect();
    } catch (error) {
      client.removeAllListeners('end');
      await client.end().catch(() => undefined);
      this.#log.warn({ err: error }, 'no connection for notices; trying again');
      this.#schedule(() => this.#connect(Math.min(retryAfterMs * 2, reconnectAfterMs.max)), retryAfterMs);
      return;
    }
    if (this.#stopped) {
      await client.end().catch(() => undefined);
      return;
    }
    this.#client = client;
    await this.#ask(client, new Set());
  }

  /** Listens to channels that are new, asks for a sign of life, and does so again after a while. */
  async #ask(client: pg.Client, listening: Set<string>): Promise<void> {
    let askedAtMs: number;
    try {
      for (const channel of this.#board.channels.filter((name) => !listening.has(name))) {
        await client.query(`LISTEN ${pg.escapeIdentifier(channel)}`);
        listening.add(channel);
        this.#board.forgetEverything();
      }
      askedAtMs = this.#nowMs();
      await client.query('SELECT 1');
    } catch (error) {
      this.#lost(error, client);
      return;
    }
    if (this.#board.channels.length === listening.size) {
      this.#confirmedAtMs = askedAtMs;
    }
    this.#schedule(() => this.#ask(client, listening), pingEveryMs);
  }

  #lost(error: unknown, client = this.#client): void {
    if (client === undefined || client !== this.#client) {
      return;
    }
    this.#client = undefined;
    this.#confirmedAtMs = Number.NEGATIVE_INFINITY;
    if (this.#stopped) {
      return;
    }
    this.#log.warn({ err: error }, 'the connection for notices was lost; reconnecting');
    this.#board.forgetEverything();
    client.end().catch(() => undefined);
    this.#schedule(() => this.#connect(reconnectAfterMs.first), 0);
  }

  #schedule(work: () => Promise<void>, afterMs: number): void {
    if (!this.#stopped) {
      clearTimeout(this.#timer);
      this.#timer = setTimeout(() => void work(), afterMs);
      this.#timer.unref();
    }
  }
}
