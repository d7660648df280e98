/** Whether a start waits for PostgreSQL, or ends with a message, depends on why it cannot be used. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { freePort } from '../../../test/support/free-port.ts';
import { engine, makePlace, type Place } from '../../../test/support/test-database.ts';
import { createLog } from '../log.ts';
import { DatabaseUnavailable } from './database.ts';
import { DatabaseNotOpened, openDatabase } from './open-database.ts';

describe.runIf(engine === 'postgres')('a database that cannot be used', () => {
  let place: Place;
  beforeAll(async () => {
    place = await makePlace({ migrated: false });
  });
  afterAll(() => place?.remove());

  async function failureOf(databaseUrl: string): Promise<DatabaseNotOpened> {
    const settings = {
      dataDir: place.dataDir,
      databaseConnections: 1,
      durability: 'sync' as const,
      databaseUrl,
    };
    const failure = await openDatabase(settings, createLog('silent')).then(
      (db) => db.close(),
      (error: unknown) => error,
    );
    expect(failure).toBeInstanceOf(DatabaseNotOpened);
    return failure as DatabaseNotOpened;
  }
  const serverOf = () => new URL(place.databaseUrl ?? '').host;

  test('a database that cannot be used may be possible later if nothing listens or the name is unknown', async () => {
    const port = await freePort();
    const failure = await failureOf(`postgres://purser:hunter2@127.0.0.1:${port},unknown.invalid:${port}/x`);
    expect(failure.mayPass).toBe(true);
    expect(failure.message).toContain(`127.0.0.1:${port}: connect ECONNREFUSED`);
    expect(failure.message).toContain(`unknown.invalid:${port}: getaddrinfo`);
    expect(failure.message).toContain('Check that PostgreSQL is running, and the host and port');
    expect(failure.message).not.toContain('hunter2');
  });

  test.each([
    ['the database does not exist', 'purser@HOST/nowhere', 'database "nowhere" does not exist. Create the'],
    ['the role does not exist', 'nobody@HOST/postgres', 'role "nobody" does not exist. Correct the user'],
    ['the server has no TLS', 'purser@HOST/postgres?sslmode=verify-full', 'does not support SSL'],
  ])('a database that cannot be used is not waited for if %s', async (_, url, message) => {
    const failure = await failureOf(`postgres://${url.replace('HOST', serverOf())}`);
    expect(failure.mayPass).toBe(false);
    expect(failure.message).toContain(message);
  });

  test('a wrong password is named with the setting to correct', () => {
    const refused = Object.assign(new Error('password authentication failed for user "purser"'), {
      code: '28P01',
    });
    const failure = new DatabaseNotOpened(new DatabaseUnavailable('db:5432: refused', { cause: refused }));
    expect(failure.message).toBe(
      'cannot use the database (SVC_DATABASE_URL): db:5432: refused. Correct the user or the password in SVC_DATABASE_URL.',
    );
  });
});
