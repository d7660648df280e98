/** Holds of the embedded engine across ends, crashes and backups. */
import { cpSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { holdOf, limitOf, scopeOf, usd } from '../../../test/support/ledger-values.ts';
import { LedgerWorld, verdictOf } from '../../../test/support/ledger-world.ts';
import { engine } from '../../../test/support/test-database.ts';
import type { Database } from '../../platform/db/database.ts';
import { type Hold, restoredHold, storedEnd } from '../holds/hold.ts';
import type { LogLocation } from '../holds/org-ledger-state.ts';
import { findEnds } from '../postings/ledger-writes.ts';
import { beginGeneration, HoldLogMismatch } from './hold-generation.ts';
import { DamagedHoldLog, emptyAfterMs, type HoldLog, type HoldLogOptions, openHoldLog } from './hold-log.ts';

const hourMs = 3_600_000;

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'purser-holds-'));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

const openLog = (at: string, options: Partial<HoldLogOptions> = {}) =>
  openHoldLog(at, { durability: 'sync', ...options });

/** A hold log that removes holds by id: it tracks their locations as the ledger does. */
function openTracked(options: Partial<HoldLogOptions> = {}) {
  const log = openLog(directory, options);
  const locations = new Map<string, LogLocation>();
  const forget = (ids: readonly string[]) => {
    const left = ids.map((id) => locations.get(id));
    for (const id of ids) {
      locations.delete(id);
    }
    log.remove(left);
  };
  return {
    async append(holds: readonly Hold[]) {
      const location = await log.append(holds);
      forget(holds.map(({ id }) => id));
      for (const { id } of holds) {
        locations.set(id, location);
      }
    },
    forget,
    restore(): Hold[] {
      const logged = log.restore();
      for (const { hold, location } of logged) {
        locations.set(hold.id, location);
      }
      return logged.map(({ hold }) => hold);
    },
    close: () => log.close(),
  };
}

const fileBytes = () => statSync(join(directory, logFiles()[0] ?? '')).size;
const logFiles = (of = directory) => readdirSync(of).filter((name) => name.endsWith('.log'));

/** Returns the holds that a new process would restore. */
function restored(): Hold[] {
  const log = openLog(directory);
  const holds = log.restore().map(({ hold }) => hold);
  log.close();
  return holds;
}
const restoredIds = () =>
  restored()
    .map(({ id }) => id)
    .sort();

