import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { rounds } from '../../../test/support/rounds.ts';
import { engine, makePlace, openPlace, type Place } from '../../../test/support/test-database.ts';
import type { Database } from '../db/database.ts';
import { checkpointJob } from './checkpoint-job.ts';

const mebibyte = 1_048_576;

describe.runIf(engine === 'embedded')('checkpoints', () => {
  let place: Place;
  let db: Database;
  beforeAll(async () => {
    place = await makePlace({ migrated: true });
    db = await openPlace(place);
    await db.query('CREATE TABLE written (id int PRIMARY KEY, filler text)');
  });
  afterAll(async () => {
    await db.close();
    await place.remove();
  });

  const walBytes = () => {
    const directory = join(place.dataDir, 'database', 'pg_wal');
    return readdirSync(directory)
      .map((name) => statSync(join(directory, name)))
      .reduce((sum, stat) => sum + (stat.isFile() ? stat.size : 0), 0);
  };
  /** Bytes that were ever written to the write-ahead log. */
  const position = async () =>
    Number(
      (await db.query<{ bytes: string }>(`SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn AS bytes`))[0]
        ?.bytes,
    );
  const redo = async () =>
    (await db.query<{ redo: string }>('SELECT redo_lsn::text AS redo FROM pg_control_checkpoint()'))[0]?.redo;
  /** Writes a row, and 4 MB to the write-ahead log: as much as a busy second, or an idle hour. */
  const write = async () => {
    await db.query(`INSERT INTO written VALUES (1, 'x') ON CONFLICT (id) DO UPDATE SET filler = 'y'`);
    // A message to nobody, since writing as many rows takes many times as long.
    await db.query(`SELECT pg_logical_emit_message(true, 'test', repeat('x', ${4 * mebibyte}))`);
  };

  test('keep the write-ahead log small over a day of writes', async () => {
    const job = checkpointJob(db);
    // A day of 40 operations a second wrote 8 GB before there were checkpoints.
    const days = rounds(0.025, 1);
    const start = await position();
    let largest = 0;
    while ((await position()) - start < days * 8_192 * mebibyte) {
      await write();
      await job.runOnce();
      largest = Math.max(largest, walBytes());
    }
    expect(largest).toBeLessThanOrEqual(144 * mebibyte);
  });

  test('happen after some time if anything was written, and only then', async () => {
    await checkpointJob(db, { walBytesMax: 0 }).runOnce();
    const before = await redo();
    const overdue = checkpointJob(db, { ageSecondsMax: 0 });
    await overdue.runOnce();
    expect(await redo()).toBe(before);
    await write();
    await checkpointJob(db).runOnce();
    expect(await redo()).toBe(before);
    await overdue.runOnce();
    expect(await redo()).not.toBe(before);
  });
});
