/** A fault of the table, and the world that it is injected into. */
import type { Random } from '../support/ledger-values.ts';
import type { Cluster } from '../support/postgres-cluster.ts';
import type { PostgresProxy } from '../support/postgres-proxy.ts';
import type { ServiceProcess } from '../support/service-process.ts';

export interface FaultWorld {
  /** Repetitions of a fault that is over at once. */
  readonly rounds: number;
  readonly random: Random;
  /** The processes that serve the clients. A scenario that ends one of them starts another. */
  services: readonly ServiceProcess[];
  /** Starts a process like the others, with additional settings. */
  start(settings?: Record<string, string>): Promise<ServiceProcess>;
  /** The id of the org that spends. */
  readonly orgId: string;
  /** Waits for this many more final responses to the clients, without a deadline. */
  answersMore(count: number): Promise<void>;
  /** Waits until each client has received a 503. */
  allRefused(): Promise<void>;
}

export interface PostgresWorld extends FaultWorld {
  readonly cluster: Cluster;
  /** The clients' processes connect through it. */
  readonly proxy: PostgresProxy;
  /** Runs a statement on the server, past the proxy. */
  admin<Row extends object>(sql: string, params?: readonly unknown[]): Promise<Row[]>;
  /** Fills the disk of the server; undefined if the machine cannot mount a file system. Returns a function that frees it. */
  readonly fillDisk: (() => () => void) | undefined;
}

export interface EmbeddedWorld extends FaultWorld {
  /** Fills the disk of the data directory; undefined if the machine cannot mount a file system. */
  readonly fillDisk: (() => () => void) | undefined;
  /** Ends the thread of the database. Resolves when a new one is ready. */
  endDatabaseThread(): Promise<void>;
}

export interface FaultScenario<World extends FaultWorld> {
  readonly name: string;
  /** Injects the fault under load, and ends it. The clients continue afterwards. */
  inject(world: World): Promise<void>;
}

/** Replaces a process that has ended. */
export async function replace(world: FaultWorld, ended: ServiceProcess): Promise<void> {
  world.services = world.services.filter((service) => service !== ended);
  world.services = [...world.services, await world.start()];
}
