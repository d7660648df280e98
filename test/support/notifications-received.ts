/** Waits until notifications that were sent before have arrived: on PostgreSQL they return to their sender later. */
import { randomUUID } from 'node:crypto';
import type { Database } from '../../src/platform/db/database.ts';

const channel = 'test_notifications_received';

export function createNotificationsReceived(db: Database): () => Promise<void> {
  const marks = new Map<string, () => void>();
  const send = (mark: string) => db.transaction((tx) => tx.notify(channel, mark));
  db.listen(channel, (received) => {
    if (received !== null) {
      marks.get(received)?.();
    } else {
      // The connection was lost or is new, so marks may have been missed.
      void Promise.allSettled([...marks.keys()].map(send));
    }
  });
  return async () => {
    const mark = randomUUID();
    const received = new Promise<void>((resolve) => marks.set(mark, resolve));
    await send(mark);
    await received;
    marks.delete(mark);
  };
}
