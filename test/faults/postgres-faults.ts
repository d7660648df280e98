/** Faults of PostgreSQL and of the connections to it. */
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { freezePostgres, killPostgres } from '../support/frozen-postgres.ts';
import type { FaultScenario, PostgresWorld } from './fault-scenario.ts';
import { hourMs, shiftClock } from './process-faults.ts';

const answersBetween = 40;
/** All connections of the clients' processes. */
const ofPurser = `FROM pg_stat_activity WHERE application_name = 'purser' AND pid <> pg_backend_pid()`;

const databaseFaults: readonly FaultScenario<PostgresWorld>[] = [
  {
    name: 'connections reset',
    async inject(world) {
      for (let cut = 0; cut < 5 * world.rounds; cut += 1) {
        await world.answersMore(answersBetween / 2);
        world.proxy.cutAll();
      }
    },
  },
  {
    name: 'connection cut before COMMIT',
    inject: (world) => cutCommits(world, false),
  },
  {
    name: 'answer to COMMIT lost',
    inject: (world) => cutCommits(world, true),
  },
  {
    name: 'backends terminated',
    async inject(world) {
      for (let times = 0; times < 5 * world.rounds; times += 1) {
        await world.answersMore(answersBetween / 2);
        await world.admin(`SELECT pg_terminate_backend(pid) ${ofPurser}`);
      }
    },
  },
  {
    // On the embedded engine the clock of the process is that of the ledger, so holds would expire.
    name: 'a clock of a process ahead by an hour, then right',
    inject: (world) => shiftClock(world, hourMs),
  },
  {
    name: 'statements cancelled',
    async inject(world) {
      for (let times = 0; times < 40 * world.rounds; times += 1) {
        await world.admin(`SELECT pg_cancel_backend(pid) ${ofPurser} AND state = 'active'`);
        await pause(20);
      }
      await world.answersMore(answersBetween);
    },
  },
  {
    name: 'database killed with -9',
    async inject(world) {
      for (let kill = 0; kill < world.rounds; kill += 1) {
        await world.answersMore(answersBetween);
        await killPostgres(world.cluster.url);
        await world.allRefused();
        await world.cluster.kill();
        await world.cluster.start();
      }
    },
  },
  {
    name: 'database restarted, immediate mode',
    async inject(world) {
      await world.answersMore(answersBetween);
      await world.cluster.kill();
      await world.allRefused();
      await world.cluster.start();
    },
  },
  {
    name: 'database restarted, fast mode',
    async inject(world) {
      await world.answersMore(answersBetween);
      await world.cluster.stop();
      await world.allRefused();
      await world.cluster.start();
    },
  },
  {
    name: 'database frozen',
    async inject(world) {
      await world.answersMore(answersBetween);
      const thaw = await freezePostgres(world.cluster.url);
      await world.allRefused();
      thaw();
    },
  },
  {
    name: 'slow database, 100 ms per answer',
    async inject(world) {
      world.proxy.delayAnswers(100);
      await world.answersMore(answersBetween);
      world.proxy.delayAnswers(0);
    },
  },
  {
    name: 'read-only database',
    async inject(world) {
      await world.answersMore(answersBetween);
      await readOnly(world, true);
      await world.allRefused();
      await readOnly(world, false);
    },
  },
  {
    name: 'too many connections',
    async inject(world) {
      await world.answersMore(answersBetween);
      const others = await fillConnections(world);
      await world.allRefused();
      await Promise.all(others.map((client) => client.end()));
    },
  },
  {
    name: "lock held on an org's row",
    async inject(world) {
      await world.answersMore(answersBetween);
      const holder = new pg.Client(world.cluster.url);
      await holder.connect();
      await holder.query('BEGIN');
      await holder.query('SELECT 1 FROM ledger_orgs WHERE org_id = $1 FOR UPDATE', [world.orgId]);
      await world.allRefused();
      await holder.end();
    },
  },
  {
    name: 'disk of the database full',
    async inject(world) {
      if (world.fillDisk === undefined) {
        throw new Error('this machine cannot mount a file system for the database');
      }
      await world.answersMore(answersBetween);
      const free = world.fillDisk();
      await world.allRefused();
      free();
      // A full disk under the write-ahead log ends the server.
      await world.cluster.kill();
      await world.cluster.start();
    },
  },
];

/** A failover to a streaming replica belongs here: its world has a second cluster. */
export const postgresFaults: readonly FaultScenario<PostgresWorld>[] = databaseFaults;

async function cutCommits(world: PostgresWorld, reaches: boolean): Promise<void> {
  for (let cut = 0; cut < 15 * world.rounds; cut += 1) {
    // Every commit contains the empty text.
    await world.proxy.cutCommit({ text: '', reaches });
    await world.answersMore(1 + world.random.int(10));
  }
}

/** New sessions get the setting, so the existing ones are ended. */
async function readOnly(world: PostgresWorld, isReadOnly: boolean): Promise<void> {
  const setting = `default_transaction_read_only = ${isReadOnly ? 'on' : 'off'}`;
  await world.admin(`BEGIN READ WRITE; ALTER ROLE purser SET ${setting}; COMMIT`);
  await world.admin(`SELECT pg_terminate_backend(pid) ${ofPurser}`);
}

async function fillConnections(world: PostgresWorld): Promise<pg.Client[]> {
  const clients: pg.Client[] = [];
  for (;;) {
    const client = new pg.Client(world.cluster.url);
    client.on('error', () => undefined);
    try {
      await client.connect();
    } catch {
      return clients;
    }
    clients.push(client);
    if (clients.length === 1) {
      continue;
    }
    // Connections that this ends are taken by the next clients of this loop before Purser asks for them again, or soon after.
    await clients[0]?.query(`SELECT pg_terminate_backend(pid) ${ofPurser}`);
  }
}
