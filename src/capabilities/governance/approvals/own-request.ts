import type { Queryable } from '../../../platform/db/database.ts';
import { findKeyOrigins } from '../../access/keys/index.ts';
import { findMemberships } from '../../access/members/index.ts';

/**
 * Returns true if a key or member would decide on its own request: the requester has the same holder, is the member that created
 * the deciding key, or is a key of that member. A member may decide on requests of a service key that the member created.
 */
export async function isOwnRequest(
  tx: Queryable,
  orgId: string,
  requesterId: string,
  deciderId: string,
): Promise<boolean> {
  const { holders: requesters } = await findKeyOrigins(tx, orgId, requesterId);
  const { holders, creators } = await findKeyOrigins(tx, orgId, deciderId);
  const members = await findMemberships(tx, orgId, [...holders, ...creators]);
  return requesters.some((id) => holders.includes(id) || members.includes(id));
}
