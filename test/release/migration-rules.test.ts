/** The rules for migrations that `npm run check` applies. */
import { expect, test } from 'vitest';
import { migrationProblems } from '../../scripts/migration-rules.ts';
import { type Migration, parseMigration } from '../../src/platform/db/migration-files.ts';

function migration(name: string, declaration: readonly string[], sql = 'CREATE TABLE teapots ()'): Migration {
  return parseMigration(name, [...declaration.map((line) => `-- ${line}`), sql].join('\n'));
}
const expand = ['phase: expand', 'readable-from: 0.1.0'];
const first = migration('0001_first.sql', expand);
const released = { version: '0.1.0', migrations: [first] };
const next = { version: '0.2.0', released };

test('an addition that the last release can read is accepted, and so is a contract migration', () => {
  const contract = ['phase: contract', 'readable-from: 0.2.0', 'required-from: 0.3.0'];
  const added = [
    migration(
      '0002_teapots.sql',
      expand,
      'ALTER TABLE orgs ADD COLUMN IF NOT EXISTS teapot int4 NOT NULL DEFAULT 0',
    ),
    migration('0003_teapots.sql', ['phase: backfill', 'readable-from: 0.1.0'], 'UPDATE teapots SET id = 1'),
    migration('0004_no_cups.sql', contract, 'DROP TABLE cups'),
  ];
  expect(migrationProblems([first, ...added], next)).toEqual([]);
});

test.each([
  ['DROP TABLE cups', 'drops something'],
  ['ALTER TABLE cups DROP COLUMN IF EXISTS size', 'drops something'],
  ['ALTER TABLE cups RENAME COLUMN size TO litres', 'renames something'],
  ['ALTER TABLE cups ALTER COLUMN size TYPE int8', 'changes a type'],
  ['ALTER TABLE cups ALTER COLUMN size SET NOT NULL', 'adds NOT NULL to a column'],
  ['ALTER TABLE cups ADD COLUMN size int4 NOT NULL', 'adds a column that older builds do not fill'],
  ['UPDATE cups SET size = 1', 'rewrites rows in one statement; use a backfill'],
])('an expand migration is rejected that older builds or other writers cannot stand: %s', (sql, problem) => {
  const added = migration('0002_cups.sql', expand, `-- Drops nothing.\n${sql};`);
  expect(migrationProblems([first, added], next)).toEqual([
    `migrations/0002_cups.sql: an expand migration ${problem}`,
  ]);
});

test.each([
  [
    'an expand migration that the last release cannot read',
    [first, migration('0002_a.sql', ['phase: expand', 'readable-from: 0.2.0'])],
    'migrations/0002_a.sql: 0.1.0, the last release, must work beside an expand migration; otherwise its phase is contract',
  ],
  [
    'a contract migration that the start of the next version would apply',
    [first, migration('0002_a.sql', ['phase: contract', 'readable-from: 0.2.0', 'required-from: 0.2.0'])],
    'migrations/0002_a.sql: 0.2.0 must run beside 0.1.0, so required-from must be a later version than 0.2.0',
  ],
  [
    'a version that does not exist yet',
    [first, migration('0002_a.sql', ['phase: contract', 'readable-from: 0.3.0'])],
    'migrations/0002_a.sql: readable-from 0.3.0 is newer than 0.2.0',
  ],
  [
    'a number that is taken',
    [first, migration('0001_other.sql', expand)],
    'migrations/0001_other.sql: its number is taken',
  ],
  [
    'a released file that was changed',
    [migration('0001_first.sql', expand, 'CREATE TABLE cups ()')],
    'migrations/0001_first.sql: was changed or removed after its release in 0.1.0',
  ],
  [
    'a released file whose declaration was changed',
    [migration('0001_first.sql', ['phase: contract', 'readable-from: 0.1.0'])],
    'migrations/0001_first.sql: was changed or removed after its release in 0.1.0',
  ],
  [
    'a released file that is gone',
    [],
    'migrations/0001_first.sql: was changed or removed after its release in 0.1.0',
  ],
])('rejects %s', (_title, migrations, problem) => {
  expect(migrationProblems(migrations, next)).toEqual([problem]);
});

test('nothing is added to a version that is released', () => {
  const added = migration('0002_a.sql', expand);
  expect(migrationProblems([first, added], { version: '0.1.0', released })).toEqual([
    'migrations/0002_a.sql: 0.1.0 is released; begin the next version first',
  ]);
});
