/** Returns the time that all processes agree on: that of the database, or of the clock that a test has set. */
import type { SharedClock } from '../time/clock.ts';
import type { Queryable } from './database.ts';

export async function agreedNow(db: Queryable, clock: SharedClock): Promise<Date> {
  const [time] = await db.query<{ now: Date }>('SELECT now() AS now', []);
  return clock.agreed(time?.now ?? clock.now());
}
