/**
 * The last known credential of each key, for an edge that fails open while the database is unavailable.
 *
 * Not a `NotifiedCache`: losing the database loses change notifications too, and the entries must outlast that loss. They
 * are dropped at the first load after notifications are healthy again, since changes may have been missed meanwhile.
 */
import type { Database } from '../../../platform/db/database.ts';
import type { Credential } from '../../../platform/http/routes/access.ts';
import { onOrgChange } from '../orgs/index.ts';
import { onKeyChange } from './change-notifications.ts';

const credentialsMax = 50_000;

export class LastKnownCredentials {
  readonly #db: Database;
  readonly #byDigest = new Map<string, Credential>();
  /** Counts change notifications: a credential whose load began before a notification is not stored. */
  #changes = 0;
  #changesMissed = false;

  constructor(db: Database) {
    this.#db = db;
    onKeyChange(db, (digest) => {
      this.#changes += 1;
      if (digest === null) {
        this.#changesMissed = true;
      } else {
        this.#byDigest.delete(digest);
      }
    });
    onOrgChange(db, (orgId) => {
      this.#changes += 1;
      if (orgId === null) {
        this.#changesMissed = true;
        return;
      }
      for (const [digest, { org }] of this.#byDigest) {
        if (org?.id === orgId) {
          this.#byDigest.delete(digest);
        }
      }
    });
  }

  get(digest: string): Credential | undefined {
    return this.#byDigest.get(digest);
  }

  /** Loads a credential from the database and stores it. */
  async track(
    digest: string,
    load: (digest: string) => Promise<Credential | undefined>,
  ): Promise<Credential | undefined> {
    const changesBefore = this.#changes;
    const credential = await load(digest);
    if (this.#changesMissed && this.#db.notificationsHealthy()) {
      this.#byDigest.clear();
      this.#changesMissed = false;
    }
    if (credential === undefined) {
      this.#byDigest.delete(digest);
    } else if (this.#changes === changesBefore) {
      if (this.#byDigest.size >= credentialsMax) {
        this.#byDigest.clear();
      }
      this.#byDigest.set(digest, credential);
    }
    return credential;
  }
}
