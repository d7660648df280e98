import { expect, test } from 'vitest';
import type { Queryable } from './database.ts';
import { tableOf } from './table.ts';

interface TeapotRow {
  readonly id: string;
  readonly org_id: string;
  readonly tags: { readonly color: string } | null;
  readonly deleted_at: Date | null;
}

const columns = `id, org_id, tags,
  deleted_at`;
const teapots = tableOf<TeapotRow>()('teapots', {
  columns,
  key: ['org_id', 'id'],
  where: 'deleted_at IS NULL',
  json: ['tags'],
});

const row: TeapotRow = { id: 'tea_1', org_id: 'org_1', tags: { color: 'blue' }, deleted_at: null };

/** Runs the statement and returns its text, with single spaces, and its parameters. */
async function sent(
  run: (db: Queryable) => Promise<unknown>,
): Promise<readonly [string, readonly unknown[]]> {
  const statements: [string, readonly unknown[]][] = [];
  await run({
    async query(sql, params = []) {
      statements.push([sql.replace(/\s+/g, ' '), params]);
      return [];
    },
  });
  expect(statements).toHaveLength(1);
  return statements[0] as [string, readonly unknown[]];
}

const stored = ['tea_1', 'org_1', '{"color":"blue"}', null];

test('inserts and updates a row by its key, which is never assigned', async () => {
  const insertion = 'INSERT INTO teapots (id, org_id, tags, deleted_at) VALUES ($1, $2, $3, $4)';
  expect(await sent((db) => teapots.insert(db, row))).toEqual([insertion, stored]);
  expect(await sent((db) => teapots.update(db, row))).toEqual([
    'UPDATE teapots SET tags = $3, deleted_at = $4 WHERE org_id = $2 AND id = $1',
    stored,
  ]);
  expect(await sent((db) => teapots.upsert(db, row))).toEqual([
    `${insertion} ON CONFLICT (org_id, id) DO UPDATE SET tags = excluded.tags, deleted_at = excluded.deleted_at`,
    stored,
  ]);
});

test('finds, locks and deletes a row by its key', async () => {
  const key = ['org_1', 'tea_1'] as const;
  const selection =
    'SELECT id, org_id, tags, deleted_at FROM teapots WHERE org_id = $1 AND id = $2 AND deleted_at IS NULL';
  expect(await sent((db) => teapots.find(db, ...key))).toEqual([selection, key]);
  expect(await sent((db) => teapots.lock(db, ...key))).toEqual([`${selection} FOR UPDATE`, key]);
  expect(await sent((db) => teapots.delete(db, ...key))).toEqual([
    'DELETE FROM teapots WHERE org_id = $1 AND id = $2',
    key,
  ]);
});

test('stores null as the null of SQL, not as that of JSON', () => {
  expect(teapots.valuesOf({ ...row, tags: null })).toEqual(['tea_1', 'org_1', null, null]);
});

test('does not compile if the columns, the columns of JSON or the key differ from the row', () => {
  const define = tableOf<TeapotRow>();
  // @ts-expect-error: deleted_at is missing
  define('teapots', { columns: 'id, org_id, tags', key: ['id'], json: ['tags'] });
  // @ts-expect-error: a row has no volume
  define('teapots', { columns: 'id, org_id, tags, deleted_at, volume', key: ['id'], json: ['tags'] });
  // @ts-expect-error: tags are not declared as JSON
  define('teapots', { columns, key: ['id'] });
  // @ts-expect-error: id is a text
  define('teapots', { columns, key: ['id'], json: ['tags', 'id'] });
  // @ts-expect-error: a row has no volume
  define('teapots', { columns, key: ['volume'], json: ['tags'] });
  // @ts-expect-error: the key has two columns
  const findByOrg = (db: Queryable) => teapots.find(db, 'org_1');
  expect(findByOrg).toBeTypeOf('function');
});
