/** Caches are believed only while notifications are known to arrive: the bound of one second on a revocation rests on it. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../../../../test/support/eventually.ts';
import { engine, makePlace, type Place } from '../../../../test/support/test-database.ts';
import { createLog } from '../../log.ts';
import { LocalNotifications } from '../transaction.ts';
import { ChangeListener } from './change-listener.ts';

describe.runIf(engine === 'postgres')('the connection that hears notifications', () => {
  let place: Place;
  beforeAll(async () => {
    place = await makePlace({ migrated: false });
  });
  afterAll(() => place?.remove());

  async function listening(): Promise<{ notices: ChangeListener; setNowMs: (nowMs: number) => void }> {
    let now = 5_000;
    const board = new LocalNotifications();
    board.add('test_channel', () => undefined);
    const settings = { connectionString: place.databaseUrl };
    const notices = new ChangeListener(settings, board, createLog('silent'), () => now);
    await notices.start();
    const setNowMs = (nowMs: number) => {
      now = nowMs;
    };
    return { notices, setNowMs };
  }

  test('is current for less than 800 ms after it was asked for a sign of life that was answered', async () => {
    const { notices, setNowMs } = await listening();
    await eventually(() => expect(notices.areCurrent()).toBe(true));
    setNowMs(5_799);
    const before = notices.areCurrent();
    setNowMs(5_800);
    const after = notices.areCurrent();
    // In one turn of the event loop, so that no answer came in between.
    expect([before, after]).toEqual([true, false]);
    await eventually(() => expect(notices.areCurrent()).toBe(true));
    await notices.stop();
  });

  test('is not current for a channel that was just added, until it listens there', async () => {
    const { notices } = await listening();
    await eventually(() => expect(notices.areCurrent()).toBe(true));
    notices.channelAdded();
    expect(notices.areCurrent()).toBe(false);
    await eventually(() => expect(notices.areCurrent()).toBe(true));
    await notices.stop();
  });
});
