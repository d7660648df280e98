/** The groups of operations in the documentation: the first part of an operation's id, and what it is about. */
export const operationGroups = {
  orgs: 'Organizations, as platform operators see them.',
  org: "The caller's own organization.",
  keys: "The keys of the caller's organization.",
  operator_keys: 'The keys of platform operators.',
  budgets: 'What the runs of an organization, or of a part of it, may cost in a calendar window.',
  spend_cap: 'What all runs of an organization may cost in a day.',
  chain_budget: 'How much one chain of runs may cost, how deep it may go and how many tokens it may take.',
  customer_limits: 'What the runs of each end customer may cost in a calendar window.',
  customers: 'The end customers of an organization.',
  credit_packs: 'Credits that end customers have bought, and that their runs burn.',
  prepaid: "The organization's prepaid balance.",
  plans: 'What organizations may use in a month, as platform operators define it.',
  plan: "The organization's plan.",
  rate_limit_policies: 'How much of what an organization may do in how many seconds.',
  models: 'Models and what they cost.',
  meta: 'What the service says of itself.',
} as const;
