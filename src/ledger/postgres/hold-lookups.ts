/**
 * Reads of single holds. Those that are wanted in the same turn of the event loop share a query, because the gateway increases the
 * holds of many calls at once.
 */
import type { Queryable } from '../../platform/db/database.ts';
import type { Hold } from '../holds/hold.ts';
import { selectHolds } from './postgres-holds.ts';

interface Lookup {
  readonly orgId: string;
  readonly id: string;
  readonly found: {
    resolve(hold: Hold | undefined): void;
    reject(error: unknown): void;
  };
}

export function createHoldLookups(db: Queryable): (orgId: string, id: string) => Promise<Hold | undefined> {
  let waiting: Lookup[] = [];

  async function read(): Promise<void> {
    const lookups = waiting;
    waiting = [];
    try {
      const holds = new Map(
        (await selectHolds(db, lookups)).map((hold) => [`${hold.orgId} ${hold.id}`, hold]),
      );
      for (const { orgId, id, found } of lookups) {
        found.resolve(holds.get(`${orgId} ${id}`));
      }
    } catch (error) {
      for (const { found } of lookups) {
        found.reject(error);
      }
    }
  }

  return (orgId, id) =>
    new Promise((resolve, reject) => {
      waiting.push({ orgId, id, found: { resolve, reject } });
      if (waiting.length === 1) {
        setImmediate(() => void read());
      }
    });
}
