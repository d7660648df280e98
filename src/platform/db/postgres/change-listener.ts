/**
 * The connection that receives change notifications from other processes.
 *
 * A process must know within a second that a key was revoked elsewhere, also if this connection silently dies. So it is
 * pinged several times a second, and `isHealthy` is true only while the last answered ping was sent a short time ago:
 * PostgreSQL delivers the notifications that were committed before a ping with or before its response.
 */
import { performance } from 'node:perf_hooks';
import pg from 'pg';
import type { Log } from '../../log.ts';
import type { LocalNotifications } from '../transaction.ts';

const pingEveryMs = 200;
const answerWithinMs = 400;
const healthyForMs = 800;
const reconnectAfterMs = { first: 100, max: 2_000 };

export class ChangeListener {
  readonly #settings: pg.ClientConfig;
  readonly #listeners: LocalNotifications;
  readonly #log: Log;
  readonly #nowMs: () => number;
  #client: pg.Client | undefined;
  #pingedAtMs = Number.NEGATIVE_INFINITY;
  #stopped = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(
    settings: pg.ClientConfig,
    listeners: LocalNotifications,
    log: Log,
    nowMs = () => performance.now(),
  ) {
    this.#settings = { ...settings, query_timeout: answerWithinMs };
    this.#listeners = listeners;
    this.#log = log;
    this.#nowMs = nowMs;
  }

  isHealthy(): boolean {
    return this.#nowMs() - this.#pingedAtMs < healthyForMs;
  }

  /** Connects; a failure is retried in the background, and notifications are not healthy until that succeeds. */
  async start(): Promise<void> {
    await this.#connect(reconnectAfterMs.first);
  }

  /** Called when a channel was added: notifications are not healthy until the connection listens to it. */
  channelAdded(): void {
    this.#pingedAtMs = Number.NEGATIVE_INFINITY;
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
      this.#listeners.deliver({ channel, payload: payload ?? '' }),
    );
    try {
      await client.connect();
    } catch (error) {
      client.removeAllListeners('end');
      await client.end().catch(() => undefined);
      this.#log.warn({ err: error }, 'notification connection failed; retrying');
      this.#schedule(() => this.#connect(Math.min(retryAfterMs * 2, reconnectAfterMs.max)), retryAfterMs);
      return;
    }
    if (this.#stopped) {
      await client.end().catch(() => undefined);
      return;
    }
    this.#client = client;
    await this.#ping(client, new Set());
  }

  /** Listens to new channels, sends a ping, and schedules the next one. */
  async #ping(client: pg.Client, listening: Set<string>): Promise<void> {
    let sentAtMs: number;
    try {
      for (const channel of this.#listeners.channels.filter((name) => !listening.has(name))) {
        await client.query(`LISTEN ${pg.escapeIdentifier(channel)}`);
        listening.add(channel);
        this.#listeners.invalidateAll();
      }
      sentAtMs = this.#nowMs();
      await client.query('SELECT 1');
    } catch (error) {
      this.#lost(error, client);
      return;
    }
    if (this.#listeners.channels.length === listening.size) {
      this.#pingedAtMs = sentAtMs;
    }
    this.#schedule(() => this.#ping(client, listening), pingEveryMs);
  }

  #lost(error: unknown, client = this.#client): void {
    if (client === undefined || client !== this.#client) {
      return;
    }
    this.#client = undefined;
    this.#pingedAtMs = Number.NEGATIVE_INFINITY;
    if (this.#stopped) {
      return;
    }
    this.#log.warn({ err: error }, 'notification connection lost; reconnecting');
    this.#listeners.invalidateAll();
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