describe.runIf(engine === 'embedded')('the hold log', () => {
  test('restores appended holds exactly', async () => {
    const log = openTracked();
    const odd = holdOf('dec_odd', {
      runId: 'run_1',
      surface: 'run',
      scope: scopeOf({ customer_id: 'a "quoted"\n\\ \u2028 \ud83d\ude00 \ud800', workflow: '' }),
      amounts: { usd: 8_999_999_999_999_999_999n, tokens: 9_007_199_254_740_993n, requests: 0n },
      shares: [
        { key: 'clm_1@1:a:b@c', unit: 'usd' },
        { key: 'b@0', unit: 'tokens' },
      ],
      packs: [{ key: 'crp_1@0', amount: 3n }],
      priceVersion: 'prc "1"',
      idempotency: { digest: 'd', fingerprint: 'f', encrypted: 'YQ==', customerDigest: 'c' },
    });
    await log.append([odd, holdOf('dec_plain')]);
    log.close();
    expect(restored()).toEqual([odd, holdOf('dec_plain')]);
    const ended = { ...odd, shares: [], idempotency: null };
    expect(restoredHold(JSON.parse(JSON.stringify(storedEnd(odd))))).toEqual(ended);
  });

  test('contains holds as soon as `append` returns, without being closed', async () => {
    const log = openTracked();
    for (let i = 0; i < 50; i += 1) {
      await log.append([holdOf(`dec_${i}`)]);
    }
    const copy = await mkdtemp(join(tmpdir(), 'purser-holds-'));
    cpSync(directory, copy, { recursive: true });
    const other = openLog(copy);
    expect(other.restore()).toHaveLength(50);
    await other.close();
    rmSync(copy, { recursive: true });
    log.close();
    log.close();
    await expect(log.append([holdOf('dec_late')])).rejects.toThrow('closed');
    log.forget(Array.from({ length: 50 }, (_, i) => `dec_${i}`));
  });

  test('replaces an earlier version of a hold', async () => {
    const log = openTracked();
    await log.append([holdOf('dec_1'), holdOf('dec_2')]);
    await log.append([holdOf('dec_1', { expiresAtMs: 5_000_000 })]);
    log.close();
    const again = openTracked();
    expect(again.restore().sort((a, b) => (a.id < b.id ? -1 : 1))).toEqual([
      holdOf('dec_1', { expiresAtMs: 5_000_000 }),
      holdOf('dec_2'),
    ]);
    await again.append([holdOf('dec_2', { expiresAtMs: 6_000_000 })]);
    again.close();
    expect(restored().find(({ id }) => id === 'dec_2')?.expiresAtMs).toBe(6_000_000);
  });

  test('the hold log is emptied a while after all holds were removed, but not while there is one', async () => {
    const log = openTracked();
    await log.append([holdOf('dec_1'), holdOf('dec_2')]);
    await log.append([holdOf('dec_3')]);
    log.forget(['dec_2', 'dec_unknown']);
    log.forget(['dec_1']);
    log.forget(['dec_3']);
    log.forget(['dec_3']);
    expect(fileBytes()).toBeGreaterThan(0);
    await expect.poll(fileBytes).toBe(0);
    await log.append([holdOf('dec_4')]);
    log.forget(['dec_4']);
    await log.append([holdOf('dec_5')]);
    await setTimeout(emptyAfterMs);
    log.close();
    expect(restoredIds()).toEqual(['dec_4', 'dec_5']);
  });

  test('grows by many lines at once, and contains nothing but lines once it is closed', async () => {
    const log = openTracked();
    await log.append([holdOf('dec_0')]);
    const bytes = fileBytes();
    for (let i = 1; i < 100; i += 1) {
      await log.append([holdOf(`dec_${i}`)]);
    }
    expect(fileBytes()).toBe(bytes);
    // Longer than what is left of the file.
    const long = holdOf('dec_long', { scope: scopeOf({ customer_id: 'c'.repeat(bytes) }) });
    await log.append([long]);
    await log.append([holdOf('dec_last')]);
    expect(fileBytes()).toBeGreaterThan(2 * bytes);
    log.close();
    expect(readFileSync(join(directory, logFiles()[0] ?? ''), 'utf8')).not.toContain('\0');
    expect(restoredIds()).toEqual(
      [...Array.from({ length: 100 }, (_, i) => `dec_${i}`), 'dec_last', 'dec_long'].sort(),
    );
  });

  test('accepts holds while others are removed', async () => {
    const log = openTracked();
    const kept: string[] = [];
    for (let i = 0; i < 200; i += 1) {
      await log.append([holdOf(`dec_${i}`)]);
      log.forget([`dec_${i - 1}`]);
      if (i % 50 === 0) {
        kept.push(`keep_${i}`);
        await log.append([holdOf(`keep_${i}`)]);
      }
    }
    log.close();
    expect(restoredIds()).toEqual(expect.arrayContaining([...kept, 'dec_199']));
  });

  test('deletes a file when the last hold in it has ended, also one of an earlier start', async () => {
    const log = openTracked({ fileBytesMax: 1_000 });
    for (let i = 0; i < 20; i += 1) {
      await log.append([holdOf(`dec_${i}`)]);
    }
    expect(logFiles().length).toBeGreaterThan(3);
    log.close();
    const again = openTracked({ fileBytesMax: 1_000 });
    expect(again.restore()).toHaveLength(20);
    again.forget(Array.from({ length: 19 }, (_, i) => `dec_${i}`));
    again.close();
    expect(logFiles().length).toBeLessThanOrEqual(2);
    // Ended holds in the last file may be restored too. The ledger drops them, because their ends are in the database.
    expect(restoredIds()).toContain('dec_19');
  });

  test('deletes holds that ended long ago, even if there are few', async () => {
    const log = openTracked();
    await log.append([holdOf('dec_old')]);
    log.forget(['dec_old']);
    log.close();
    expect(restoredIds()).toEqual([]);

    // There is always one open hold, and never enough to fill a file.
    const busy = openTracked();
    for (let hour = 0; hour < 72; hour += 1) {
      await busy.append([holdOf(`dec_${hour}`, { admittedAtMs: hour * hourMs })]);
      busy.forget([`dec_${hour - 1}`]);
    }
    busy.close();
    const admitted = restored().map(({ admittedAtMs }) => admittedAtMs);
    expect(Math.min(...admitted)).toBeGreaterThanOrEqual((72 - 31) * hourMs);
  });

  test('ignores a line of which a power cut left zeros at any position', async () => {
    const log = openTracked();
    await log.append([holdOf('dec_1')]);
    const [name = ''] = logFiles();
    const before = readFileSync(join(directory, name));
    await log.append([holdOf('dec_2')]);
    const whole = readFileSync(join(directory, name));
    expect(whole.length).toBe(before.length);
    log.close();
    const start = whole.indexOf('\n') + 1;
    const end = whole.lastIndexOf('\n') + 1;
    for (let at = start; at < end; at += 1) {
      for (const [from, to] of [
        [start, at + 1],
        [at, at + 1],
        [at, end],
      ] as const) {
        for (const other of logFiles()) {
          rmSync(join(directory, other));
        }
        writeFileSync(join(directory, name), Buffer.from(whole).fill(0, from, to));
        expect(restoredIds(), `zeros from ${from} to ${to} of ${start} to ${end}`).toEqual(['dec_1']);
      }
    }
  });

  test('ignores a line that was cut short at any position, and rejects a damaged one', async () => {
    const log = openTracked();
    await log.append([holdOf('dec_1')]);
    await log.append([holdOf('dec_2')]);
    log.close();
    const [name = ''] = logFiles();
    const path = join(directory, name);
    const whole = readFileSync(path);
    const firstLine = whole.indexOf('\n') + 1;
    for (const length of [whole.length - 1, whole.length - 30, firstLine + 1, firstLine]) {
      for (const other of logFiles()) {
        rmSync(join(directory, other));
      }
      writeFileSync(path, whole.subarray(0, length));
      expect(restoredIds()).toEqual(['dec_1']);
    }
    writeFileSync(path, Buffer.concat([whole.subarray(5), whole]));
    expect(() => openLog(directory).restore()).toThrow(DamagedHoldLog);
  });

  test('reads lines of earlier releases, which contain the scope in each hold', async () => {
    const log = openTracked();
    await log.append([holdOf('dec_1')]);
    log.close();
    const [name = ''] = logFiles();
    const path = join(directory, name);
    const { scopes, holds, ...rest } = JSON.parse(readFileSync(path, 'utf8'));
    const before = { ...rest, holds: holds.map((hold: object) => ({ ...hold, scope: scopes[0] })) };
    writeFileSync(path, `${JSON.stringify(before)}\n`);
    expect(restored()).toEqual([holdOf('dec_1')]);
  });

  test('the hold log is not readable by other users', async () => {
    const log = openLog(join(directory, 'own'));
    await log.append([holdOf('dec_1')]);
    expect(statSync(join(directory, 'own')).mode & 0o077).toBe(0);
    for (const name of readdirSync(join(directory, 'own'))) {
      expect(statSync(join(directory, 'own', name)).mode & 0o077).toBe(0);
    }
    log.close();
  });
});

