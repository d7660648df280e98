/** Processes on one database count each other. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Database } from '../../src/platform/db/database.ts';
import { startJobs } from '../../src/platform/jobs/jobs.ts';
import { createProcesses } from '../../src/platform/jobs/processes.ts';
import { createLog } from '../../src/platform/log.ts';
import { engine, makePlace, openPlace, type Place } from '../support/test-database.ts';

let place: Place;
let db: Database;
beforeAll(async () => {
  place = await makePlace({ migrated: true });
  db = await openPlace(place);
});
afterAll(async () => {
  await db.close();
  await place.remove();
});

const rows = async () => (await db.query('SELECT id FROM processes')).length;

describe.runIf(engine === 'postgres')('on PostgreSQL', () => {
  const age = (interval: string) =>
    db.query('UPDATE processes SET seen_at = now() - $1::interval', [interval]);

  test('each counts itself, and the others once they have said that they are there', async () => {
    const [first, second, third] = [
      createProcesses(db, '0.1.0'),
      createProcesses(db, '0.1.0'),
      createProcesses(db, '0.1.0'),
    ];
    expect(first.count()).toBe(1);
    await first.beat();
    expect(first.count()).toBe(1);
    await second.beat();
    await third.beat();
    expect([first.count(), second.count(), third.count()]).toEqual([1, 2, 3]);
    await Promise.all([first.beat(), first.beat(), second.beat()]);
    expect([first.count(), second.count()]).toEqual([3, 3]);
    await third.leave();
    await first.beat();
    expect(first.count()).toBe(2);
    await Promise.all([first.leave(), second.leave()]);
    expect(await rows()).toBe(0);
  });

  test('one that is silent for ten seconds is not counted, for a minute is forgotten, and may come back', async () => {
    const [first, silent] = [createProcesses(db, '0.1.0'), createProcesses(db, '0.1.0')];
    await silent.beat();
    await age('9 seconds');
    await first.beat();
    expect(first.count()).toBe(2);
    await age('11 seconds');
    await first.beat();
    expect([first.count(), await rows()]).toEqual([1, 2]);
    await age('61 seconds');
    await first.beat();
    expect([first.count(), await rows()]).toEqual([1, 1]);
    await silent.beat();
    expect(silent.count()).toBe(2);
    await Promise.all([first.leave(), silent.leave()]);
  });

  test('after an outage all of them may come back at the same moment', async () => {
    const many = Array.from({ length: 8 }, () => createProcesses(db, '0.1.0'));
    for (let outage = 0; outage < 20; outage += 1) {
      await Promise.all(many.map((process) => process.beat()));
      await age('2 minutes');
      await Promise.all(many.map((process) => process.beat()));
    }
    await Promise.all(many.map((process) => process.beat()));
    expect(many.map((process) => process.count())).toEqual(many.map(() => 8));
    await Promise.all(many.map((process) => process.leave()));
  });

  test('while the database does not answer, the last count stands, and leaving is possible', async () => {
    let away = false;
    const query: Database['query'] = (sql, params) =>
      away ? Promise.reject(new Error('away')) : db.query(sql, params);
    const [cutOff, other] = [
      createProcesses({ ...db, engine: 'postgres', query }, '0.1.0'),
      createProcesses(db, '0.1.0'),
    ];
    await other.beat();
    await cutOff.beat();
    away = true;
    await expect(cutOff.beat()).rejects.toThrow('away');
    expect(cutOff.count()).toBe(2);
    await cutOff.leave();
    await other.leave();
    await db.query('DELETE FROM processes');
  });

  test('the job beats by itself', async () => {
    const [running, other] = [createProcesses(db, '0.1.0'), createProcesses(db, '0.1.0')];
    const jobs = startJobs(
      running.jobs.map((job) => ({ ...job, everyMs: 10 })),
      createLog('silent'),
    );
    await other.beat();
    await expect.poll(() => running.count()).toBe(2);
    await jobs.stop();
    await Promise.all([running.leave(), other.leave()]);
  });
});

describe.runIf(engine === 'embedded')('on the embedded engine', () => {
  test('there is one, without a word to the database', async () => {
    const processes = createProcesses(db, '0.1.0');
    await processes.beat();
    expect([processes.count(), processes.jobs, await rows()]).toEqual([1, [], 0]);
    await processes.leave();
  });
});
