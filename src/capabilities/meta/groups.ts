/** The groups of operations in the documentation: the first part of an operation's id, and what it is about. */
export const operationGroups = {
  orgs: 'Organizations, as platform operators see them.',
  org: "The caller's own organization.",
  keys: "The keys of the caller's organization.",
  operator_keys: 'The keys of platform operators.',
  meta: 'What the service says of itself.',
} as const;
