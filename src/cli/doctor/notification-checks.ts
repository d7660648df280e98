/** Checks of change notifications between processes, and of a pooler that would lose them. */
import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { Database } from '../../platform/db/database.ts';
import { detectPooler } from '../../platform/db/postgres/detect-pooler.ts';
import { type Check, type Finding, fail, ok, skip } from './check.ts';
import { withDatabase } from './database-checks.ts';
import type { InspectedDeployment } from './deployment.ts';

export const notificationChecks: readonly Check[] = [
  { id: 'notifications', run: withDatabase(checkNotifications) },
  { id: 'pooler', run: withDatabase(checkPooler) },
];

const notificationsSent = 5;
const arriveWithinMs = 5_000;
const repeatEveryMs = 250;
const pollEveryMs = 10;
const remedy = 'Set SVC_DATABASE_LISTEN_URL to a direct connection, or use a pooler in session mode.';

async function checkNotifications(db: Database): Promise<Finding> {
  return (await notificationsArrive(db))
    ? ok('Notifications sent through the database arrive.')
    : fail(
        `A notification did not arrive within ${arriveWithinMs / 1_000} s: revoked keys and changed limits are not noticed in time.`,
        remedy,
      );
}

/** Sends several notifications, because a pooler in transaction mode lets some arrive by chance. */
async function notificationsArrive(db: Database): Promise<boolean> {
  const channel = `purser_doctor_${process.pid}`;
  const arrived = new Set<string | null>();
  db.listen(channel, (payload) => arrived.add(payload));
  for (let left = notificationsSent; left > 0; left -= 1) {
    if (!(await arrives(db, channel, arrived))) {
      return false;
    }
  }
  return true;
}

/**
 * Sends a notification as a plain statement. So it goes through the database, not only through this process, and is not prepared,
 * which some poolers do not support.
 */
async function arrives(db: Database, channel: string, arrived: ReadonlySet<string | null>): Promise<boolean> {
  const token = randomUUID();
  const endMs = performance.now() + arriveWithinMs;
  // Sent repeatedly, because the connection needs a moment to listen to a new channel.
  for (let waitedMs = repeatEveryMs; performance.now() < endMs; waitedMs += pollEveryMs) {
    if (waitedMs >= repeatEveryMs) {
      await db.query(`NOTIFY ${channel}, '${token}'`);
      waitedMs = 0;
    }
    await pause(pollEveryMs);
    if (arrived.has(token)) {
      return true;
    }
  }
  return false;
}

async function checkPooler(db: Database, { config: { databaseUrl } }: InspectedDeployment): Promise<Finding> {
  if (databaseUrl === undefined) {
    return skip('The embedded engine has no pooler.');
  }
  const pooler = await detectPooler(databaseUrl);
  switch (pooler) {
    case 'none':
      return ok('A direct connection.');
    case 'session':
      return ok('A pooler in session mode.');
    case 'transaction':
      return (await notificationsArrive(db))
        ? ok('A pooler in transaction mode; notifications arrive by another connection.')
        : fail('A pooler in transaction mode, which loses notifications.', remedy);
  }
}
