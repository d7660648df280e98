/**
 * In-process caches of database rows, which change notifications keep valid. Every read checks that notifications are healthy: if
 * one may have been missed, the cache is bypassed. The number of entries is bounded. Eviction is CLOCK (second chance), an
 * approximation of LRU in which a hit costs a single lookup.
 */
import type { Database } from '../db/database.ts';

/** Subscribes to changes of single keys; null means that any key may have changed. */
export type SubscribeToChanges = (db: Database, listener: (key: string | null) => void) => void;

export interface NotifiedMapOptions {
  readonly maxEntries: number;
  readonly onChange: SubscribeToChanges;
}

interface CachedValue<Value> {
  readonly value: Value;
  /** True if the entry was read after it was inserted or last considered for eviction. */
  used: boolean;
}

/**
 * Maximum number of used entries that an eviction skips. It then evicts the next entry even if that one was used, which bounds the
 * time of an eviction.
 */
const secondChancesMax = 64;

/** A cache that does not load values itself: its owner sets them. */
export class NotifiedMap<Value> {
  readonly #db: Database;
  readonly #maxEntries: number;
  /** Entries in the order in which they were inserted or last considered for eviction. */
  readonly #entries = new Map<string, CachedValue<Value>>();

  constructor(db: Database, { maxEntries, onChange }: NotifiedMapOptions) {
    this.#db = db;
    this.#maxEntries = maxEntries;
    onChange(db, (key) => this.invalidate(key));
  }

  /** Returns the cached value. Returns undefined if there is none, or if notifications may have been missed. */
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

  /** Sets a value. The caller must know that the value has not changed since it was read. Ignored while notifications may be missed. */
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

  /** Invalidates all entries that match. Takes time proportional to the size of the cache. */
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
  /** Loads a value. Undefined and null are returned to the caller but not cached. */
  readonly load: (key: string) => Promise<Value>;
  /**
   * If true, callers share loads in flight even while notifications may be missed. A shared load may then return a value that
   * changed before the call, so this is only for values that are verified elsewhere.
   */
  readonly shareLoadsWhenUnhealthy?: boolean;
}

/** A cache that loads missing values. Callers share a load in flight, unless its key was invalidated after the load began. */
export class NotifiedCache<Value> extends NotifiedMap<NonNullable<Value>> {
  readonly #db: Database;
  readonly #load: (key: string) => Promise<Value>;
  readonly #shareLoadsWhenUnhealthy: boolean;
  /** Loads in flight whose key was not invalidated after they began. */
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

  /** Returns the cached value synchronously; returns a promise if the value must be loaded. */
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

  /** Invalidates matching entries. No load in flight is shared or cached any more, because any of their unknown values may match. */
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

  /** Returns false if the key was invalidated after the load began. */
  #endLoad(key: string, load: Promise<Value>): boolean {
    return this.#loading.get(key) === load && this.#loading.delete(key);
  }
}
