/**
 * Open holds of the embedded engine, durable in LMDB before anyone is told of them. The holds of one turn of the event
 * loop are one record, because a put costs more than its bytes; a record goes when the last hold in it has ended. Holds
 * whose end is in the database may still be here after a crash: whoever restores them drops those.
 */
import { mkdirSync } from 'node:fs';
import { open, type RootDatabase } from 'lmdb';
import { type Hold, restoredHold, storedHold } from './hold.ts';

export interface HoldLog {
  /** Resolves once they survive the end of the process. A hold that is there already is replaced. */
  append(holds: readonly Hold[]): Promise<void>;
  /** They have ended, and the database knows. */
  forget(holdIds: readonly string[]): void;
  restore(): Hold[];
  readGeneration(): Generation | undefined;
  writeGeneration(generation: Generation): Promise<void>;
  close(): Promise<void>;
}

/** Which database the holds belong to. While a new generation begins, the one before is named too. */
export interface Generation {
  readonly now: string;
  readonly before?: string;
}

const generationKey = 'generation';

export function openHoldLog(directory: string): HoldLog {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const store: RootDatabase<string, number | string> = open({
    path: directory,
    encoding: 'string',
    compression: false,
  });
  const recordOf = new Map<string, number>();
  const openIn = new Map<number, number>();
  let lastRecord = 0;

  function place(holdId: string, record: number): void {
    const before = recordOf.get(holdId);
    recordOf.set(holdId, record);
    openIn.set(record, (openIn.get(record) ?? 0) + 1);
    if (before !== undefined) {
      leave(before);
    }
  }

  function leave(record: number): void {
    const left = (openIn.get(record) ?? 0) - 1;
    if (left > 0) {
      openIn.set(record, left);
    } else {
      openIn.delete(record);
      // If this fails the record is there at the next start, and its holds have ends.
      store.remove(record).catch(() => undefined);
    }
  }

  return {
    async append(holds) {
      lastRecord += 1;
      const record = lastRecord;
      await store.put(record, JSON.stringify(holds.map(storedHold)));
      for (const { id } of holds) {
        place(id, record);
      }
    },
    forget(holdIds) {
      for (const id of holdIds) {
        const record = recordOf.get(id);
        if (record !== undefined) {
          recordOf.delete(id);
          leave(record);
        }
      }
    },
    restore() {
      const holds = new Map<string, Hold>();
      for (const { key, value } of store.getRange()) {
        if (typeof key === 'number') {
          lastRecord = Math.max(lastRecord, key);
          for (const stored of JSON.parse(value) as unknown[]) {
            const hold = restoredHold(stored);
            // A later record of the same hold replaces it.
            holds.set(hold.id, hold);
            place(hold.id, key);
          }
        }
      }
      return [...holds.values()];
    },
    readGeneration() {
      const text = store.get(generationKey);
      return text === undefined ? undefined : (JSON.parse(text) as Generation);
    },
    async writeGeneration(generation) {
      await store.put(generationKey, JSON.stringify(generation));
    },
    async close() {
      await store.flushed;
      await store.close();
    },
  };
}
