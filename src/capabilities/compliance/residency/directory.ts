/**
 * What a region knows of orgs that are at home in another: their id, mode and standing, and the digests of their keys. It
 * says where a request belongs, never whether it may be served: that is for the home region to decide, each time.
 */
import type { Database } from '../../../platform/db/database.ts';
import type { Credential } from '../../../platform/http/routes/access.ts';
import { isWellFormedKey, keyDigest } from '../../../platform/http/routes/key-format.ts';
import {
  type DirectoryKey,
  databaseNow,
  findDirectoryKey,
  type HeardOrg,
  selectChangedOrgs,
  selectDirectoryKeys,
  selectHomeOrgs,
  type ToldOrg,
} from './directory-queries.ts';

/** Of an org with more keys, the others know these: the living and then the latest. */
const keysPerOrgMax = 10_000;
const orgsPerPageMax = 200;
const keysPerPageMax = 5_000;
/** A change may commit later than one that was made after it, by no more than this. */
const backSeconds = 30;

/** What is told of an org: null where it is at home here no longer. */
export interface DirectoryEntry extends Pick<HeardOrg, 'org_id' | 'changed_at'> {
  readonly known: Omit<HeardOrg, 'org_id' | 'changed_at'> | null;
}

export interface DirectoryPart {
  readonly now: string;
  readonly entries: readonly DirectoryEntry[];
  readonly more: boolean;
}

export type DirectoryQuestion =
  /** All orgs, in the order of their ids, behind this one. */
  | { readonly kind: 'whole'; readonly after: string }
  /** Those that changed, behind this time; with `after`, exactly behind this time and org. */
  | { readonly kind: 'changes'; readonly since: string; readonly after: string | undefined };

/** What this region tells others. */
export async function tellDirectory(
  db: Database,
  region: string,
  question: DirectoryQuestion,
): Promise<DirectoryPart> {
  // Asked first: what changes while the rest is read comes again.
  const now = await databaseNow(db);
  const found =
    question.kind === 'whole'
      ? await selectHomeOrgs(db, region, question.after, orgsPerPageMax)
      : await selectChangedOrgs(db, changesBehind(question), orgsPerPageMax);
  const orgs = asManyAsFit(found);
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

function changesBehind({ since, after }: Extract<DirectoryQuestion, { kind: 'changes' }>) {
  return after === undefined ? { since, orgId: '', backSeconds } : { since, orgId: after, backSeconds: 0 };
}

/** At least one, however many keys it has. */
function asManyAsFit(orgs: readonly ToldOrg[]): ToldOrg[] {
  let keys = 0;
  return orgs.filter((org, index) => {
    keys += Math.min(Number(org.keys), keysPerOrgMax);
    return index === 0 || keys <= keysPerPageMax;
  });
}

export interface Directory {
  /** What is known of a key that belongs to another region; enough to send its request there, or to refuse it. */
  find(token: string): Promise<Credential | undefined>;
}

export function createDirectory(db: Database): Directory {
  return {
    async find(token) {
      const key = isWellFormedKey(token) ? await findDirectoryKey(db, keyDigest(token)) : undefined;
      return (
        key && {
          keyId: key.key_id,
          // What it may do is known at home, and nothing is done here.
          role: 'viewer',
          scopes: new Set(),
          notBefore: key.not_before,
          expiresAt: key.expires_at,
          revoked: key.revoked,
          endsAt: key.ends_at,
          org: {
            id: key.org_id,
            // What it is called is known at home, and nothing of it is shown here.
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
