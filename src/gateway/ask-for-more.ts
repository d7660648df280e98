/** Tells a caller whose call a limit denied where to ask for a temporary raise of this limit. */
import { ApiError } from '../contract/api-error.ts';
import type { Caller } from '../platform/http/routes/access.ts';
import { ExplainedDenial } from './errors/explained-denial.ts';

/**
 * Adds a link to the denial of a budget, a customer limit or the spend cap. Only for callers who may ask: keys of a person, who signs in
 * to the console, and keys that may request a raise themselves.
 */
export function withRequestLink(error: unknown, caller: Caller, baseUrl: () => string): unknown {
  if (
    !(error instanceof ApiError) ||
    error.limitId === undefined ||
    (error.code !== 'budget_exceeded' && error.code !== 'spend_cap_exceeded') ||
    !mayAsk(caller)
  ) {
    return error;
  }
  const query = new URLSearchParams({ limit_id: error.limitId, ...valueOfCounter(error.counterKey) });
  return new ExplainedDenial(error, `Ask for more: ${baseUrl()}/console/raise-requests/new?${query}`);
}

function mayAsk({ role, scopes, attribution }: Caller): boolean {
  const isOfPerson = attribution?.values.member_id !== undefined;
  return isOfPerson || (role !== 'viewer' && scopes.has('budgets:read'));
}

/** The key of the counter of one value ends with that value (`counterKey`). */
function valueOfCounter(counterKey: string | undefined): { readonly scope_id?: string } {
  const colon = counterKey?.indexOf(':') ?? -1;
  return counterKey === undefined || colon < 0 ? {} : { scope_id: counterKey.slice(colon + 1) };
}
