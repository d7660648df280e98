import { expect, test } from 'vitest';
import { readMigrations } from '../migrate.ts';
import { splitStatements } from './sql-statements.ts';

test('splits at semicolons outside of strings, names, bodies and comments', () => {
  const sql = `
    -- first; comment
    SELECT 'a;''b', "c;d" FROM t; /* another; one */
    CREATE FUNCTION f() RETURNS int LANGUAGE sql AS $$ SELECT 1; $$;
    SELECT $body$ $$ ; $body$, a - b / c ;
    ;
  `;
  expect(splitStatements(sql)).toEqual([
    `SELECT 'a;''b', "c;d" FROM t`,
    'CREATE FUNCTION f() RETURNS int LANGUAGE sql AS $$ SELECT 1; $$',
    'SELECT $body$ $$ ; $body$, a - b / c',
  ]);
});

test('every statement of every migration begins with a command', async () => {
  for (const { name, sql } of await readMigrations()) {
    for (const statement of splitStatements(sql)) {
      expect([name, statement.split(/\s/)[0]]).toEqual([
        name,
        expect.stringMatching(/^(ALTER|CREATE|DELETE|DROP|INSERT|SELECT|SET|UPDATE|WITH)$/),
      ]);
    }
  }
});
