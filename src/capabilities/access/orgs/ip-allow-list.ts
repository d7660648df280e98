/** The IP addresses from which an org's keys and sessions may be used. */
import { apiError, invalidFields } from '../../../contract/api-error.ts';
import type { Transaction } from '../../../platform/db/database.ts';
import { addressList, isListed, parseCidr } from '../../../platform/http/message/address.ts';
import { changeOrg, type OrgChange } from './orgs.ts';

export interface AllowListRequest {
  readonly orgId: string;
  readonly cidrs: readonly string[];
  readonly force: boolean;
  readonly callerAddress: string;
}

export async function putAllowList(
  tx: Transaction,
  now: Date,
  { orgId, cidrs, force, callerAddress }: AllowListRequest,
): Promise<OrgChange> {
  const faults = cidrs.flatMap((cidr, index) => (parseCidr(cidr) === undefined ? [index] : []));
  if (faults.length > 0) {
    throw invalidFields(
      faults.map((index) => ({
        field: `cidrs[${index}]`,
        code: 'invalid_format',
        message: 'Must be an IP address or a CIDR range.',
      })),
    );
  }
  if (cidrs.length > 0 && !force && !isListed(addressList(cidrs), callerAddress)) {
    throw apiError(
      'conflict',
      `The list does not contain your own address, ${callerAddress}. Set force to accept that.`,
    );
  }
  return changeOrg(tx, orgId, now, () => ({ ip_allow_list: cidrs }));
}

/** Removes all addresses, for an org that has locked itself out. */
export async function clearAllowList(tx: Transaction, now: Date, orgId: string): Promise<OrgChange> {
  return changeOrg(tx, orgId, now, () => ({ ip_allow_list: [] }));
}
