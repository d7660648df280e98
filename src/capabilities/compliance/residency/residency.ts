/** Home region of an org, and the treatment of requests that arrive in another region. */
import { found } from '../../../contract/api-error.ts';
import { NotifiedCache } from '../../../platform/cache/notified-cache.ts';
import type { Database } from '../../../platform/db/database.ts';
import { findOrg, type OrgRow, orgChanged, type ResidencyMode } from '../../access/orgs/index.ts';
import type { ResidencyView } from './schema.ts';

const cachedOrgsMax = 10_000;

export interface Residency {
  /** Null if every region is a home region of the org. */
  readonly homeRegion: string | null;
  readonly mode: ResidencyMode;
}

/** Returns a promise only if the residency is not cached. */
export type ResidencyOf = (orgId: string) => Residency | Promise<Residency>;

/** Creates the lookup for code that must keep an org's data, or its calls to models, in its home region. */
export function createResidencyOf(db: Database): ResidencyOf {
  const load = async (orgId: string): Promise<Residency> => {
    const org = found(await findOrg(db, orgId));
    return { homeRegion: org.home_region, mode: org.residency_mode };
  };
  const cache = new NotifiedCache(db, { maxEntries: cachedOrgsMax, onChange: orgChanged.on, load });
  return (orgId) => cache.get(orgId);
}

export function viewResidency({ home_region, residency_mode }: OrgRow): ResidencyView {
  return { home_region, mode: residency_mode };
}
