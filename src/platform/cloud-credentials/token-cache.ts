/**
 * Credentials in use. A call that finds one near its expiry starts its renewal and does not wait for it; a renewal that fails leaves the old
 * credential in use until it expires. Callers at the same time share one request. Nothing is renewed that no call needs.
 */
import type { Credential } from './credential.ts';
import { CredentialUnavailable, type IssuedCredential } from './credential-source.ts';

export interface TokenCache {
  /**
   * Returns the credential, without a promise if it is cached. Throws or rejects with `CredentialUnavailable`. A version stands for
   * everything that `acquire` depends on; a new one replaces what is cached under the id.
   */
  find(id: string, version: string, acquire: Acquire): Credential | Promise<Credential>;
  /** Lets the next call start a renewal, because the credential was rejected. It may have been revoked. */
  renewEarly(id: string): void;
  state(id: string, version: string): TokenState | undefined;
  /** Returns the number of credentials whose last renewal has failed, and the number of all. */
  counts(): { readonly failing: number; readonly cached: number };
  /** Returns how often an acquisition or a renewal has succeeded and failed. */
  totals(): { readonly succeeded: number; readonly failed: number };
}

export type Acquire = () => IssuedCredential | Promise<IssuedCredential>;

export interface TokenState {
  /** Null if there is no credential, or if it does not expire. */
  readonly expiresAtMs: number | null;
  readonly renewedAtMs: number | null;
  /** The last failure; later than `renewedAtMs` if the credential could not be renewed since. */
  readonly lastFailure: TokenFailure | null;
  readonly isFailing: boolean;
}

export interface TokenFailure {
  readonly atMs: number;
  readonly reason: string;
}

/** Credentials of deleted connections stay until this bound evicts the oldest. */
const entriesMax = 10_000;
/** Metadata services replace their credentials 5 minutes before they expire. */
const renewBeforeMs = 300_000;
/** Pause after a renewal that has failed, or that has returned a credential which expires soon. */
const pauseMs = 15_000;
/** Pause after a failure without a credential in use, so that not every call waits for a service that does not answer. */
const failedPauseMs = 1_000;

interface Entry {
  readonly version: string;
  issued: IssuedCredential | undefined;
  renewedAtMs: number | null;
  renewAtMs: number;
  lastFailure: TokenFailure | null;
  isFailing: boolean;
  pending: Promise<Credential> | undefined;
}

export function createTokenCache({ nowMs }: { nowMs(): number }): TokenCache {
  const entries = new Map<string, Entry>();
  let succeeded = 0;
  let failed = 0;

  function entryOf(id: string, version: string): Entry {
    let entry = entries.get(id);
    if (entry?.version !== version) {
      if (entry === undefined && entries.size >= entriesMax) {
        const [oldest = ''] = entries.keys();
        entries.delete(oldest);
      }
      entry = {
        version,
        issued: undefined,
        renewedAtMs: null,
        renewAtMs: 0,
        lastFailure: null,
        isFailing: false,
        pending: undefined,
      };
      entries.set(id, entry);
    }
    return entry;
  }

  function store(entry: Entry, issued: IssuedCredential): Credential {
    const now = nowMs();
    const { credential, expiresAtMs } = issued;
    entry.issued = issued;
    entry.renewedAtMs = now;
    entry.isFailing = false;
    entry.renewAtMs =
      expiresAtMs === undefined
        ? Number.POSITIVE_INFINITY
        : Math.max(now + pauseMs, expiresAtMs - Math.min(renewBeforeMs, (expiresAtMs - now) / 2));
    succeeded += 1;
    return credential;
  }

  function fail(entry: Entry, error: unknown): never {
    const atMs = nowMs();
    const reason =
      error instanceof CredentialUnavailable ? error.message : 'the credential could not be read';
    entry.lastFailure = { atMs, reason };
    entry.isFailing = true;
    entry.renewAtMs = atMs + pauseMs;
    failed += 1;
    throw error instanceof CredentialUnavailable ? error : new CredentialUnavailable(reason);
  }

  function renew(entry: Entry, acquire: Acquire): Credential | Promise<Credential> {
    let acquired: ReturnType<Acquire>;
    try {
      acquired = acquire();
    } catch (error) {
      return fail(entry, error);
    }
    if (!(acquired instanceof Promise)) {
      return store(entry, acquired);
    }
    entry.pending = acquired
      .then((issued) => store(entry, issued))
      .catch((error: unknown) => fail(entry, error))
      .finally(() => {
        entry.pending = undefined;
      });
    return entry.pending;
  }

  return {
    find(id, version, acquire) {
      const entry = entryOf(id, version);
      const { issued, pending, lastFailure } = entry;
      const now = nowMs();
      if (issued !== undefined && (issued.expiresAtMs === undefined || now < issued.expiresAtMs)) {
        if (now >= entry.renewAtMs && pending === undefined) {
          // The failure is recorded, and the credential is still valid.
          (async () => renew(entry, acquire))().catch(() => undefined);
        }
        return issued.credential;
      }
      if (pending !== undefined) {
        return pending;
      }
      if (entry.isFailing && lastFailure !== null && now < lastFailure.atMs + failedPauseMs) {
        throw new CredentialUnavailable(lastFailure.reason);
      }
      return renew(entry, acquire);
    },
    renewEarly(id) {
      const entry = entries.get(id);
      const now = nowMs();
      if (entry?.issued?.expiresAtMs !== undefined && now >= (entry.renewedAtMs ?? 0) + pauseMs) {
        entry.renewAtMs = Math.min(entry.renewAtMs, now);
      }
    },
    state(id, version) {
      const entry = entries.get(id);
      return entry?.version !== version
        ? undefined
        : {
            expiresAtMs: entry.issued?.expiresAtMs ?? null,
            renewedAtMs: entry.renewedAtMs,
            lastFailure: entry.lastFailure,
            isFailing: entry.isFailing,
          };
    },
    counts() {
      const failing = [...entries.values()].filter(({ isFailing }) => isFailing).length;
      return { failing, cached: entries.size };
    },
    totals: () => ({ succeeded, failed }),
  };
}
