import { expect, test } from 'vitest';
import { type Database, DatabaseUnavailable } from './database.ts';
import { watchWrites } from './watch-writes.ts';

const failing = (code: string) => new DatabaseUnavailable('failed', { cause: { code } });

async function reported(error: Error): Promise<unknown[]> {
  const errors: unknown[] = [];
  const fail = () => Promise.reject(error);
  const db = watchWrites({ query: fail, transaction: fail } as Partial<Database> as Database, (one) =>
    errors.push(one),
  );
  await expect(db.query('INSERT')).rejects.toBe(error);
  await expect(db.transaction(async () => undefined)).rejects.toBe(error);
  return errors;
}

test.each([
  ['a full disk', '53100'],
  ['a read-only database', '25006'],
  ['an I/O error', '58030'],
  ['a server that is not there', 'ECONNREFUSED'],
])('reports every statement that fails because of %s', async (_, code) => {
  const error = failing(code);
  expect(await reported(error)).toEqual([error, error]);
});

test.each([
  ['a statement that took too long', failing('57014')],
  ['a connection that was lost', failing('ECONNRESET')],
  ['a wrong statement', Object.assign(new Error('syntax error'), { code: '42601' })],
])('does not report %s', async (_, error) => {
  expect(await reported(error)).toEqual([]);
});
