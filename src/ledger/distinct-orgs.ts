/** Returns the orgs of some records, each once. Conditions on them let Citus find the shards of a statement. */
export function distinctOrgs(records: readonly { readonly orgId: string }[]): string[] {
  return [...new Set(records.map(({ orgId }) => orgId))];
}
