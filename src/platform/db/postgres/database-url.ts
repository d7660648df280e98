/**
 * Parses the connection string of PostgreSQL, with one or several hosts as libpq defines them: `postgres://user@a:5432,b:5433/db`,
 * or `postgres://user@/db?host=a,b&port=5432,5433`. `pg` supports only one host, so each host gets a separate URL.
 */

/** The message describes a valid value. It completes a sentence that ends with "must be". */
export class DatabaseUrlError extends Error {
  override readonly name = 'DatabaseUrlError';
}

export interface DatabaseHost {
  /** Host and port for messages. */
  readonly name: string;
  /** The connection string reduced to this host. */
  readonly url: string;
}

export interface DatabaseUrl {
  /** The hosts in order of preference. */
  readonly hosts: readonly [DatabaseHost, ...DatabaseHost[]];
  /** False accepts a primary whose transactions are read-only by default. A standby is never accepted. */
  readonly mustBeWritable: boolean;
  /** Session settings in the URL, which replace the defaults. */
  readonly session: Readonly<Record<string, string>>;
}

const defaultPort = '5432';
const hostsMax = 16;

/** Session settings that are applied after connecting, because poolers reject them as connection parameters. */
const sessionSettings = ['statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout'];

/** Accepted values of `target_session_attrs`. Values that prefer a standby are rejected, because Purser writes. */
const mustBeWritable: Record<string, boolean> = { any: false, primary: false, 'read-write': true };

const urlParts = /^(postgres(?:ql)?:\/\/)([^/?#]*@)?([^/?#]*)(\/[^?#]*)?(?:\?([^#]*))?$/;

/** Parses a URL. The message of a `DatabaseUrlError` describes a valid value and never contains the given one. */
export function parseDatabaseUrl(text: string): DatabaseUrl {
  const parts = urlParts.exec(text);
  if (parts === null) {
    throw new DatabaseUrlError('an absolute URL that starts with postgres:// or postgresql://');
  }
  const [, protocol = '', user = '', authority = '', path = '', query = ''] = parts;
  const params = new URLSearchParams(query);
  const hosts = hostsOf(authority, takeList(params, 'host'), takeList(params, 'port'));
  const attributes = take(params, 'target_session_attrs') ?? 'any';
  if (!Object.hasOwn(mustBeWritable, attributes)) {
    throw new DatabaseUrlError(
      `a URL whose target_session_attrs is one of ${Object.keys(mustBeWritable).join(', ')}`,
    );
  }
  if ((take(params, 'load_balance_hosts') ?? 'disable') !== 'disable') {
    throw new DatabaseUrlError(
      'a URL without load_balance_hosts: the hosts are one primary and its standbys',
    );
  }
  const database = take(params, 'dbname');
  const session = Object.fromEntries(
    sessionSettings.flatMap((name) => {
      const value = take(params, name);
      return value === undefined ? [] : [[name, value]];
    }),
  );
  const pathOf = path.length > 1 || database === undefined ? path : `/${encodeURIComponent(database)}`;
  const urls = hosts.map(({ host, port }) => {
    const own = new URLSearchParams(params);
    const isSocket = host.startsWith('/') || host === '';
    if (host.startsWith('/')) {
      own.set('host', host);
    }
    if (isSocket && port !== defaultPort) {
      own.set('port', port);
    }
    const address = isSocket ? '' : `${host}:${port}`;
    const url = `${protocol}${user}${address}${pathOf}${own.size === 0 ? '' : `?${own}`}`;
    if (!isSocket && !URL.canParse(url)) {
      throw new DatabaseUrlError(
        'a URL with valid hosts and ports, such as postgres://user@a:5432,b:5433/name',
      );
    }
    return { name: isSocket ? host || 'localhost' : address, url };
  });
  return {
    hosts: urls as [DatabaseHost, ...DatabaseHost[]],
    mustBeWritable: mustBeWritable[attributes] === true,
    session,
  };
}

interface Address {
  readonly host: string;
  readonly port: string;
}

/** Returns the hosts. As in libpq, `host` in the query takes precedence over the authority, and a single port applies to all hosts. */
function hostsOf(authority: string, hostList: string[] | undefined, portList: string[] = []): Address[] {
  const named: Address[] =
    hostList?.map((host) => ({ host: bracketed(host), port: '' })) ??
    authority.split(',').map((item) => {
      const [, host = item, port = ''] = /^(\[[^\]]*\]|[^:[\]]*)(?::(\d*))?$/.exec(item) ?? [];
      return { host: decoded(host), port };
    });
  if (named.length > hostsMax) {
    throw new DatabaseUrlError(`a URL with at most ${hostsMax} hosts`);
  }
  if (portList.length > 1 && portList.length !== named.length) {
    throw new DatabaseUrlError('a URL with one port for all hosts, or one for each host');
  }
  if (named.length > 1 && named.some(({ host }) => host === '')) {
    throw new DatabaseUrlError('a URL without an empty host in its list of hosts');
  }
  return named.map(({ host, port }, index) => {
    const listed = portList.length > 1 ? portList[index] : portList[0];
    const chosen = listed || port || defaultPort;
    if (!/^\d{1,5}$/.test(chosen) || Number(chosen) < 1 || Number(chosen) > 65_535) {
      throw new DatabaseUrlError('a URL whose ports are from 1 to 65535');
    }
    return { host, port: chosen };
  });
}

function decoded(host: string): string {
  try {
    return decodeURIComponent(host);
  } catch {
    throw new DatabaseUrlError('a URL whose hosts are encoded correctly');
  }
}

/** Adds the brackets that an IPv6 address in the query does not have. */
function bracketed(host: string): string {
  return host.includes(':') && !host.startsWith('[') ? `[${host}]` : host;
}

function take(params: URLSearchParams, name: string): string | undefined {
  const value = params.get(name);
  params.delete(name);
  return value === null || value === '' ? undefined : value;
}

function takeList(params: URLSearchParams, name: string): string[] | undefined {
  return take(params, name)?.split(',');
}
