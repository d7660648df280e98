/**
 * Finds the primary among the hosts of the connection string, repeatedly: after a failover it is another host, or another server
 * behind the same address. It examines all hosts, because the host in use may be a former primary that was not shut down.
 */
import pg from 'pg';
import type { Log } from '../../log.ts';
import { DatabaseUnavailable } from '../database.ts';
import { isTransient } from './connection-errors.ts';
import type { DatabaseHost, DatabaseUrl } from './database-url.ts';
import { readIdentity, type ServerIdentity } from './server-identity.ts';
import type { TimelineGuard } from './timeline-guard.ts';

const probeWithinMs = 2_000;
/**
 * Intervals of the examinations. Each opens new connections, because names and virtual addresses may lead to another server than
 * before.
 */
const everyMs = { severalHosts: 2_000, oneHost: 10_000, refusing: 1_000 };

/** None of the hosts can be used. */
export class NoPrimary extends DatabaseUnavailable {
  override readonly name = 'NoPrimary';
  /** True if waiting does not help, for example after a wrong password. */
  readonly isPermanent: boolean;

  constructor(message: string, isPermanent: boolean, options?: ErrorOptions) {
    super(message, options);
    this.isPermanent = isPermanent;
  }
}

interface Probe {
  readonly host: DatabaseHost;
  readonly identity?: ServerIdentity;
  readonly error?: unknown;
}

type Primary = Required<Pick<Probe, 'host' | 'identity'>>;

export interface PrimaryFinderOptions {
  readonly url: DatabaseUrl;
  readonly settings: pg.ClientConfig;
  readonly guard: TimelineGuard;
  readonly log: Log;
}

export class PrimaryFinder {
  readonly #url: DatabaseUrl;
  readonly #settings: pg.ClientConfig;
  readonly #guard: TimelineGuard;
  readonly #log: Log;
  #current: DatabaseHost;
  #refusal: string | undefined;
  #rivalry: string | undefined;
  #formerPrimaries: readonly string[] = [];
  #finding: Promise<DatabaseHost> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #stopped = false;

