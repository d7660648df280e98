/** Searches the rows of all tenants. If a part of a Citus cluster is unavailable, it returns the rows of the other parts. */
import { ServiceUnavailable } from '../../service-unavailable.ts';
import type { Database } from '../database.ts';

/** Tenants to search; null for all. A search for tenants must name them in its statement (`= ANY`). */
export type Searched = readonly string[] | null;

/** Runs a search. `tenantIds` returns all tenants; it is only called if a search over all of them fails. */
export async function searchGroups<Row>(
  db: Pick<Database, 'tenantGroups'>,
  tenantIds: () => Promise<readonly string[]>,
  search: (tenants: Searched) => Promise<Row[]>,
): Promise<Row[]> {
  try {
    return await search(null);
  } catch (error) {
    if (!(error instanceof ServiceUnavailable) || db.tenantGroups.isOne) {
      throw error;
    }
    const groups = await db.tenantGroups.split(await tenantIds(), (tenantId) => tenantId);
    const found = await Promise.allSettled(groups.map(search));
    if (found.every(({ status }) => status === 'rejected')) {
      throw error;
    }
    return found.flatMap((one) => (one.status === 'fulfilled' ? one.value : []));
  }
}
