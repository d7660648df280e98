/**
 * Data about orgs with another home region: their id, mode and status, and the digests of their keys. It determines
 * where a request belongs, and rejects inactive keys and suspended orgs early. Only the home region admits a request.
 */
import type { Database } from '../../../platform/db/database.ts';
import type { Credential } from '../../../platform/http/routes/access.ts';
import { isWellFormedKey, keyDigest } from '../../../platform/http/routes/key-format.ts';
import {
  type DirectoryKey,
  databaseNow,
  findDirectoryKey,
  type HomeOrg,
  type ReceivedOrg,
  selectChangedOrgs,
  selectDirectoryKeys,
  selectHomeOrgs,
} from './directory-queries.ts';

/** Maximum number of keys per org that other regions receive: active keys first, then the latest. */
const keysPerOrgMax = 10_000;
const orgsPerPageMax = 200;
const keysPerPageMax = 5_000;
/** Maximum time by which a change may commit after a later one. */
const backSeconds = 30;

/** An org in the form that other regions get. `known` is null if this region is not its home. */
export interface DirectoryEntry extends Pick<ReceivedOrg, 'org_id' | 'changed_at'> {
  readonly known: Omit<ReceivedOrg, 'org_id' | 'changed_at'> | null;
}

export interface DirectoryPart {
  readonly now: string;
  readonly entries: readonly DirectoryEntry[];
  readonly more: boolean;
}

export type DirectoryRequest =
  /** The full directory: orgs after this one, ordered by id. */
  | { readonly kind: 'whole'; readonly after: string }
  /** Orgs that have changed since `backSeconds` before this time. With `after`, it is the next page: orgs after this time and id. */
  | { readonly kind: 'changes'; readonly since: string; readonly after: string | undefined };

/** Returns the part of this region's directory that another region requested. */
export async function readDirectory(
  db: Database,
  region: string,
  request: DirectoryRequest,
): Promise<DirectoryPart> {
  // The time is queried first: changes made while the rest is read are sent again.
  const now = await databaseNow(db);
  const found =
    request.kind === 'whole'
      ? await selectHomeOrgs(db, region, request.after, orgsPerPageMax)
      : await selectChangedOrgs(db, changesAfter(request), orgsPerPageMax);
  const orgs = firstThatFit(found);
  const homeIds = orgs.filter(({ home_region }) => home_region === region).map(({ id }) => id);
  const keys = new Map<string, DirectoryKey[]>(homeIds.map((id) => [id, []]));
  for (const { org_id, ...key } of await selectDirectoryKeys(db, homeIds, keysPerOrgMax)) {
    keys.get(org_id)?.push(key);
  }
  const entries = orgs.map(({ id, changed_at, mode, suspended }) => {
    const its = keys.get(id);
    return { org_id: id, changed_at, known: its === undefined ? null : { mode, suspended, keys: its } };
  });
  return { now, entries, more: orgs.length < found.length || found.length === orgsPerPageMax };
}

function changesAfter({ since, after }: Extract<DirectoryRequest, { kind: 'changes' }>) {
  return after === undefined ? { since, orgId: '', backSeconds } : { since, orgId: after, backSeconds: 0 };
}

/** Returns the first orgs whose keys fit into a page; at least one org, however many keys it has. */
function firstThatFit(orgs: readonly HomeOrg[]): HomeOrg[] {
  let keys = 0;
  return orgs.filter((org, index) => {
    keys += Math.min(Number(org.keys), keysPerOrgMax);
    return index === 0 || keys <= keysPerPageMax;
  });
}

export interface Directory {
  /** Returns a credential for a key of another region: enough to forward its request, or to reject it. */
  find(token: string): Promise<Credential | undefined>;
}

export function createDirectory(db: Database): Directory {
  return {
    async find(token) {
      const key = isWellFormedKey(token) ? await findDirectoryKey(db, keyDigest(token)) : undefined;
      return (
        key && {
          keyId: key.key_id,
          // The role is only known in the home region. The lowest role is used, because this region does not authorize anything.
          role: 'viewer',
          scopes: new Set(),
          notBefore: key.not_before,
          expiresAt: key.expires_at,
          revoked: key.revoked,
          endsAt: key.ends_at,
          org: {
            id: key.org_id,
            // The name is known only in the home region; it is not shown here.
            name: key.org_id,
            timezone: 'UTC',
            suspended: key.suspended,
            allowList: null,
            residency: { homeRegion: key.home_region, mode: key.mode, isHere: false },
          },
        }
      );
    },
  };
}
