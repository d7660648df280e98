/**
 * In-process caches of database rows, kept valid by change notifications.
 *
 * Every read checks that notifications are healthy: while one may have been missed, the cache is bypassed. The number of
 * entries is bounded; eviction is CLOCK (second chance), an approximation of LRU that costs a hit no more than one lookup.
 */
import type { Database } from '../db/database.ts';

/** Subscribes to changes of single keys; null means that any key may have changed. */
export type SubscribeToChanges = (db: Database, listener: (key: string | null) => void) => void;

export interface NotifiedMapOptions {
  readonly maxEntries: number;
  readonly onChange: SubscribeToChanges;
}

interface Entry<Value> {
  readonly value: Value;
  /** True if the entry was read since it was inserted or last considered for eviction. */
  used: boolean;
}

/**
 * Maximum number of used entries that an eviction skips. It then evicts the next entry even if that is used, which
 * bounds its time.
 */
const secondChancesMax = 64;

/** A cache whose owner loads the values and sets them. */
export class NotifiedMap<Value> {
  readonly #db: Database;
  readonly #maxEntries: number;
  /** Entries in the order in which they were inserted or last considered for eviction. */
  readonly #entries = new Map<string, Entry<Value>>();

  constructor(db: Database, { maxEntries, onChange }: NotifiedMapOptions) {
    this.#db = db;
    this.#maxEntries = maxEntries;
    onChange(db, (key) => this.invalidate(key));
  }

  /** Returns the cached value; undefined if there is none or notifications may have been missed. */
  peek(key: string): Value | undefined {
    if (!this.#db.notificationsHealthy()) {
      return undefined;
    }
    const entry = this.#entries.get(key);
    if (entry === undefined) {
      return undefined;
    }
    entry.used = true;
    return entry.value;
  }

  /** The caller must know that the value has not changed since it was read. Ignored while notifications may be missed. */
  set(key: string, value: Value): void {
    if (!this.#db.notificationsHealthy()) {
      return;
    }
    if (this.#entries.size >= this.#maxEntries && !this.#entries.has(key)) {
      this.#evictOne();
    }
    this.#entries.set(key, { value, used: false });
  }

  /** Removes the entry of a key; null removes all entries. */
  invalidate(key: string | null): void {
    if (key === null) {
      this.#entries.clear();
    } else {
      this.#entries.delete(key);
    }
  }

  /** Invalidates all entries that match; takes time proportional to the size of the cache. */
  invalidateWhere(matches: (value: Value, key: string) => boolean): void {
    for (const [key, { value }] of this.#entries) {
      if (matches(value, key)) {
        this.#entries.delete(key);
      }
    }
  }

  #evictOne(): void {
    let chancesLeft = secondChancesMax;
    for (const [key, entry] of this.#entries) {
      this.#entries.delete(key);
      if (!entry.used || chancesLeft === 0) {
        return;
      }
      chancesLeft -= 1;
      entry.used = false;
      this.#entries.set(key, entry);
    }
  }
}

export interface NotifiedCacheOptions<Value> extends NotifiedMapOptions {
  /** Undefined and null are returned, but not cached. */
  readonly load: (key: string) => Promise<Value>;
  /**
   * If true, callers share loads in flight even while notifications may be missed. Only for values that are verified
   * elsewhere: a shared load may then return a value that changed before the caller called.
   */
  readonly shareLoadsWhenUnhealthy?: boolean;
}

/**
 * A cache that loads missing values. Callers share a load in flight, unless the key was invalidated since the load
 * began.
 */
export class NotifiedCache<Value> extends NotifiedMap<NonNullable<Value>> {
  readonly #db: Database;
  readonly #load: (key: string) => Promise<Value>;
  readonly #shareLoadsWhenUnhealthy: boolean;
  /** Loads in flight whose key was not invalidated since they began. */
  readonly #loading = new Map<string, Promise<Value>>();

  constructor(
    db: Database,
    { load, shareLoadsWhenUnhealthy = false, ...options }: NotifiedCacheOptions<Value>,
  ) {
    super(db, options);
    this.#db = db;
    this.#load = load;
    this.#shareLoadsWhenUnhealthy = shareLoadsWhenUnhealthy;
  }

  /** Returns the cached value itself; a promise if the value must be loaded. */
  get(key: string): Value | Promise<Value> {
    const cached = this.peek(key);
    if (cached !== undefined) {
      return cached;
    }
    if (!this.#shareLoadsWhenUnhealthy && !this.#db.notificationsHealthy()) {
      return this.#load(key);
    }
    return this.#loading.get(key) ?? this.#startLoad(key);
  }

  override invalidate(key: string | null): void {
    super.invalidate(key);
    if (key === null) {
      this.#loading.clear();
    } else {
      this.#loading.delete(key);
    }
  }

  /** Also stops sharing and caching all loads in flight: their values are not known yet, so any of them may match. */
  override invalidateWhere(matches: (value: NonNullable<Value>, key: string) => boolean): void {
    super.invalidateWhere(matches);
    this.#loading.clear();
  }

  #startLoad(key: string): Promise<Value> {
    const load: Promise<Value> = this.#load(key).then(
      (value) => {
        if (this.#endLoad(key, load) && value !== undefined && value !== null) {
          this.set(key, value);
        }
        return value;
      },
      (error) => {
        this.#endLoad(key, load);
        throw error;
      },
    );
    this.#loading.set(key, load);
    return load;
  }

  /** Returns false if the key was invalidated since the load began. */
  #endLoad(key: string, load: Promise<Value>): boolean {
    return this.#loading.get(key) === load && this.#loading.delete(key);
  }
}
