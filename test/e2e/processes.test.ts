/** Processes on one database count each other, and find those that are dead. */
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

  let silences = 0;
  /** Each time a later time, even within a millisecond. */
  const silence = (id: string) => {
    silences += 1;
    return db.query(
      `UPDATE processes SET seen_at = now() - interval '7 seconds' + $2 * interval '1 millisecond' WHERE id = $1`,
      [id, silences],
    );
  };
  const isAlive = async (id: string) =>
    (await db.query('SELECT 1 AS one FROM processes WHERE id = $1', [id])).length > 0;

  test('does not count a silent process, finds it dead after four heartbeats of its own, and counts it again if it comes back', async () => {
    const [first, silent] = [createProcesses(db, '0.1.0'), createProcesses(db, '0.1.0')];
    await silent.beat();
    await age('5 seconds');
    await first.beat();
    expect(first.count()).toBe(2);
    await silence(silent.id);
    for (let beats = 0; beats < 3; beats += 1) {
      await first.beat();
      expect([first.count(), await isAlive(silent.id)]).toEqual([1, true]);
    }
    await first.beat();
    expect([first.count(), await isAlive(silent.id)]).toEqual([1, false]);
    await silent.beat();
    await first.beat();
    expect([first.count(), await isAlive(silent.id)]).toEqual([2, true]);
    await Promise.all([first.leave(), silent.leave()]);
  });

  test('does not find a process dead that renews its row between two observations', async () => {
    const [first, slow] = [createProcesses(db, '0.1.0'), createProcesses(db, '0.1.0')];
    for (let renewals = 0; renewals < 4; renewals += 1) {
      await slow.beat();
      await silence(slow.id);
      for (let beats = 0; beats < 3; beats += 1) {
        await first.beat();
        expect(await isAlive(slow.id)).toBe(true);
      }
    }
    await Promise.all([first.leave(), slow.leave()]);
  });

  test('does not find a process dead because of the time in which the database was away', async () => {
    let away = false;
    const query: Database['query'] = (sql, params) =>
      away ? Promise.reject(new Error('away')) : db.query(sql, params);
    const [observer, other] = [
      createProcesses({ ...db, engine: 'postgres', query }, '0.1.0'),
      createProcesses(db, '0.1.0'),
    ];
    await other.beat();
    await silence(other.id);
    for (let outages = 0; outages < 3; outages += 1) {
      for (let beats = 0; beats < 3; beats += 1) {
        await observer.beat();
      }
      away = true;
      await expect(observer.beat()).rejects.toThrow('away');
      away = false;
    }
    expect(await isAlive(other.id)).toBe(true);
    await Promise.all([observer.leave(), other.leave()]);
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
  test('there is one process: its start deletes the rows of all earlier ones', async () => {
    const ids = async () => (await db.query<{ id: string }>('SELECT id FROM processes')).map(({ id }) => id);
    const killed = createProcesses(db, '0.1.0');
    await killed.beat();
    expect(await ids()).toEqual([killed.id]);
    const restarted = createProcesses(db, '0.1.0');
    await restarted.beat();
    expect([restarted.count(), restarted.jobs, await ids()]).toEqual([1, [], [restarted.id]]);
    await restarted.leave();
    expect(await ids()).toEqual([]);
  });
});
