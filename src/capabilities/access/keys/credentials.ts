/**
 * From a token to its credential, remembered in memory.
 *
 * A change of a key or org is announced in its transaction; every process forgets what it remembered. While
 * announcements may be missing (the database's connection for them is down), nothing that was remembered is
 * believed and every request asks the database, so a revocation is obeyed within a second or nothing is admitted.
 */
import { type Database, DatabaseUnavailable } from '../../../platform/db/database.ts';
import { addressList } from '../../../platform/http/message/address.ts';
import { type Credential, type CredentialOrg, residencyIn } from '../../../platform/http/routes/access.ts';
import { isWellFormedKey, keyDigest } from '../../../platform/http/routes/key-format.ts';
import { onOrgChange } from '../orgs/index.ts';
import { onKeyChange } from './change-notifications.ts';
import { type CredentialOrgRow, type CredentialRow, findKeyByDigest } from './queries.ts';

const rememberedMax = 50_000;
const recentMax = 1_000;

export interface Credentials {
  /** What is remembered of a token and still true. */
  peek(token: string): Credential | undefined;
  find(token: string): Promise<Credential | undefined>;
}

export interface CredentialOptions {
  /** While the database is away, what was last known of a token is believed. */
  readonly believeLastKnown?: boolean;
  /** Where this process runs; undefined: residency is off. */
  readonly region?: string | undefined;
  /** Told of every key that is presented and known. */
  readonly used?: (keyId: string) => void;
}

export function createCredentials(
  db: Database,
  { believeLastKnown = false, region, used }: CredentialOptions = {},
): Credentials {
  const lastKnown = new Map<string, Credential>();
  const remembered = new Map<string, Credential>();
  /** The few tokens that ask all the time need not be digested each time. Good until anything is announced. */
  const recent = new Map<string, { readonly credential: Credential; readonly announcements: number }>();
  /** Counts announcements: a row that was read before one must not be remembered after it. */
  let announcements = 0;
  /** Losing the database loses announcements too: what was last known has to outlast that, but not its return. */
  let announcementsMissed = false;

  onKeyChange(db, (digest) => {
    announcements += 1;
    if (digest === null) {
      remembered.clear();
      announcementsMissed = true;
    } else {
      remembered.delete(digest);
      lastKnown.delete(digest);
    }
  });
  onOrgChange(db, (orgId) => {
    announcements += 1;
    if (orgId === null) {
      remembered.clear();
      announcementsMissed = true;
      return;
    }
    for (const known of [remembered, lastKnown]) {
      for (const [digest, { org }] of known) {
        if (org?.id === orgId) {
          known.delete(digest);
        }
      }
    }
  });

  const peekDigest = (digest: string) => (db.notificationsHealthy() ? remembered.get(digest) : undefined);

  return {
    peek(token) {
      const last = recent.get(token);
      if (last !== undefined && last.announcements === announcements && db.notificationsHealthy()) {
        used?.(last.credential.keyId);
        return last.credential;
      }
      const credential = peekDigest(keyDigest(token));
      if (credential !== undefined) {
        used?.(credential.keyId);
        if (recent.size >= recentMax) {
          recent.clear();
        }
        recent.set(token, { credential, announcements });
      }
      return credential;
    },
    async find(token) {
      const digest = keyDigest(token);
      const known = peekDigest(digest);
      if (known !== undefined) {
        used?.(known.keyId);
        return known;
      }
      if (!isWellFormedKey(token)) {
        return undefined;
      }
      const announcementsBefore = announcements;
      let row: CredentialRow | undefined;
      try {
        row = await findKeyByDigest(db, digest);
      } catch (error) {
        const known = lastKnown.get(digest);
        if (known !== undefined && error instanceof DatabaseUnavailable) {
          return known;
        }
        throw error;
      }
      const isCurrent = db.notificationsHealthy();
      if (announcementsMissed && isCurrent) {
        lastKnown.clear();
        announcementsMissed = false;
      }
      if (row === undefined) {
        lastKnown.delete(digest);
        return undefined;
      }
      const credential = toCredential(row, region);
      used?.(credential.keyId);
      if (announcements === announcementsBefore) {
        if (believeLastKnown) {
          remember(lastKnown, digest, credential);
        }
        if (isCurrent) {
          remember(remembered, digest, credential);
        }
      }
      return credential;
    },
  };
}

function remember(known: Map<string, Credential>, digest: string, credential: Credential): void {
  if (known.size >= rememberedMax) {
    known.clear();
  }
  known.set(digest, credential);
}

function toCredential(row: CredentialRow, region: string | undefined): Credential {
  return {
    keyId: row.id,
    role: row.role,
    scopes: new Set(row.scopes),
    notBefore: row.not_before,
    expiresAt: row.expires_at,
    revoked: row.revoked_at !== null,
    endsAt: row.ends_at,
    org: row.org_id === null ? null : credentialOrg(row.org_id, row, region),
  };
}

/** What is looked at of an org at each request, whoever asks. */
export function credentialOrg(id: string, row: CredentialOrgRow, region: string | undefined): CredentialOrg {
  const allowed = row.ip_allow_list ?? [];
  return {
    id,
    name: row.org_name ?? id,
    timezone: row.org_timezone ?? 'UTC',
    suspended: row.org_status === 'suspended',
    allowList: allowed.length === 0 ? null : addressList(allowed),
    residency: residencyIn(region, row.home_region, row.residency_mode ?? 'forward'),
  };
}
