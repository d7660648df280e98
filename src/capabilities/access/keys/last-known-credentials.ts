/**
 * The last known credential of each key, for an edge that fails open while the database is unavailable. It is not a
 * `NotifiedCache`: an outage of the database also interrupts change notifications, and the entries must outlast it. After the
 * outage, entries that may have changed are not accepted until they were loaded again. A job loads them immediately, so that these
 * keys are known in the next outage, whether or not they were used in between.
 */
import type { Database } from '../../../platform/db/database.ts';
import type { Credential } from '../../../platform/http/routes/access.ts';
import type { Job } from '../../../platform/jobs/jobs.ts';
import { orgChanged } from '../orgs/index.ts';
import { keyChanged } from './queries.ts';

const credentialsMax = 50_000;
const reloadsPerBatch = 1_000;

/** A load in flight, with the keys that changed since it began. Their credentials are not stored. */
interface Load {
  readonly changed: Set<string>;
  allChanged: boolean;
}

export interface LastKnownDependencies {
  readonly db: Database;
  load(digest: string): Promise<Credential | undefined>;
  /** Loads many credentials at once, by digest. */
  loadMany(digests: readonly string[]): Promise<ReadonlyMap<string, Credential>>;
}

export class LastKnownCredentials {
  readonly #deps: LastKnownDependencies;
  readonly #byDigest = new Map<string, Credential>();
  /** Digests of keys whose stored credential may have changed. */
  readonly #toReload = new Set<string>();
  readonly #loads = new Set<Load>();
  #changesMissed = false;

  constructor(deps: LastKnownDependencies) {
    this.#deps = deps;
    keyChanged.on(deps.db, (digest) => {
      if (digest === null) {
        this.#missChanges();
      } else {
        this.#reloadLater([digest]);
      }
    });
    orgChanged.on(deps.db, (orgId) => {
      if (orgId === null) {
        this.#missChanges();
        return;
      }
      const ofOrg = [...this.#byDigest].filter(([, { org }]) => org?.id === orgId);
      this.#reloadLater(ofOrg.map(([digest]) => digest));
      // Affects all loads in flight, because the org of a credential is unknown until it is loaded.
      this.#markAllLoads();
    });
  }

  get(digest: string): Credential | undefined {
    return this.#byDigest.get(digest);
  }

  /** Loads a credential from the database. Stores it unless it may have changed in the meantime. */
  async load(digest: string): Promise<Credential | undefined> {
    const loaded = await this.#track([digest], async () => {
      const credential = await this.#deps.load(digest);
      return new Map(credential === undefined ? [] : [[digest, credential]]);
    });
    return loaded.get(digest);
  }

  readonly job: Job = {
    id: 'reload-last-known-credentials',
    everyMs: 1_000,
    runOnce: async () => {
      this.#notice();
      if (this.#toReload.size === 0 || !this.#deps.db.notificationsHealthy()) {
        return false;
      }
      const digests = [...this.#toReload].slice(0, reloadsPerBatch);
      await this.#track(digests, () => this.#deps.loadMany(digests));
      return this.#toReload.size > 0;
    },
  };

  async #track(
    digests: readonly string[],
    load: () => Promise<ReadonlyMap<string, Credential>>,
  ): Promise<ReadonlyMap<string, Credential>> {
    const inFlight: Load = { changed: new Set(), allChanged: false };
    this.#loads.add(inFlight);
    let loaded: ReadonlyMap<string, Credential>;
    try {
      loaded = await load();
    } finally {
      this.#loads.delete(inFlight);
    }
    this.#notice();
    for (const digest of digests) {
      const credential = loaded.get(digest);
      if (credential === undefined) {
        this.#byDigest.delete(digest);
        this.#toReload.delete(digest);
      } else if (!inFlight.allChanged && !inFlight.changed.has(digest)) {
        this.#store(digest, credential);
      }
    }
    return loaded;
  }

  /** Once notifications are healthy again, rejects earlier credentials until they are loaded again. */
  #notice(): void {
    if (this.#changesMissed && this.#deps.db.notificationsHealthy()) {
      this.#changesMissed = false;
      this.#reloadLater([...this.#byDigest.keys()]);
    }
  }

  #reloadLater(digests: readonly string[]): void {
    for (const digest of digests) {
      if (this.#byDigest.delete(digest)) {
        this.#toReload.add(digest);
      }
      for (const load of this.#loads) {
        load.changed.add(digest);
      }
    }
  }

  #store(digest: string, credential: Credential): void {
    this.#toReload.delete(digest);
    this.#byDigest.delete(digest);
    const [oldest] = this.#byDigest.keys();
    if (oldest !== undefined && this.#byDigest.size + this.#toReload.size >= credentialsMax) {
      this.#byDigest.delete(oldest);
    }
    this.#byDigest.set(digest, credential);
  }

  #missChanges(): void {
    this.#changesMissed = true;
    this.#markAllLoads();
  }

  #markAllLoads(): void {
    for (const load of this.#loads) {
      load.allChanged = true;
    }
  }
}