describe.runIf(engine === 'embedded')('a ledger that restarts', () => {
  let world: LedgerWorld;
  let orgId: string;
  const holdsDirectory = () => join(world.place.dataDir, 'holds');
  const databaseDirectory = () => join(world.place.dataDir, 'database');

  beforeAll(async () => {
    world = await LedgerWorld.open();
  });
  afterAll(() => world.close());
  beforeEach(async () => {
    orgId = await world.orgWith(limitOf({ id: 'cap', kind: 'spend_cap', capacity: usd('10') }));
  });

  /** Gives up the open holds by removing the hold log, as the error message suggests. */
  async function giveUpHolds(): Promise<void> {
    rmSync(holdsDirectory(), { recursive: true });
    await world.reopen();
    expect(await world.ledger.reads.holds(orgId, { limit: 10, after: undefined })).toEqual([]);
  }

  function copyOf(path: string): string {
    const copy = join(directory, 'copy');
    cpSync(path, copy, { recursive: true });
    return copy;
  }

  function putBack(copy: string, path: string): void {
    rmSync(path, { recursive: true });
    cpSync(copy, path, { recursive: true });
  }

  test('drops a hold whose end is in the database but not yet in the log', async () => {
    const [settled, voided, open] = [
      await world.held(orgId, '1'),
      await world.held(orgId, '2'),
      await world.held(orgId, '4'),
    ];
    const copy = copyOf(holdsDirectory());
    await world.posted(orgId, '1', { decisionId: settled.id });
    await world.ledger.void(orgId, voided.id);
    await world.ledger.close();
    putBack(copy, holdsDirectory());
    await world.reopen();
    expect(
      (await world.ledger.reads.holds(orgId, { limit: 10, after: undefined })).map(({ id }) => id),
    ).toEqual([open.id]);
    expect(verdictOf(await world.hold(orgId, '5.000000001'))).toBe('spend_cap_exceeded');
    expect(verdictOf(await world.hold(orgId, '5'))).toBe('held');
    expect(verdictOf(await world.post(orgId, '1', { decisionId: settled.id }))).toBe('settled_already');
    expect(await world.audit(orgId)).toEqual([]);
    // The ended holds are not restored at the next start either.
    await world.reopen();
    expect(await world.ledger.reads.holds(orgId, { limit: 10, after: undefined })).toHaveLength(2);
  });

  test('drops a hold that is in the log, but whose run is not in the database', async () => {
    const decided = await world.held(orgId, '1');
    const opened = await world.posted(orgId, '1', { kind: 'open' });
    const copy = copyOf(databaseDirectory());
    await world.posted(orgId, '3', { kind: 'open', externalId: 'lost' });
    await world.ledger.close();
    await world.db.close();
    putBack(copy, databaseDirectory());
    await world.restartFromDisk();
    const open = (await world.ledger.reads.holds(orgId, { limit: 10, after: undefined })).map(({ id }) => id);
    expect(open.sort()).toEqual([decided.id, opened.hold?.id ?? ''].sort());
    await world.posted(orgId, '3', { kind: 'open', externalId: 'lost' });
    expect(Object.values(await world.counters(orgId))).toEqual([`0+${usd('5')}`]);
    expect(await world.audit(orgId)).toEqual([]);
  });

  test('a ledger that restarts has every acknowledged hold, also after a crash', async () => {
    const held = await Promise.all(Array.from({ length: 10 }, () => world.held(orgId, '0.5')));
    const opened = await world.posted(orgId, '1', { kind: 'open' });
    await world.ledger.extend(orgId, held[0]?.id ?? '', 2_000);
    await world.crash();
    const found = await world.ledger.reads.holds(orgId, { limit: 100, after: undefined });
    expect(found.map(({ id }) => id).sort()).toEqual(
      [...held.map(({ id }) => id), opened.hold?.id ?? ''].sort(),
    );
    expect(found.find(({ id }) => id === held[0]?.id)?.expiresAtMs).toBe(world.nowMs + 2_000_000);
    expect(verdictOf(await world.hold(orgId, '4.000000001'))).toBe('spend_cap_exceeded');
    world.clock.advanceSeconds(900);
    await world.expireAll();
    expect(await world.ledger.reads.holds(orgId, { limit: 100, after: undefined })).toHaveLength(1);
    expect(await findEnds(world.db, [orgId], [opened.hold?.id ?? ''])).toMatchObject([
      { ended_as: 'expired' },
    ]);
  });

  test('fails if the database is older than the hold log', async () => {
    await world.held(orgId, '1');
    await world.ledger.close();
    await world.db.close();
    const copy = copyOf(databaseDirectory());
    await world.restartFromDisk();
    await world.held(orgId, '1');
    await world.ledger.close();
    await world.db.close();
    putBack(copy, databaseDirectory());
    await expect(world.restartFromDisk()).rejects.toThrow(HoldLogMismatch);
    rmSync(holdsDirectory(), { recursive: true });
    await world.restartFromDisk();
    expect(await world.ledger.reads.holds(orgId, { limit: 10, after: undefined })).toEqual([]);
  });

  test('fails if the hold log is older than the database', async () => {
    await world.held(orgId, '1');
    await world.ledger.close();
    const copy = copyOf(holdsDirectory());
    await world.reopen();
    await world.ledger.close();
    putBack(copy, holdsDirectory());
    await expect(world.reopen()).rejects.toThrow(HoldLogMismatch);
    await expect(world.reopen()).rejects.toThrow(/restore both together/);
    await giveUpHolds();
  });

  test('fails if the database is new and the hold log is old', async () => {
    await world.held(orgId, '1');
    await world.ledger.close();
    await world.db.query('DELETE FROM hold_log_generation', []);
    await expect(world.reopen()).rejects.toThrow(HoldLogMismatch);
    await expect(world.reopen()).rejects.toThrow(/restore both together/);
    await giveUpHolds();
  });

  test('a ledger that restarts starts if both were restored together', async () => {
    const hold = await world.held(orgId, '1');
    await world.ledger.close();
    await world.db.close();
    const copy = copyOf(world.place.dataDir);
    await world.restartFromDisk();
    await world.ledger.void(orgId, hold.id);
    await world.ledger.close();
    await world.db.close();
    putBack(copy, world.place.dataDir);
    await world.restartFromDisk();
    expect(await world.ledger.reads.findHold(orgId, hold.id)).toMatchObject({ id: hold.id });
  });

  test.each([1, 2, 3])(
    'a ledger that restarts starts after a crash before step %d of its generation',
    async (step) => {
      for (const isFirst of [false, true]) {
        await world.ledger.close();
        if (isFirst) {
          rmSync(holdsDirectory(), { recursive: true });
          await world.db.query('DELETE FROM hold_log_generation', []);
        }
        const log = openLog(holdsDirectory());
        let written = 0;
        const dies = () => {
          written += 1;
          if (written === step) {
            throw new Error('killed');
          }
        };
        const dying: HoldLog = {
          ...log,
          writeGeneration: (generation) => {
            dies();
            return log.writeGeneration(generation);
          },
        };
        const dyingDb: Database = {
          ...world.db,
          query: async (sql, params) => {
            if (sql.startsWith('INSERT')) {
              dies();
            }
            return world.db.query(sql, params);
          },
        };
        await expect(beginGeneration(dyingDb, dying)).rejects.toThrow('killed');
        log.close();
        await world.reopen();
        await world.held(orgId, '1');
        // Reopens once more, this time after a clean shutdown.
        await world.reopen();
      }
    },
  );
});
