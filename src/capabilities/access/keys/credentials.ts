/**
 * Finds the credential of a token, from a cache. A change of a key or an org sends a notification in its transaction, and every
 * process invalidates its cache. While notifications may be missed (their database connection is down), the cache is bypassed and
 * every request queries the database. So a revocation takes effect within a second, or nothing is admitted, unless
 * `acceptLastKnown` is set.
 */
import { NotifiedCache, NotifiedMap } from '../../../platform/cache/notified-cache.ts';
import { SharedValues } from '../../../platform/cache/shared-values.ts';
import type { Database } from '../../../platform/db/database.ts';
import {
  type Credential,
  type CredentialOrg,
  platformTenant,
  residencyIn,
} from '../../../platform/http/routes/access.ts';
import { isWellFormedKey, keyDigest } from '../../../platform/http/routes/key-format.ts';
import type { Job } from '../../../platform/jobs/jobs.ts';
import { ServiceUnavailable } from '../../../platform/service-unavailable.ts';
import { orgChanged } from '../orgs/index.ts';
import { allowListOf } from './allow-lists.ts';
import { attributionOf } from './attribution.ts';
import { LastKnownCredentials } from './last-known-credentials.ts';
import {
  type CredentialOrgRow,
  type CredentialRow,
  findKeyByDigest,
  findKeysByDigest,
  keyChanged,
} from './queries.ts';
import { createTokenLookups, type TokenLookups } from './token-lookups.ts';

const cachedCredentialsMax = 50_000;
const recentTokensMax = 1_000;

export interface Credentials {
  /** Returns the cached credential, or undefined if it must be loaded. */
  peek(token: string): Credential | undefined;
  /** Finds a credential, with a query if necessary. `address` is that of the client. */
  find(token: string, address: string): Promise<Credential | undefined>;
  readonly jobs: readonly Job[];
}

export interface CredentialOptions {
  /** True to accept the last known credential of a token while the database is unavailable. */
  readonly acceptLastKnown?: boolean;
  /** Region of this process; undefined if residency is off. */
  readonly region?: string | undefined;
  /** Called with each key that is used, except for last known credentials. */
  readonly used?: (keyId: string, tenantId: string) => void;
  /** Bounds that are shared with other lookups of tokens. Default: separate bounds. */
  readonly lookups?: TokenLookups;
}

export function createCredentials(
  db: Database,
  { acceptLastKnown = false, region, used, lookups = createTokenLookups() }: CredentialOptions = {},
): Credentials {
  const load = async (digest: string) => {
    const row = await findKeyByDigest(db, digest);
    return row && toCredential(row, region);
  };
  const loadMany = async (digests: readonly string[]) => {
    const rows = await findKeysByDigest(db, digests);
    return new Map(rows.map((row) => [row.digest, toCredential(row, region)]));
  };
  const lastKnown = acceptLastKnown ? new LastKnownCredentials({ db, load, loadMany }) : undefined;
  /** Credentials by the digest of the token. */
  const cache = new NotifiedCache(db, {
    maxEntries: cachedCredentialsMax,
    onChange: keyChanged.on,
    load: lastKnown === undefined ? load : (digest) => lastKnown.load(digest),
  });
  orgChanged.on(db, (orgId) => {
    if (orgId === null) {
      cache.invalidate(null);
    } else {
      cache.invalidateWhere(({ org }) => org?.id === orgId);
    }
  });
  /** Credentials by the token itself, so that frequently used tokens are not hashed each time. Cleared when any key or org changes. */
  const recent = new NotifiedMap<Credential>(db, {
    maxEntries: recentTokensMax,
    onChange(_, listener) {
      keyChanged.on(db, () => listener(null));
      orgChanged.on(db, () => listener(null));
    },
  });

  return {
    jobs: lastKnown === undefined ? [] : [lastKnown.job],
    peek(token) {
      let credential = recent.peek(token);
      if (credential === undefined) {
        credential = cache.peek(keyDigest(token));
        if (credential === undefined) {
          return undefined;
        }
        recent.set(token, credential);
      }
      used?.(credential.keyId, credential.org?.id ?? platformTenant);
      return credential;
    },
    async find(token, address) {
      if (!isWellFormedKey(token)) {
        return undefined;
      }
      const digest = keyDigest(token);
      let credential: Credential | undefined;
      try {
        credential = await lookups.run(address, async () => cache.get(digest));
      } catch (error) {
        const last = lastKnown?.get(digest);
        if (last !== undefined && error instanceof ServiceUnavailable) {
          return last;
        }
        throw error;
      }
      if (credential !== undefined) {
        used?.(credential.keyId, credential.org?.id ?? platformTenant);
      }
      return credential;
    },
  };
}

/** Shared sets of scopes: tens of thousands of keys may be in memory, and nearly all have one of a few sets. */
const scopeSets = new SharedValues<ReadonlySet<string>>(1_000);

function toCredential(row: CredentialRow, region: string | undefined): Credential {
  return {
    keyId: row.id,
    role: row.role,
    scopes: scopeSets.shared(row.scopes.join(' '), new Set(row.scopes)),
    notBefore: row.not_before,
    expiresAt: row.expires_at,
    revoked: row.revoked_at !== null,
    endsAt: row.ends_at,
    org: row.org_id === null ? null : credentialOrg(row.org_id, row, region),
    attribution: attributionOf(row.attribution, row.attribution_locked),
    hold: row.hold,
    reserveForRunning: row.reserve_for_running,
  };
}

/** Returns the fields of an org that every request needs, for any kind of credential. */
export function credentialOrg(id: string, row: CredentialOrgRow, region: string | undefined): CredentialOrg {
  return {
    id,
    name: row.org_name ?? id,
    timezone: row.org_timezone ?? 'UTC',
    suspended: row.org_status === 'suspended',
    allowList: allowListOf(row.ip_allow_list ?? []),
    residency: residencyIn(region, row.home_region, row.residency_mode ?? 'forward'),
  };
}
