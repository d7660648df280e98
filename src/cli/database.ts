/** `purser database`: shows the servers in the connection string, and accepts an older timeline after a failover. */
import { Command } from 'commander';
import pg from 'pg';
import { type Config, loadConfig } from '../config/settings.ts';
import { timelineFileOf } from '../platform/db/open-database.ts';
import { type DatabaseHost, parseDatabaseUrl } from '../platform/db/postgres/database-url.ts';
import { readIdentity, type ServerIdentity } from '../platform/db/postgres/server-identity.ts';
import { TimelineGuard } from '../platform/db/postgres/timeline-guard.ts';
import { createLog } from '../platform/log.ts';
import { print } from './with-database.ts';

const answerWithinMs = 3_000;

export function databaseCommand(): Command {
  const command = new Command('database').description(
    'Show the servers of SVC_DATABASE_URL: primary or standby, timeline, and the newest timeline seen before.',
  );
  command
    .command('status', { isDefault: true })
    .description('Show the servers (default).')
    .action(showServers);
  command
    .command('accept')
    .description(
      'Go back to the one primary that can be reached, although its timeline is older than one seen before. What was decided on the newer timeline is lost.',
    )
    .action(accept);
  return command;
}

interface Server {
  readonly host: DatabaseHost;
  readonly identity?: ServerIdentity;
  readonly problem?: string;
}

async function showServers(): Promise<void> {
  const { guard, servers } = await look();
  const newest = guard.newest;
  print(newest === undefined ? 'seen before  nothing' : `seen before  timeline ${newest.timeline}`);
  for (const server of servers) {
    print(`${server.host.name}  ${describe(server, newest?.timeline)}`);
  }
}

function describe({ identity, problem }: Server, newest = 0): string {
  if (identity === undefined) {
    return `unreachable: ${problem}`;
  }
  if (identity.isStandby) {
    return 'standby';
  }
  const timeline = identity.timeline === undefined ? 'timeline unknown' : `timeline ${identity.timeline}`;
  const former = (identity.timeline ?? newest) < newest ? ', a former primary: shut it down' : '';
  return `primary, ${timeline}${identity.isReadOnly ? ', read-only' : ''}${former}`;
}

async function accept(): Promise<void> {
  const { guard, servers } = await look();
  const primaries = servers.filter(({ identity }) => identity !== undefined && !identity.isStandby);
  const [primary, other] = primaries;
  if (primary?.identity === undefined) {
    throw new Error('no primary can be reached');
  }
  if (other !== undefined) {
    throw new Error(`${primary.host.name} and ${other.host.name} are both primaries; shut one of them down`);
  }
  const { timeline } = guard.accept(primary.identity);
  print(`accepted ${primary.host.name} on timeline ${timeline}`);
  print(
    'Processes that use this data directory continue within a few seconds. Repeat this for other data directories.',
  );
}

async function look(): Promise<{ guard: TimelineGuard; servers: Server[] }> {
  const config = loadConfig();
  const { hosts } = parseDatabaseUrl(urlIn(config));
  const servers = await Promise.all(hosts.map(examine));
  return { guard: new TimelineGuard({ file: timelineFileOf(config), log: createLog('silent') }), servers };
}

function urlIn({ databaseUrl }: Config): string {
  if (databaseUrl === undefined) {
    throw new Error('SVC_DATABASE_URL is not set: the embedded database has no other servers');
  }
  return databaseUrl;
}

async function examine(host: DatabaseHost): Promise<Server> {
  const client = new pg.Client({
    connectionString: host.url,
    connectionTimeoutMillis: answerWithinMs,
    query_timeout: answerWithinMs,
  });
  client.on('error', () => undefined);
  try {
    await client.connect();
    return { host, identity: await readIdentity(client) };
  } catch (error) {
    return { host, problem: error instanceof Error ? error.message : String(error) };
  } finally {
    client.end().catch(() => undefined);
  }
}
