/**
 * Finds the tenant of a single statement among its parameters. Every statement about an org's rows has the id of the org as a
 * parameter, which is also how Citus finds their worker.
 */
const orgId = /^org_[0-9a-z]{26}$/;

/** Returns undefined if the statement is not about one org. */
export function tenantOf(params: readonly unknown[] | undefined): string | undefined {
  return params?.find((value): value is string => typeof value === 'string' && orgId.test(value));
}
