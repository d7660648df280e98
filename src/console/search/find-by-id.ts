/** Finds resources by id: ids with a prefix, trace ids, and the ids that clients give to runs and chains. */
import type { Listed } from '../api.ts';
import { link, path } from '../html.ts';
import type { OperationId } from '../responses.ts';
import type { SearchContext, SearchHit } from './search-context.ts';

interface IdPage {
  /** Path of the API that reads the resource, below the organization unless it starts with `/v1`. */
  api(id: string): string;
  page(id: string): string;
  readonly kind: string;
  /** Set if `api` is a list, because a resource that exists may not be readable yet. */
  readonly isList?: true;
}

/** Resources with a page of their own, by the prefix of their ids. */
const orgPages: Readonly<Record<string, IdPage>> = {
  run: { kind: 'Run', api: (id) => path`/v1/runs/${id}`, page: (id) => path`/console/runs/${id}` },
  key: { kind: 'API key', api: (id) => path`/keys/${id}`, page: (id) => path`/console/keys/${id}` },
  mem: {
    kind: 'Member',
    api: (id) => path`/members/${id}`,
    page: (id) => path`/console/settings/members/${id}`,
  },
  bud: {
    kind: 'Budget',
    api: (id) => path`/budgets/${id}`,
    page: (id) => path`/console/limits/budgets/${id}`,
  },
  clm: {
    kind: 'Customer limit',
    api: (id) => path`/customer-limits/${id}`,
    page: (id) => path`/console/limits/customers/${id}`,
  },
  crp: {
    kind: 'Credit pack',
    api: (id) => path`/credit-packs/${id}`,
    page: (id) => path`/console/limits/credits/${id}`,
  },
  pol: {
    kind: 'Policy rule',
    api: (id) => path`/policies/${id}`,
    page: (id) => path`/console/policies/${id}`,
  },
  det: {
    kind: 'Detector',
    api: (id) => path`/safety-detectors/${id}`,
    page: (id) => path`/console/safety/${id}`,
  },
  rfl: {
    kind: 'Blocked request',
    api: (id) => path`/refusals/${id}`,
    page: (id) => path`/console/refusals/${id}`,
  },
  whk: { kind: 'Webhook', api: (id) => path`/webhooks/${id}`, page: (id) => path`/console/webhooks/${id}` },
  eml: {
    kind: 'E-mail alert',
    api: (id) => path`/email-subscriptions/${id}`,
    page: (id) => path`/console/email-alerts/${id}`,
  },
  con: {
    kind: 'Connection',
    api: (id) => path`/connections/${id}`,
    page: (id) => path`/console/gateway/connections/${id}`,
  },
  stm: {
    kind: 'Statement',
    api: (id) => path`/statements/${id}`,
    page: (id) => path`/console/statements/${id}`,
  },
  scn: {
    kind: 'Scenario',
    api: (id) => path`/capacity-scenarios/${id}`,
    page: (id) => path`/console/forecasts/scenarios/${id}`,
  },
  coh: {
    kind: 'Cohort',
    api: () => '/v1/benchmarks/cohorts?limit=200',
    isList: true,
    page: (id) => path`/console/benchmarks/${id}`,
  },
};

const operatorPages: Readonly<Record<string, IdPage>> = {
  org: { kind: 'Organization', api: (id) => path`/orgs/${id}`, page: (id) => path`/console/orgs/${id}` },
  key: { kind: 'Operator API key', api: (id) => path`/keys/${id}`, page: () => '/console/operator-keys' },
  pln: { kind: 'Plan', api: (id) => path`/plans/${id}`, page: () => '/console/plans' },
  sgr: {
    kind: 'Support grant',
    api: (id) => path`/support/grants/${id}`,
    page: () => '/console/grants',
  },
};

/** Returns the prefix of a resource's id, such as `run`; empty for any other text. */
export function idPrefix(id: string): string {
  return /^([a-z]{3})_\w+$/.exec(id)?.[1] ?? '';
}

/** Returns the resource with this id. */
export async function findResource(context: SearchContext, id: string): Promise<SearchHit | undefined> {
  const pages = context.org.id === '' ? operatorPages : orgPages;
  const prefix = idPrefix(id);
  const found = Object.hasOwn(pages, prefix) ? pages[prefix] : undefined;
  if (found === undefined) {
    return undefined;
  }
  const apiPath = found.api(id);
  const resource = await context.find<OperationId>(
    apiPath.startsWith('/v1/') ? apiPath : context.org.path + apiPath,
  );
  const isFound =
    resource !== undefined &&
    (found.isList !== true ||
      (resource as Listed<{ readonly id: string }>).data.some((row) => row.id === id));
  return isFound ? { href: found.page(id), name: id, note: found.kind } : undefined;
}

/** Filters of lists whose value may be any id, with the page that shows the filtered list. */
const references = [
  { api: '/v1/runs', page: '/console/runs', filter: 'decision_id', kind: 'Run of this decision' },
  { api: '/v1/runs', page: '/console/runs', filter: 'chain_id', kind: 'Runs of this chain' },
  { api: '/v1/runs', page: '/console/runs', filter: 'external_id', kind: 'Runs with this external ID' },
  { api: '/refusals', page: '/console/refusals', filter: 'trace_id', kind: 'Blocked requests of this trace' },
  { api: '/audit-log', page: '/console/audit', filter: 'trace_id', kind: 'Audit entries of this trace' },
  { api: '/audit-log', page: '/console/audit', filter: 'target', kind: 'Audit entries about this ID' },
  { api: '/audit-log', page: '/console/audit', filter: 'actor', kind: 'Audit entries by this actor' },
] as const;

/** Returns the lists that have a row with this id. */
export async function findReferences(context: SearchContext, id: string): Promise<readonly SearchHit[]> {
  if (!/^[\w:./-]{3,200}$/.test(id)) {
    return [];
  }
  const isOperator = context.org.id === '';
  const lists = references.filter(({ api }) => !isOperator || api === '/audit-log');
  const found = await Promise.all(
    lists.map(async ({ api, page, filter, kind }): Promise<readonly SearchHit[]> => {
      const list = api.startsWith('/v1/') ? api : context.org.path + api;
      const listed = await context.find<'runs.list' | 'refusals.list' | 'audit.list'>(
        link(list, { [filter]: id, limit: '1' }),
      );
      return (listed?.data.length ?? 0) > 0
        ? [{ href: link(page, { [filter]: id }), name: kind, note: id }]
        : [];
    }),
  );
  if (isOperator) {
    return found.flat();
  }
  return [...found.flat(), ...(await findApproval(context, id)), ...(await findHold(context, id))];
}

/** Approvals have no page of their own; the list is divided by state. */
async function findApproval(context: SearchContext, id: string): Promise<readonly SearchHit[]> {
  const approval = id.startsWith('apr_')
    ? await context.find<'approvals.read'>(context.org.path + path`/approvals/${id}`)
    : undefined;
  return approval === undefined
    ? []
    : [
        {
          href: link('/console/approvals', { state: approval.state }),
          name: approval.attempted,
          note: `Approval ${id}`,
        },
      ];
}

/** A decision that is not settled has no run, only a reservation. */
async function findHold(context: SearchContext, id: string): Promise<readonly SearchHit[]> {
  const holds = id.startsWith('dec_')
    ? await context.find<'holds.list'>(`${context.org.path}/holds?limit=200`)
    : undefined;
  return holds?.data.some(({ decision_id }) => decision_id === id)
    ? [{ href: '/console/limits/holds', name: 'Open reservation of this decision', note: id }]
    : [];
}