  constructor({ url, settings, guard, log }: PrimaryFinderOptions) {
    this.#url = url;
    this.#settings = { ...settings, connectionTimeoutMillis: probeWithinMs, query_timeout: probeWithinMs };
    this.#guard = guard;
    this.#log = log;
    [this.#current] = url.hosts;
  }

  /** The host that was the primary when it was last examined. */
  get current(): DatabaseHost {
    return this.#current;
  }

  /** The reason why a reachable primary is not used; undefined if it is used. */
  get refusal(): string | undefined {
    return this.#refusal;
  }

  /** The reason why not even open connections may be used: two servers are primaries, and it is unknown which one is right. */
  get rivalry(): string | undefined {
    return this.#rivalry;
  }

  /** Hosts that still accept writes on an older timeline. */
  get formerPrimaries(): readonly string[] {
    return this.#formerPrimaries;
  }

  get hasSeveralHosts(): boolean {
    return this.#url.hosts.length > 1;
  }

  /** Examines all hosts and returns the primary. Concurrent calls share one examination. Throws `NoPrimary`. */
  find(): Promise<DatabaseHost> {
    this.#finding ??= this.#examine().finally(() => {
      this.#finding = undefined;
    });
    return this.#finding;
  }

  /** Starts to examine the hosts in the background. */
  watch(): void {
    if (this.#stopped) {
      return;
    }
    const { severalHosts, oneHost, refusing } = everyMs;
    const next = this.hasSeveralHosts ? severalHosts : oneHost;
    this.#timer = setTimeout(
      () => {
        // Errors are ignored here, because failing connections report the reason.
        void this.find()
          .catch(() => undefined)
          .then(() => this.watch());
      },
      this.#refusal === undefined ? next : refusing,
    );
    this.#timer.unref();
  }

  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
  }

  async #examine(): Promise<DatabaseHost> {
    this.#guard.refresh();
    const probes = await Promise.all(this.#url.hosts.map((host) => this.#probe(host)));
    const primaries = probes
      .filter((probe): probe is Primary => isPrimary(probe, this.#url.mustBeWritable))
      // The sort is stable: hosts on the same timeline stay in the order of the connection string.
      .toSorted((one, other) => (other.identity.timeline ?? 0) - (one.identity.timeline ?? 0));
    const [newest, ...others] = primaries;
    if (newest === undefined) {
      throw noPrimary(probes, this.#url.mustBeWritable);
    }
    this.#rivalry = rivalOf(newest, others);
    const refusal = this.#rivalry ?? this.#refusedByGuard(newest);
    this.#noteRefusal(refusal);
    if (refusal !== undefined) {
      throw new NoPrimary(refusal, false);
    }
    this.#noteFormerPrimaries(others.filter(({ identity }) => !this.#guard.isCurrent(identity.timeline)));
    if (this.#current.name !== newest.host.name) {
      this.#log.warn(
        { host: newest.host.name, formerHost: this.#current.name },
        'using another database host',
      );
      this.#current = newest.host;
    }
    return newest.host;
  }

  async #probe(host: DatabaseHost): Promise<Probe> {
    const client = new pg.Client({ ...this.#settings, connectionString: host.url });
    // Ignored: the error of a lost connection also rejects the call in progress.
    client.on('error', () => undefined);
    try {
      await client.connect();
      return { host, identity: await readIdentity(client) };
    } catch (error) {
      return { host, error };
    } finally {
      // Not awaited, because a server that does not respond does not close the connection either.
      client.end().catch(() => undefined);
    }
  }

  #refusedByGuard({ host, identity }: Primary): string | undefined {
    const reason = this.#guard.check(identity);
    return reason === undefined ? undefined : `refusing to use ${host.name}: ${reason}`;
  }

  #noteRefusal(refusal: string | undefined): void {
    if (refusal !== this.#refusal) {
      if (refusal === undefined) {
        this.#log.info('the database can be used again');
      } else {
        this.#log.error({ refusal }, `no decisions: ${refusal}`);
      }
      this.#refusal = refusal;
    }
  }

  #noteFormerPrimaries(primaries: readonly Primary[]): void {
    const names = primaries.map(({ host }) => host.name);
    if (names.length > 0 && names.join() !== this.#formerPrimaries.join()) {
      this.#log.error(
        { hosts: names },
        'these hosts are former primaries that still accept writes; shut them down',
      );
    }
    this.#formerPrimaries = names;
  }
}

function isPrimary({ identity }: Probe, mustBeWritable: boolean): boolean {
  return identity !== undefined && !identity.isStandby && !(mustBeWritable && identity.isReadOnly);
}

/**
 * Returns a description of another primary that conflicts with the newest one. Two names of one server do not conflict. Two servers
 * on the same timeline do: they were promoted independently, and neither is known to be right.
 */
function rivalOf(newest: Primary, others: readonly Primary[]): string | undefined {
  const rival = others.find(
    ({ identity }) =>
      identity.systemId !== newest.identity.systemId ||
      (identity.timeline === newest.identity.timeline && identity.startedAt !== newest.identity.startedAt),
  );
  return rival === undefined
    ? undefined
    : `${newest.host.name} and ${rival.host.name} are both primaries; shut one of them down`;
}

function noPrimary(probes: readonly Probe[], mustBeWritable: boolean): NoPrimary {
  const reasons = probes.map(({ host, identity, error }) => {
    if (identity === undefined) {
      return `${host.name}: ${messageOf(error)}`;
    }
    return `${host.name}: is ${mustBeWritable && !identity.isStandby ? 'read-only' : 'a standby'}`;
  });
  const permanent = probes.find(({ error }) => error !== undefined && !isTransient(error));
  return new NoPrimary(reasons.join('; '), permanent !== undefined, {
    cause: (permanent ?? probes.find(({ error }) => error !== undefined))?.error,
  });
}

/** Returns the message of an error. If a name has several addresses and none can be reached, only the inner errors have a message. */
function messageOf(error: unknown): string {
  if (error instanceof AggregateError && error.message === '') {
    return error.errors.map((one) => (one instanceof Error ? one.message : String(one))).join(', ');
  }
  return error instanceof Error ? error.message : String(error);
}
