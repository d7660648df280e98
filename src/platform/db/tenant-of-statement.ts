/**
 * Finds the tenant of a single statement among its parameters. Every statement about the rows of an org has the id of the org as a
 * parameter. Citus finds their worker in the same way.
 */
const orgId = /^org_[0-9a-z]{26}$/;

/** Returns the id of the org; undefined if the statement is not about one org. */
export function tenantOf(params: readonly unknown[] | undefined): string | undefined {
  return params?.find((value): value is string => typeof value === 'string' && orgId.test(value));
}
