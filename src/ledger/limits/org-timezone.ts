/** The time zone of an org, from the cached limits where possible. */
import type { OrgLimitsCache } from './org-limits.ts';

export type TimezoneOf = (orgId: string) => string | Promise<string>;

export function createTimezoneOf(orgLimits: Pick<OrgLimitsCache, 'peek' | 'get'>): TimezoneOf {
  return (orgId) => orgLimits.peek(orgId)?.timezone ?? orgLimits.get(orgId).then(({ timezone }) => timezone);
}
