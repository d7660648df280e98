/**
 * The last known credential of each key, for an edge that fails open while the database is unavailable.
 *
 * Not a `NotifiedCache`: losing the database loses change notifications too, and the entries must outlast that loss.
 * They are dropped at the first load after notifications are healthy again, since changes may have been missed
 * meanwhile.
 */
import type { Database } from '../../../platform/db/database.ts';
import type { Credential } from '../../../platform/http/routes/access.ts';
import { onOrgChange } from '../orgs/index.ts';
import { onKeyChange } from './change-notifications.ts';

const credentialsMax = 50_000;

/** A load in flight. Its result is not stored if the credential may have changed since the load began. */
interface Load {
  readonly digest: string;
  stale: boolean;
}

export class LastKnownCredentials {
  readonly #db: Database;
  readonly #byDigest = new Map<string, Credential>();
  readonly #loads = new Set<Load>();
  #changesMissed = false;

  constructor(db: Database) {
    this.#db = db;
    onKeyChange(db, (digest) => {
      if (digest === null) {
        this.#missChanges();
        return;
      }
      this.#byDigest.delete(digest);
      this.#markStale((load) => load.digest === digest);
    });
    onOrgChange(db, (orgId) => {
      if (orgId === null) {
        this.#missChanges();
        return;
      }
      for (const [digest, { org }] of this.#byDigest) {
        if (org?.id === orgId) {
          this.#byDigest.delete(digest);
        }
      }
      // The org of a credential is unknown while it is loading, so all loads in flight are marked.
      this.#markStale(() => true);
    });
  }

  get(digest: string): Credential | undefined {
    return this.#byDigest.get(digest);
  }

  /** Loads a credential from the database and stores it, unless it may have changed meanwhile. */
  async track(
    digest: string,
    load: (digest: string) => Promise<Credential | undefined>,
  ): Promise<Credential | undefined> {
    const inFlight: Load = { digest, stale: false };
    this.#loads.add(inFlight);
    let credential: Credential | undefined;
    try {
      credential = await load(digest);
    } finally {
      this.#loads.delete(inFlight);
    }
    if (this.#changesMissed && this.#db.notificationsHealthy()) {
      this.#byDigest.clear();
      this.#changesMissed = false;
    }
    if (credential === undefined) {
      this.#byDigest.delete(digest);
    } else if (!inFlight.stale) {
      this.#store(digest, credential);
    }
    return credential;
  }

  #store(digest: string, credential: Credential): void {
    if (this.#byDigest.size >= credentialsMax) {
      this.#byDigest.clear();
    }
    this.#byDigest.set(digest, credential);
  }

  #missChanges(): void {
    this.#changesMissed = true;
    this.#markStale(() => true);
  }

  #markStale(concerns: (load: Load) => boolean): void {
    for (const load of this.#loads) {
      if (concerns(load)) {
        load.stale = true;
      }
    }
  }
}
