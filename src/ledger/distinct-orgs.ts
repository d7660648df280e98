/** The orgs of some records, each once: for conditions by which Citus finds the shards of a statement. */
export function distinctOrgs(records: readonly { readonly orgId: string }[]): string[] {
  return [...new Set(records.map(({ orgId }) => orgId))];
}
