/** Caches are used only while notifications are healthy: that a revocation takes effect within a second depends on it. */
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../../../../test/support/eventually.ts';
import { engine, makePlace, type Place } from '../../../../test/support/test-database.ts';
import { createLog } from '../../log.ts';
import { LocalNotifications } from '../transaction.ts';
import { ChangeListener } from './change-listener.ts';

describe.runIf(engine === 'postgres')('the notification connection', () => {
  let place: Place;
  beforeAll(async () => {
    place = await makePlace({ migrated: false });
  });
  afterAll(() => place?.remove());

  async function listening(): Promise<{ changeListener: ChangeListener; setNowMs: (nowMs: number) => void }> {
    let now = 5_000;
    const listeners = new LocalNotifications();
    listeners.add('test_channel', () => undefined);
    const open = async () => {
      const client = new pg.Client(place.databaseUrl);
      await client.connect();
      return client;
    };
    const connections = { openListener: open, openSender: open, explainMissing: () => 'missing' };
    const changeListener = new ChangeListener(connections, listeners, createLog('silent'), () => now);
    await changeListener.start();
    const setNowMs = (nowMs: number) => {
      now = nowMs;
    };
    return { changeListener, setNowMs };
  }

  test('the notification connection is healthy for less than 800 ms after an answered ping was sent', async () => {
    const { changeListener, setNowMs } = await listening();
    await eventually(() => expect(changeListener.isHealthy()).toBe(true));
    setNowMs(5_799);
    const before = changeListener.isHealthy();
    setNowMs(5_800);
    const after = changeListener.isHealthy();
    // In one turn of the event loop, so that no response arrives in between.
    expect([before, after]).toEqual([true, false]);
    await eventually(() => expect(changeListener.isHealthy()).toBe(true));
    await changeListener.stop();
  });

  test('the notification connection is not healthy after a channel was added, until it listens to that channel', async () => {
    const { changeListener } = await listening();
    await eventually(() => expect(changeListener.isHealthy()).toBe(true));
    changeListener.channelAdded();
    expect(changeListener.isHealthy()).toBe(false);
    await eventually(() => expect(changeListener.isHealthy()).toBe(true));
    await changeListener.stop();
  });
});
