/**
 * The connection that receives change notifications from other processes. A process must learn within a second that a key was
 * revoked elsewhere. That must hold even if this connection silently dies, or leads through a pooler that drops notifications.
 *
 * So several times a second, a second connection sends a ping: a notification that must arrive here. It takes the same way to the
 * database as changes do. `isHealthy` is true only if the last ping that arrived was sent a short time ago. PostgreSQL delivers
 * notifications in the order of their commits, so all earlier ones have arrived too.
 */
import { randomUUID } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import pg from 'pg';
import type { Log } from '../../log.ts';
import type { LocalNotifications } from '../transaction.ts';

const pingEveryMs = 250;
const arrivesWithinMs = 400;
const healthyForMs = 800;
const retryAfterMs = { first: 100, max: 2_000 };

export interface NotificationConnections {
  /** Opens the connection that listens. */
  openListener(): Promise<pg.Client>;
  /** Opens the connection that sends the pings, on the way that changes take. */
  openSender(): Promise<pg.Client>;
  /** Explains why a ping does not arrive although both connections work. */
  explainMissing(listener: pg.Client): string;
}

type ConnectionRole = 'listener' | 'sender';

interface Ping {
  readonly payload: string;
  arrived(): void;
  failed(error: unknown): void;
}

export class ChangeListener {
  readonly #connections: NotificationConnections;
  readonly #listeners: LocalNotifications;
  readonly #log: Log;
  readonly #nowMs: () => number;
  /** A channel that only this process uses, because notifications of other processes do not show when they were sent. */
  readonly #pingChannel = `purser_ping_${randomUUID().replaceAll('-', '')}`;
  #clients: Partial<Record<ConnectionRole, pg.Client>> = {};
  /** Incremented when the connections are dropped, so that results of earlier rounds are ignored. */
  #epoch = 0;
  #listening = new Set<string>();
  #ping: Ping | undefined;
  #pings = 0;
  #pingedAtMs = Number.NEGATIVE_INFINITY;
  #retryMs = retryAfterMs.first;
  #problem: string | undefined = 'not connected yet';
  #stopped = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(
    connections: NotificationConnections,
    listeners: LocalNotifications,
    log: Log,
    nowMs = () => performance.now(),
  ) {
    this.#connections = connections;
    this.#listeners = listeners;
    this.#log = log;
    this.#nowMs = nowMs;
  }

  isHealthy(): boolean {
    return this.#nowMs() - this.#pingedAtMs < healthyForMs;
  }

  /** Why notifications are not healthy; undefined while they are. */
  problem(): string | undefined {
    return this.isHealthy() ? undefined : (this.#problem ?? 'the last ping was sent too long ago');
  }

  /** Connects. A failure is retried in the background, and notifications are not healthy until a retry succeeds. */
  async start(): Promise<void> {
    await this.#round();
  }

  /** Called when a channel was added. Notifications are not healthy until the connection listens to the new channel. */
  channelAdded(): void {
    this.#pingedAtMs = Number.NEGATIVE_INFINITY;
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    await this.#drop(new Error('stopped'));
  }

  /** Opens missing connections, listens to new channels, sends a ping, waits for it, and schedules the next round. */
  async #round(): Promise<void> {
    const epoch = this.#epoch;
    const isCurrent = () => epoch === this.#epoch && !this.#stopped;
    try {
      for (const role of ['listener', 'sender'] as const) {
        if (this.#clients[role] === undefined) {
          const client = await this.#open(role);
          if (!isCurrent()) {
            client.end().catch(() => undefined);
            return;
          }
          this.#clients[role] = client;
        }
      }
      const { listener, sender } = this.#clients as Record<ConnectionRole, pg.Client>;
      await this.#listenToNew(listener);
      const channels = this.#listening.size;
      const sentAtMs = this.#nowMs();
      await this.#sendPing(listener, sender);
      if (!isCurrent()) {
        return;
      }
      if (channels === this.#listeners.channels.length + 1) {
        this.#pingedAtMs = sentAtMs;
      }
      this.#retryMs = retryAfterMs.first;
      this.#noteProblem(undefined);
    } catch (error) {
      if (isCurrent()) {
        this.#failed(error);
      }
      return;
    }
    this.#schedule(pingEveryMs);
  }

  async #open(role: ConnectionRole): Promise<pg.Client> {
    const client = await (role === 'listener'
      ? this.#connections.openListener()
      : this.#connections.openSender());
    const lost = (error: Error) => {
      if (client === this.#clients[role]) {
        this.#failed(error);
      }
    };
    client.on('error', lost);
    client.on('end', () => lost(new Error(`the connection of the ${role} ended`)));
    if (role === 'listener') {
      this.#listening = new Set();
      client.on('notification', ({ channel, payload }) => this.#received(channel, payload ?? ''));
    }
    return client;
  }

  #received(channel: string, payload: string): void {
    if (channel !== this.#pingChannel) {
      this.#listeners.deliver({ channel, payload });
    } else if (payload === this.#ping?.payload) {
      this.#ping.arrived();
    }
  }

  async #listenToNew(listener: pg.Client): Promise<void> {
    const channels = [...this.#listeners.channels, this.#pingChannel];
    for (const channel of channels.filter((name) => !this.#listening.has(name))) {
      await listener.query(`LISTEN ${pg.escapeIdentifier(channel)}`);
      this.#listening.add(channel);
      this.#listeners.invalidateAll();
    }
  }

  async #sendPing(listener: pg.Client, sender: pg.Client): Promise<void> {
    const payload = String(++this.#pings);
    let timer: NodeJS.Timeout | undefined;
    try {
      const arrival = new Promise<void>((resolve, reject) => {
        this.#ping = { payload, arrived: resolve, failed: reject };
        const missing = () => reject(new Error(this.#connections.explainMissing(listener)));
        // After a stall of the event loop the ping may have arrived, but timers run before it is read.
        timer = setTimeout(() => setImmediate(missing), arrivesWithinMs);
        timer.unref();
      });
      // A ping need not survive a crash, so its commit does not wait for the disk or a standby.
      const sent = sender.query(
        `SET LOCAL synchronous_commit = off; NOTIFY ${this.#pingChannel}, ${pg.escapeLiteral(payload)}`,
      );
      await Promise.all([sent, arrival]);
    } finally {
      clearTimeout(timer);
    }
  }

  /** Reconnects both connections, because either may be the cause, and notifications may have been missed. */
  #failed(error: unknown): void {
    void this.#drop(error);
    this.#noteProblem(error);
    this.#listeners.invalidateAll();
    this.#schedule(this.#retryMs);
    this.#retryMs = Math.min(this.#retryMs * 2, retryAfterMs.max);
  }

  async #drop(error: unknown): Promise<void> {
    this.#epoch += 1;
    this.#pingedAtMs = Number.NEGATIVE_INFINITY;
    this.#ping?.failed(error);
    const clients = Object.values(this.#clients);
    this.#clients = {};
    await Promise.all(clients.map((client) => client.end().catch(() => undefined)));
  }

  #noteProblem(error: unknown): void {
    const problem = error === undefined || error instanceof Error ? error?.message : String(error);
    if (problem !== undefined && problem !== this.#problem) {
      this.#log.warn(`change notifications do not arrive, so caches are bypassed: ${problem}; retrying`);
    } else if (problem === undefined && this.#problem !== undefined) {
      this.#log.info('change notifications arrive');
    }
    this.#problem = problem;
  }

  #schedule(afterMs: number): void {
    if (!this.#stopped) {
      clearTimeout(this.#timer);
      this.#timer = setTimeout(() => void this.#round(), afterMs);
      this.#timer.unref();
    }
  }
}
