import pg from 'pg';
import { expect, test } from 'vitest';
import { parseDatabaseUrl } from './database-url.ts';

/** The connection parameters that `pg` reads from the URL of each host. */
function targets(url: string): string[] {
  return parseDatabaseUrl(url).hosts.map((host) => {
    const { user, host: address, port, database } = new pg.Client(host.url);
    return `${user}@${address}:${port}/${database}`;
  });
}

test.each([
  ['postgres://u:p@a:5433/db', ['u@a:5433/db']],
  ['postgresql://u@a/db', ['u@a:5432/db']],
  ['postgres://u:p@a:5432,b:5433/db?target_session_attrs=read-write', ['u@a:5432/db', 'u@b:5433/db']],
  ['postgres://u@a,b:5433,c/db', ['u@a:5432/db', 'u@b:5433/db', 'u@c:5432/db']],
  ['postgres://u@/db?host=a,b&port=5433', ['u@a:5433/db', 'u@b:5433/db']],
  ['postgres://u@/db?host=a,b&port=5433,5434', ['u@a:5433/db', 'u@b:5434/db']],
  ['postgres://u@ignored/db?host=a', ['u@a:5432/db']],
  ['postgres:///?host=a,b&user=u&dbname=db', ['u@a:5432/db', 'u@b:5432/db']],
  ['postgres://u@[::1]:5433,[fe80::2]/db', ['u@::1:5433/db', 'u@fe80::2:5432/db']],
  ['postgres://u@/db?host=::1,b', ['u@::1:5432/db', 'u@b:5432/db']],
  ['postgres://u@/db?host=/run/a,/run/b&port=1,2', ['u@/run/a:1/db', 'u@/run/b:2/db']],
  ['postgres://u@%2Frun%2Fa/db', ['u@/run/a:5432/db']],
])('%s names %j', (url, expected) => {
  expect(targets(url)).toEqual(expected);
});

test('keeps other parameters for every host, and takes out those that a pooler would reject', () => {
  const { hosts, session } = parseDatabaseUrl(
    'postgres://u@a,b/db?application_name=x&statement_timeout=1500&target_session_attrs=primary',
  );
  expect(hosts.map(({ url }) => url)).toEqual([
    'postgres://u@a:5432/db?application_name=x',
    'postgres://u@b:5432/db?application_name=x',
  ]);
  expect(session).toEqual({ statement_timeout: '1500' });
});

test('does not show the password in the names of the hosts', () => {
  expect(parseDatabaseUrl('postgres://u:hunter2@a,b:1/db').hosts.map(({ name }) => name)).toEqual([
    'a:5432',
    'b:1',
  ]);
});

test.each([
  'mysql://u:hunter2@a/db',
  'hunter2',
  'postgres://u:hunter2@a,,b/db',
  'postgres://u:hunter2@a:99999,b/db',
  'postgres://u:hunter2@a:x,b/db',
  'postgres://u:hunter2@a b,c/db',
  'postgres://u:hunter2@%zz,c/db',
  'postgres://u:hunter2@/db?host=a,b,c&port=1,2',
  'postgres://u:hunter2@a,b/db?target_session_attrs=standby',
  'postgres://u:hunter2@a,b/db?load_balance_hosts=random',
  `postgres://u:hunter2@${'a,'.repeat(20)}b/db`,
])('rejects %s without repeating the value', (url) => {
  const parse = () => parseDatabaseUrl(url);
  expect(parse).toThrow(/^an? .*(URL|hosts)/);
  expect(parse).not.toThrow(/hunter2/);
});
