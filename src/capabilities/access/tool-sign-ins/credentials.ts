/**
 * Finds the credential of an access token, from a cache. A change of the member, of the sign-in or of the org sends a notification
 * in its transaction, and every process invalidates its cache. While notifications may be missed, the cache is bypassed. So a
 * revocation takes effect within a second, or nothing is admitted.
 */
import type { KeyScope } from '../../../contract/scopes.ts';
import { NotifiedCache } from '../../../platform/cache/notified-cache.ts';
import type { Database } from '../../../platform/db/database.ts';
import type { Credential } from '../../../platform/http/routes/access.ts';
import { isWellFormedKey } from '../../../platform/http/routes/key-format.ts';
import { credentialOrg, memberAttribution, type TokenLookups } from '../keys/index.ts';
import { orgChanged } from '../orgs/index.ts';
import { type AccessTokenRow, findAccessToken, memberAccessChanged } from './queries.ts';
import { isAccessToken, toolTokenDigest } from './tokens.ts';

const cachedCredentialsMax = 50_000;
const toolScopes: ReadonlySet<KeyScope> = new Set(['gateway:call']);

export interface ToolCredentials {
  /** Returns the cached credential, or undefined if it must be loaded. */
  peek(token: string): Credential | undefined;
  /** Finds a credential, with a query if necessary. `address` is that of the client. */
  find(token: string, address: string): Promise<Credential | undefined>;
}

export interface ToolCredentialOptions {
  /** Region of this process; undefined if residency is off. */
  readonly region: string | undefined;
  readonly lookups: TokenLookups;
}

export function createToolCredentials(
  db: Database,
  { region, lookups }: ToolCredentialOptions,
): ToolCredentials {
  /** Credentials by the digest of the token. */
  const cache = new NotifiedCache<Credential | undefined>(db, {
    maxEntries: cachedCredentialsMax,
    // Members are matched below: one change may affect several tokens.
    onChange: () => undefined,
    async load(digest) {
      const row = await findAccessToken(db, digest);
      return row && toCredential(row, region);
    },
  });
  memberAccessChanged.on(db, (memberId) => {
    if (memberId === null) {
      cache.invalidate(null);
    } else {
      cache.invalidateWhere(({ keyId }) => keyId === memberId);
    }
  });
  orgChanged.on(db, (orgId) => {
    if (orgId === null) {
      cache.invalidate(null);
    } else {
      cache.invalidateWhere(({ org }) => org?.id === orgId);
    }
  });

  return {
    peek: (token) => (isAccessToken(token) ? cache.peek(toolTokenDigest(token)) : undefined),
    async find(token, address) {
      return isAccessToken(token) && isWellFormedKey(token)
        ? lookups.run(address, async () => cache.get(toolTokenDigest(token)))
        : undefined;
    },
  };
}

/** The role is that of the member. The scopes are fewer than those of a console session of the same member. */
function toCredential(row: AccessTokenRow, region: string | undefined): Credential {
  const { member_id, org_id, token_expires_at, expires_at } = row;
  return {
    keyId: member_id,
    role: row.member_role ?? 'viewer',
    scopes: toolScopes,
    notBefore: null,
    expiresAt: token_expires_at < expires_at ? token_expires_at : expires_at,
    revoked:
      row.ended_at !== null ||
      row.member_role === null ||
      row.member_removed_at !== null ||
      row.org_name === null,
    endsAt: null,
    org: credentialOrg(org_id, row, region),
    attribution: memberAttribution(member_id),
    session: { id: row.id, actor: 'member', name: row.member_name ?? '' },
  };
}
