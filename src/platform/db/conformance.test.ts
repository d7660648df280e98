/** The guarantees of both engines. Run by both test projects. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../../../test/support/eventually.ts';
import { engine, isCitus, makePlace, openPlace, type Place } from '../../../test/support/test-database.ts';
import { createLog } from '../log.ts';
import { type Database, DatabaseUnavailable, insertEach, insertMany, isUniqueViolation } from './database.ts';
import { migrate, readMigrations } from './migrate.ts';
import { openPostgres } from './postgres/postgres.ts';

let place: Place;
let db: Database;
beforeAll(async () => {
  place = await makePlace({ migrated: true });
  db = await openPlace(place);
  await db.query(`CREATE TABLE things (
    org_id text NOT NULL, id text NOT NULL, n int8, at timestamptz(3), data jsonb, flag bool,
    CONSTRAINT things_pkey PRIMARY KEY (org_id, id))`);
});
afterAll(async () => {
  await db.close();
  await place.remove();
});

const ids = async (orgId: string) =>
  (await db.query<{ id: string }>('SELECT id FROM things WHERE org_id = $1 ORDER BY id', [orgId])).map(
    ({ id }) => id,
  );
const insert = (on: { query: Database['query'] }, orgId: string, id: string) =>
  on.query('INSERT INTO things (org_id, id) VALUES ($1, $2)', [orgId, id]);

test('reports the original failure of several statements that were sent together, however deeply nested', async () => {
  const deep = async (on: { query: Database['query'] }): Promise<void> => {
    await (async () => {
      await (async () => {
        await on.query('SELECT 9223372036854775807::int8 + $1::int8', [1n]);
      })();
    })();
  };
  for (let attempt = 0; attempt < 10; attempt += 1) {
    const failed = db.transaction(async (tx) => {
      await Promise.all([deep(tx), insert(tx, 'together', 'a'), insert(tx, 'together', 'b')]);
    });
    await expect(failed).rejects.toMatchObject({ code: '22003' });
  }
  expect(await ids('together')).toEqual([]);
});

test('a statement that the server does not support is a fault of the statement, not an outage', async () => {
  await expect(db.query('SELECT id FROM elsewhere.public.things')).rejects.toMatchObject({ code: '0A000' });
});

test('a statement works again after a migration changed its columns', async () => {
  await db.query('CREATE TABLE changing (id text)');
  const read = () => db.query('SELECT * FROM changing');
  await read();
  await db.query('ALTER TABLE changing ADD COLUMN n int8');
  // Each connection that prepared the statement finds out by itself.
  await eventually(async () => expect(await read()).toEqual([]));
});

describe('values', () => {
  test('values of the database are returned as the documented JavaScript types', async () => {
    const [row] = await db.query(
      `SELECT $1::int8 AS big, $2::numeric AS exact, $3::timestamptz AS at, '2026-02-03'::date AS day, $4::jsonb AS data,
              $5::text[] AS list, $6::bytea AS bytes, $7::text AS nothing, true AS yes, 7::int4 AS small`,
      [
        9_007_199_254_740_993n,
        '0.123456789',
        new Date('2026-03-29T01:30:00.123Z'),
        JSON.stringify({ a: [1, null] }),
        ['x', 'y,"z"'],
        Buffer.from([0, 255]),
        null,
      ],
    );
    expect(row).toMatchObject({
      big: 9_007_199_254_740_993n,
      exact: '0.123456789',
      at: new Date('2026-03-29T01:30:00.123Z'),
      day: '2026-02-03',
      data: { a: [1, null] },
      list: ['x', 'y,"z"'],
      nothing: null,
      yes: true,
      small: 7,
    });
    expect(Buffer.from(row?.bytes as Uint8Array)).toEqual(Buffer.from([0, 255]));
  });

  test('a value that cannot be encoded fails its statement alone, also if the statement is used again', async () => {
    const echo = (value: unknown) => db.query<{ value: string }>('SELECT $1::text AS value', [value]);
    // The server rejects the last one.
    for (const [index, unfit] of [{ n: 1n }, new Date(Number.NaN), 'a\0b'].entries()) {
      await echo('before');
      await expect(echo(unfit)).rejects.toThrow();
      expect(await echo('after')).toEqual([{ value: 'after' }]);
      const echoInTransaction = (value: unknown) =>
        db.transaction((tx) => tx.query(`SELECT $1::text AS value, ${index} AS index`, [value]));
      await expect(echoInTransaction(unfit)).rejects.toThrow();
      expect(await echoInTransaction('after')).toEqual([{ value: 'after', index }]);
    }
  });

  test('runs several statements in one text in order', async () => {
    await db.query(
      `INSERT INTO things (org_id, id) VALUES ('multi', 'a'); DELETE FROM things WHERE org_id = 'multi'`,
    );
    expect(await ids('multi')).toEqual([]);
  });

  test('inserts thousands of rows at once, with their types and nulls', async () => {
    const rows = Array.from({ length: 5_000 }, (_, i) => ({
      org_id: 'bulk',
      id: `t${i}`,
      n: i === 0 ? 2n ** 62n : null,
      at: new Date(i),
      data: { i },
      flag: i % 2 === 0,
    }));
    const columns = {
      org_id: 'text',
      id: 'text',
      n: 'int8',
      at: 'timestamptz',
      data: 'jsonb',
      flag: 'bool',
    } as const;
    await insertMany(db, 'things', columns, rows);
    await insertMany(db, 'things', columns, []);
    const [sum] = await db.query(
      `SELECT count(*) AS count, max(n) AS n, max(at) AS at FROM things WHERE org_id = 'bulk'`,
      [],
    );
    expect(sum).toEqual({ count: 5_000n, n: 2n ** 62n, at: new Date(4_999) });
  });

  test('inserts rows unchanged, also with extreme and large values', async () => {
    await db.query(
      'CREATE TABLE odd_things (id text PRIMARY KEY, words text[], small int4, n int8, at timestamptz(3), data jsonb, flag bool)',
    );
    const row = { id: '', words: [], small: null, n: null, at: null, data: null, flag: null };
    const rows = [
      { ...row, id: 'empty' },
      {
        id: 'low',
        words: ['{a,"b"}', '', 'NULL', 'ä\n€😀'],
        small: -(2 ** 31),
        n: -(2n ** 63n),
        at: new Date('1900-01-01T00:00:00.001Z'),
        data: { 'k"': [null, 'ß', 1.5, { deep: [] }], big: 2n ** 63n - 1n },
        flag: false,
      },
      {
        id: 'high',
        words: ['x'.repeat(100)],
        small: 2 ** 31 - 1,
        n: 2n ** 63n - 1n,
        at: new Date('2199-12-31T23:59:59.999Z'),
        data: '\\"',
        flag: true,
      },
      { ...row, id: 'ö'.repeat(64) },
      ...Array.from({ length: 40 }, (_, i) => ({ ...row, id: `long ${i}`, data: 'é€'.repeat(10_000 + i) })),
    ];
    const columns = {
      id: 'text',
      words: 'text[]',
      small: 'int4',
      n: 'int8',
      at: 'timestamptz',
      data: 'jsonb',
      flag: 'bool',
    } as const;
    await insertMany(db, 'odd_things', columns, rows);
    const there = await db.query<{ id: string }>('SELECT * FROM odd_things', []);
    const asRead = rows.map((one) =>
      one.id === 'low' ? { ...one, data: { ...(one.data as object), big: String(2n ** 63n - 1n) } } : one,
    );
    expect(new Map(there.map((one) => [one.id, one]))).toEqual(new Map(asRead.map((one) => [one.id, one])));
    // A row that cannot be encoded does not affect the next statement.
    const unfit = [{ at: 'yesterday' }, { at: new Date(Number.NaN) }, { n: 2n ** 63n }, { small: 2 ** 31 }];
    for (const value of unfit) {
      const bad = insertMany(db, 'odd_things', columns, [{ ...row, id: 'bad', ...value }]);
      await expect(bad, JSON.stringify(Object.keys(value))).rejects.toThrow();
    }
    await insertMany(db, 'odd_things', columns, [{ ...row, id: 'good' }]);
    expect(await db.query(`SELECT id FROM odd_things WHERE id IN ('bad', 'good')`, [])).toEqual([
      { id: 'good' },
    ]);
  });

  test('insertEach inserts each item once, in batches, and none of them if one fails', async () => {
    const columns = { org_id: 'text', id: 'text', n: 'int8' } as const;
    const rowOf = (org_id: string) => (n: number) => ({ org_id, id: `t${n}`, n });
    const upTo = (count: number) => Array.from({ length: count }, (_, n) => n);
    const sumOf = async (orgId: string) =>
      (
        await db.query('SELECT count(*) AS count, sum(n)::int8 AS sum FROM things WHERE org_id = $1', [orgId])
      )[0];
    for (const [orgId, count] of [
      ['each', 2_500],
      ['exactly', 2_000],
    ] as const) {
      await insertEach(db, 'things', columns, upTo(count), rowOf(orgId));
      expect(await sumOf(orgId)).toEqual({
        count: BigInt(count),
        sum: BigInt((count * (count - 1)) / 2),
      });
    }
    // Sends several statements at once, like the ledger: the statements after a failed one must not take effect.
    const failing = db.transaction((tx) =>
      Promise.all([
        insertEach(tx, 'things', columns, upTo(3_000), rowOf('beside')),
        insertEach(tx, 'things', columns, [...upTo(1_500), 7], rowOf('failing')),
        insertEach(tx, 'things', columns, upTo(5_000), rowOf('behind')),
      ]),
    );
    await expect(failing).rejects.toSatisfy((error) => isUniqueViolation(error, 'things_pkey'));
    let writing: Promise<unknown> | undefined;
    const abandoned = db.transaction(async (tx) => {
      writing = insertEach(tx, 'things', columns, upTo(5_000), rowOf('abandoned')).catch(String);
      throw new Error('abandoned on purpose');
    });
    await expect(abandoned).rejects.toThrow('abandoned on purpose');
    expect(await writing).toContain('the transaction is over');
    for (const orgId of ['beside', 'failing', 'behind', 'abandoned']) {
      expect(await sumOf(orgId)).toEqual({ count: 0n, sum: null });
    }
  });
});

describe('transactions', () => {
  test('commit everything or nothing', async () => {
    await db.transaction(async (tx) => {
      await insert(tx, 'commit', 'a');
      await insert(tx, 'commit', 'b');
    });
    const undone = db.transaction(async (tx) => {
      await insert(tx, 'undone', 'a');
      throw new Error('changed my mind');
    });
    await expect(undone).rejects.toThrow('changed my mind');
    expect(await ids('commit')).toEqual(['a', 'b']);
    expect(await ids('undone')).toEqual([]);
  });

  test('recognises a unique violation by its constraint and rolls back', async () => {
    await insert(db, 'unique', 'a');
    const twice = db.transaction(async (tx) => {
      await insert(tx, 'unique', 'b');
      await insert(tx, 'unique', 'a');
    });
    const error = await twice.catch((caught) => caught);
    expect(isUniqueViolation(error, 'things_pkey')).toBe(true);
    expect(isUniqueViolation(error, 'other')).toBe(false);
    expect(await ids('unique')).toEqual(['a']);
  });

  test('rejects if the work swallowed the error of a statement', async () => {
    await insert(db, 'swallow', 'a');
    const swallowed = db.transaction(async (tx) => {
      await insert(tx, 'swallow', 'a').catch(() => undefined);
    });
    await expect(swallowed).rejects.toThrow('swallowed');
  });

  test('runs pipelined statements in order, and fails if one of them fails', async () => {
    const seen = await db.transaction(async (tx) => {
      await insert(tx.pipelined, 'pipelined', 'a');
      const rows = await tx.query(`SELECT id FROM things WHERE org_id = 'pipelined'`, []);
      await insert(tx.pipelined, 'pipelined', 'b');
      return rows;
    });
    expect(seen).toEqual([{ id: 'a' }]);
    const violating = db.transaction(async (tx) => {
      await insert(tx.pipelined, 'pipelined', 'c');
      await insert(tx.pipelined, 'pipelined', 'a');
      await insert(tx.pipelined, 'pipelined', 'd');
    });
    await expect(violating).rejects.toSatisfy((error) => isUniqueViolation(error, 'things_pkey'));
    const unsendable = db.transaction(async (tx) => {
      await insert(tx.pipelined, 'pipelined', 'e');
      const row = { org_id: 'pipelined', id: 'f', n: 2n ** 64n };
      const columns = { org_id: 'text', id: 'text', n: 'int8' } as const;
      await insertMany(tx.pipelined, 'things', columns, [row]);
    });
    await expect(unsendable).rejects.toThrow();
    expect(await ids('pipelined')).toEqual(['a', 'b']);
  });

  test('the database isolates concurrent transactions', async () => {
    await db.query(`INSERT INTO things (org_id, id, n) VALUES ('count', 'a', 0)`);
    await Promise.all(
      Array.from({ length: 40 }, () =>
        db.transaction(async (tx) => {
          const [row] = await tx.query<{ n: bigint }>(
            `SELECT n FROM things WHERE org_id = 'count' FOR UPDATE`,
            [],
          );
          await tx.query(`UPDATE things SET n = $1 WHERE org_id = 'count'`, [(row?.n ?? 0n) + 1n]);
        }),
      ),
    );
    const [row] = await db.query(`SELECT n FROM things WHERE org_id = 'count'`, []);
    expect(row).toEqual({ n: 40n });
  });

  test('transactions that are snapshots see one state, and cannot write', async () => {
    let writing: Promise<unknown> | undefined;
    const snapshot = { snapshot: true };
    const seen = await db.transaction(async (tx) => {
      const count = () => tx.query(`SELECT id FROM things WHERE org_id = 'snapshot'`, []);
      const before = await count();
      writing = insert(db, 'snapshot', 'a');
      // The embedded engine runs it after the transaction.
      await (engine === 'postgres' ? writing : undefined);
      return [before, await count()];
    }, snapshot);
    await writing;
    expect(seen).toEqual([[], []]);
    expect(await ids('snapshot')).toEqual(['a']);
    await expect(db.transaction((tx) => insert(tx, 'snapshot', 'b'), snapshot)).rejects.toThrow();
    expect(await ids('snapshot')).toEqual(['a']);
  });

  test('retries after a serialization failure', async () => {
    let attempts = 0;
    await db.transaction(async (tx) => {
      attempts += 1;
      if (attempts < 3) {
        await tx.query(`DO $$ BEGIN RAISE EXCEPTION 'collision' USING ERRCODE = '40001'; END $$`);
      }
    });
    expect(attempts).toBe(3);
  });
});

test.runIf(engine === 'embedded')(
  'the one connection reports when it last answered, also within a transaction',
  async () => {
    const answeredAtMs = () => db.stats().answeredAtMs ?? 0;
    await db.transaction(async (tx) => {
      await tx.query('SELECT 1');
      const first = answeredAtMs();
      await tx.query('SELECT pg_sleep(0.01)');
      expect(answeredAtMs()).toBeGreaterThan(first);
    });
  },
);

// The timeout of the embedded engine is half a minute, which is too long for a test.
describe.runIf(engine === 'postgres')('a statement that exceeds the timeout', () => {
  test('a statement that exceeds the timeout is cancelled, unless the transaction is patient, like a migration', async () => {
    const url = `${place.databaseUrl}?statement_timeout=500`;
    const hasty = await openPostgres({ url, connections: 2, log: createLog('silent') });
    const slow = (options?: { patient: boolean }) =>
      hasty.transaction(async (tx) => tx.query('SELECT pg_sleep(2)', []), options);
    await Promise.all([
      expect(slow()).rejects.toThrow(DatabaseUnavailable),
      expect(slow({ patient: true })).resolves.toHaveLength(1),
    ]).finally(() => hasty.close());
  });
});

describe('notifications', () => {
  test('notifications are delivered after the transaction has committed, and never if it rolls back', async () => {
    const received: (string | null)[] = [];
    db.listen('test_channel', (payload) => received.push(payload));
    await db.transaction(async (tx) => {
      await tx.notify('test_channel', 'one');
      expect(received).not.toContain('one');
    });
    // The sending process receives the notification immediately.
    expect(received).toContain('one');
    await db
      .transaction(async (tx) => {
        await tx.notify('test_channel', 'never');
        throw new Error('undone');
      })
      .catch(() => undefined);
    expect(received).not.toContain('never');
    await eventually(() => expect(db.notificationsHealthy()).toBe(true));
  });

  test('notifications are rejected after the end of their transaction, and not delivered', async () => {
    const received: (string | null)[] = [];
    db.listen('late_channel', (payload) => received.push(payload));
    const late = await db.transaction(async (tx) => () => tx.notify('late_channel', 'late'));
    await expect(late()).rejects.toThrow('the transaction is over');
    expect(received).not.toContain('late');
  });

  // The embedded engine has no other processes, so it sends none.
  test.runIf(engine === 'postgres')(
    'fail the transaction if they cannot be sent, also if the error is swallowed',
    async () => {
      const tooLong = 'x'.repeat(10_000);
      const swallowed = db.transaction(async (tx) => {
        await tx.notify('test_channel', tooLong).catch(() => undefined);
      });
      await expect(swallowed).rejects.toThrow('swallowed');
    },
  );
});

describe('migrations', () => {
  const build = '0.1.0';

  test('run once, also if several processes start at the same time', async () => {
    const fresh = await makePlace({ migrated: false });
    const first = await openPlace(fresh);
    const migrations = await readMigrations();
    const done = await Promise.all([
      migrate(first, migrations, { build }),
      migrate(first, migrations, { build }),
      migrate(first, migrations, { build }),
    ]);
    // Each process waits for the lock once per migration, so the processes may alternate.
    const versions = done.flat().map(({ version }) => version);
    expect(versions.toSorted((a, b) => a - b)).toEqual(migrations.map(({ version }) => version));
    expect(await migrate(first, migrations, { build })).toEqual([]);
    await first.close();
    await fresh.remove();
  });

  // Databases are distributed after these migrations; they are not replayed on a cluster.
  test.skipIf(isCitus)('migrations can be replayed without changing the schema', async () => {
    const schema = () =>
      db.query(
        `SELECT table_name, column_name, data_type, is_nullable, column_default FROM information_schema.columns
          WHERE table_schema = current_schema() ORDER BY 1, 2`,
        [],
      );
    const before = await schema();
    for (const { sql, phase } of await readMigrations()) {
      // A backfill continues from a cursor, its parameter.
      await (phase === 'backfill' ? db.query(sql, ['']) : db.query(sql));
    }
    expect(await schema()).toEqual(before);
  });

  test('fail if an applied file was changed, and name the file', async () => {
    const [first, ...rest] = await readMigrations();
    if (first === undefined) {
      throw new Error('there are no migrations');
    }
    await expect(migrate(db, [{ ...first, checksum: 'other' }, ...rest], { build })).rejects.toThrow(
      /0001_foundation\.sql was changed/,
    );
  });
});
