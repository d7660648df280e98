/** Waits until notifications that were sent before have arrived: on PostgreSQL they return to their sender later. */
import { randomUUID } from 'node:crypto';
import type { Database } from '../../src/platform/db/database.ts';

const channel = 'test_notifications_received';

export function createNotificationsReceived(db: Database): () => Promise<void> {
  const marks = new Map<string, () => void>();
  db.listen(channel, (mark) => marks.get(mark ?? '')?.());
  return async () => {
    const mark = randomUUID();
    const received = new Promise<void>((resolve) => marks.set(mark, resolve));
    await db.transaction((tx) => tx.notify(channel, mark));
    await received;
    marks.delete(mark);
  };
}
