/** Limits: budgets, limits of customers, the spend cap, the chain budget, rate limits. */
import { findOnlyLimit } from '../../../ledger/limits/limit-changes.ts';
import { defaultThresholds } from '../../../ledger/limits/limit-fields.ts';
import { findLimits } from '../../../ledger/limits/limits.ts';
import { viewBudget } from '../../spend/budgets/index.ts';
import { readChainBudget } from '../../spend/chains/index.ts';
import { viewCustomerLimit } from '../../spend/customers/index.ts';
import { policyIdentity, type RatePolicyView, readRateLimits } from '../../spend/rate-limits/index.ts';
import { viewSpendCap } from '../../spend/spend-caps/index.ts';
import { type FileFields, type ListSection, pick, type Resource, type SingleSection } from './section.ts';

const spendingDefaults = {
  enforcement: 'block',
  alert_thresholds: defaultThresholds,
  timezone: null,
  owner: null,
};
const spendingFields = ['period', 'limit_usd', ...Object.keys(spendingDefaults)];
const budgetFields = ['name', 'scope_kind', 'scope_id', ...spendingFields];

export const budgets: ListSection = {
  shape: 'list',
  name: 'budgets',
  label: 'budget',
  key: ['name'],
  secondaryKey: ['scope_kind', 'scope_id', 'period'],
  readRoute: 'budgets.list',
  hasLimits: true,
  storesAsGiven: true,
  fixed: ['scope_kind', 'scope_id'],
  defaults: { scope_id: null, ...spendingDefaults },
  async load({ db, orgId }) {
    const rows = await findLimits(db, orgId, ['budget']);
    return rows.map((row) => limitResource(row.id, pick(viewBudget(row), budgetFields)));
  },
  create: (body) => ({ route: 'budgets.create', body }),
  change: ({ id }, body) => ({ route: 'budgets.change', params: { budget_id: id }, body }),
  remove: ({ id }) => ({ route: 'budgets.delete', params: { budget_id: id } }),
};

export const customerLimits: ListSection = {
  shape: 'list',
  name: 'customer_limits',
  label: 'customer limit',
  key: ['customer_id', 'period'],
  readRoute: 'customer_limits.list',
  hasLimits: true,
  storesAsGiven: true,
  fixed: ['customer_id'],
  defaults: spendingDefaults,
  async load({ db, orgId }) {
    const rows = await findLimits(db, orgId, ['customer']);
    const fields = ['customer_id', ...spendingFields];
    return rows.map((row) => limitResource(row.id, pick(viewCustomerLimit(row), fields)));
  },
  create: (body) => ({ route: 'customer_limits.create', body }),
  change: ({ id }, body) => ({ route: 'customer_limits.change', params: { limit_id: id }, body }),
  remove: ({ id }) => ({ route: 'customer_limits.delete', params: { limit_id: id } }),
};

const { enforcement: _, ...capDefaults } = spendingDefaults;

export const spendCap: SingleSection = {
  shape: 'single',
  name: 'spend_cap',
  label: 'spend cap',
  readRoute: 'spend_cap.read',
  hasLimits: true,
  defaults: capDefaults,
  async load({ db, orgId }) {
    const row = await findOnlyLimit(db, orgId, 'spend_cap');
    const fields = ['cap_usd', ...Object.keys(capDefaults)];
    return row === undefined ? [] : [limitResource(row.id, pick(viewSpendCap(row), fields))];
  },
  create: (body) => ({ route: 'spend_cap.put', body }),
  change: (_resource, _changed, body) => ({ route: 'spend_cap.put', body }),
  remove: () => ({ route: 'spend_cap.delete' }),
};

const chainKinds = {
  max_cost_usd: 'chain_cost',
  max_depth: 'chain_depth',
  max_tokens: 'chain_tokens',
} as const;

interface ChainResource extends Resource {
  readonly limitOfField: FileFields;
}

export const chainBudget: SingleSection = {
  shape: 'single',
  name: 'chain_budget',
  label: 'chain budget',
  readRoute: 'chain_budget.read',
  hasLimits: true,
  defaults: { max_cost_usd: null, max_depth: null, max_tokens: null },
  async load({ db, orgId }) {
    const rows = await findLimits(db, orgId, Object.values(chainKinds));
    const limitOfField = Object.fromEntries(
      Object.entries(chainKinds).map(([field, kind]) => [field, rows.find((row) => row.kind === kind)?.id]),
    );
    const resource: ChainResource = { id: orgId, fields: await readChainBudget(db, orgId), limitOfField };
    return [resource];
  },
  change: (_resource, _changed, body) => ({ route: 'chain_budget.put', body }),
  endedLimits: (resource, wanted) =>
    Object.entries((resource as ChainResource).limitOfField).flatMap(([field, id]) =>
      wanted[field] === null && typeof id === 'string' ? [id] : [],
    ),
};

type RatePolicyFields = Pick<RatePolicyView, 'name' | 'kind' | 'unit' | 'match'> & FileFields;

interface RateLimitsResource extends Resource {
  /** The ids of the policies by their identity. */
  readonly policyIds: ReadonlyMap<string, string>;
}

const policyDefaults = { match: {}, burst: null, window_seconds: 0 };

/** The route replaces all policies, so those whose names are not in the file are sent too, except with `prune`. */
export const rateLimits: SingleSection = {
  shape: 'single',
  name: 'rate_limits',
  label: 'rate limits',
  readRoute: 'rate_limit_policies.list',
  hasLimits: true,
  defaults: { read_rpm: null, policies: [] },
  async load({ db, orgId }) {
    const { read_rpm, policies } = await readRateLimits(db, orgId);
    const names = ['name', 'unit', 'limit', 'kind', 'window_seconds', 'match', 'burst'];
    const resource: RateLimitsResource = {
      id: orgId,
      fields: { read_rpm, policies: policies.map((policy) => pick(policy, names)) },
      policyIds: new Map(policies.map((policy) => [policyIdentity(policy), policy.id])),
    };
    return [resource];
  },
  complete({ policies = [], read_rpm }, current, { prune }) {
    const wanted = (policies as readonly RatePolicyFields[]).map(
      (policy): RatePolicyFields => ({ ...policyDefaults, ...policy }),
    );
    const names = new Set(wanted.map(({ name }) => name));
    const others = prune ? [] : policiesOf(current).filter(({ name }) => !names.has(name));
    return { read_rpm: read_rpm ?? null, policies: [...wanted, ...others] };
  },
  change: (_resource, _changed, body) => ({ route: 'orgs.rate_limits.put', body }),
  endedLimits(resource, wanted) {
    const { policyIds } = resource as RateLimitsResource;
    const kept = new Set((wanted.policies as readonly RatePolicyFields[]).map(policyIdentity));
    return [...policyIds].flatMap(([identity, id]) => (kept.has(identity) ? [] : [id]));
  },
};

function policiesOf(current: Resource | undefined): readonly RatePolicyFields[] {
  return (current?.fields.policies ?? []) as readonly RatePolicyFields[];
}

function limitResource(id: string, fields: FileFields): Resource {
  return { id, fields, limitIds: [id] };
}
