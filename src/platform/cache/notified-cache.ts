/**
 * What was read of the database, remembered until a notice says that it changed. The least recently used is forgotten
 * first. Callers who ask for the same thing at once share one read, but never one that began before a notice.
 */
import type { Database } from '../db/database.ts';

export interface NotifiedCache<Value> {
  /** The value itself where it is remembered. Asked only while notices are current. */
  get(key: string): Value | Promise<Value>;
  /** Null: all of them. */
  invalidate(key: string | null): void;
}

export function createNotifiedCache<Value>(
  db: Pick<Database, 'notificationsHealthy'>,
  rememberedMax: number,
  load: (key: string) => Promise<Value>,
): NotifiedCache<Value> {
  const remembered = new Map<string, Value>();
  /** Reads under way that no notice has overtaken. */
  const loading = new Map<string, Promise<Value>>();

  function remember(key: string, value: Value): void {
    remembered.set(key, value);
    if (remembered.size > rememberedMax) {
      const [oldest] = remembered.keys();
      remembered.delete(oldest ?? key);
    }
  }

  function start(key: string): Promise<Value> {
    const read: Promise<Value> = load(key).then(
      (value) => {
        if (loading.get(key) === read) {
          loading.delete(key);
          if (db.notificationsHealthy()) {
            remember(key, value);
          }
        }
        return value;
      },
      (error) => {
        if (loading.get(key) === read) {
          loading.delete(key);
        }
        throw error;
      },
    );
    loading.set(key, read);
    return read;
  }

  return {
    get(key) {
      const known = remembered.get(key);
      if (known === undefined) {
        return loading.get(key) ?? start(key);
      }
      if (remembered.size > 1) {
        // To the end of the line: a map keeps the order in which its entries were set.
        remembered.delete(key);
        remembered.set(key, known);
      }
      return known;
    },
    invalidate(key) {
      if (key === null) {
        remembered.clear();
        loading.clear();
      } else {
        remembered.delete(key);
        loading.delete(key);
      }
    },
  };
}
