import type { TimezoneOf } from '../../../ledger/limits/org-timezone.ts';
import type { DriftGauge } from '../../../ledger/metrics.ts';
import { type Route, read } from '../../../platform/http/routes/route.ts';
import { page } from '../../../platform/http/routes/schemas.ts';
import type { IncreaseDependencies } from './hold-increases.ts';
import { holdRoutes } from './hold-routes.ts';
import { listHolds } from './holds.ts';
import { readLimitDetail } from './limit-detail.ts';
import {
  LimitDetail,
  LimitDetailQuery,
  LimitFilters,
  LimitUsageView,
  LimitValuesQuery,
  LimitValueView,
} from './limit-schema.ts';
import { listLimitUsage } from './limit-usage-list.ts';
import { listLimitValues } from './limit-values.ts';
import { reconcile } from './reconciliation.ts';
import { HoldFilters, HoldView, ReconciliationView } from './schema.ts';

export interface LedgerRouteDependencies extends IncreaseDependencies {
  readonly timezoneOf: TimezoneOf;
  readonly drift: DriftGauge;
}

const reader = { kind: 'org', scope: 'budgets:read', role: 'viewer' } as const;

export function ledgerRoutes(deps: LedgerRouteDependencies): Route[] {
  const readers = { ...deps, ledger: deps.ledger.reads };
  return [
    read({
      id: 'limits.list',
      path: '/v1/orgs/{id}/limits',
      summary: 'List all limits with their usage',
      description:
        'Returns budgets, caps, customer limits, credit packs, the prepaid balance, plan and chain limits, quotas ' +
        'and rates in one list. Rates and limits with a wildcard have no single usage: `standing` is null. `limits.values` ' +
        'has the usage of each value of a wildcard.',
      access: reader,
      query: LimitFilters,
      response: page(LimitUsageView),
      handler: ({ params, query }) => listLimitUsage(readers, params.id, query),
    }),
    read({
      id: 'limits.read',
      path: '/v1/orgs/{id}/limits/{limit_id}',
      summary: 'Read a limit with its usage, past windows and alerts',
      description: 'A limit of any kind, by its id.',
      access: reader,
      query: LimitDetailQuery,
      response: LimitDetail,
      handler: ({ params, query, now }) =>
        readLimitDetail(readers, params.id, params.limit_id, { ...query, now }),
    }),
    read({
      id: 'limits.values',
      path: '/v1/orgs/{id}/limits/{limit_id}/values',
      summary: 'List the usage of a limit by value',
      description:
        'For a limit with a wildcard, such as a budget for each member: what each value has used in the current window, the highest ' +
        'amount first. Values without a run in the window are not listed: all of their limit is left, less what is held. ' +
        'Empty for limits without a wildcard or a window, and for rates.',
      access: reader,
      query: LimitValuesQuery,
      response: page(LimitValueView),
      handler: ({ params, query, now }) =>
        listLimitValues(readers, params.id, params.limit_id, { ...query, now }),
    }),
    read({
      id: 'holds.list',
      path: '/v1/orgs/{id}/holds',
      summary: 'List open holds',
      description: 'Amounts held for decisions and runs in progress, oldest first.',
      access: reader,
      query: HoldFilters,
      response: page(HoldView),
      handler: ({ params, query }) => listHolds(deps, params.id, query),
    }),
    ...holdRoutes(deps),
    read({
      id: 'ledger.reconciliation',
      path: '/v1/orgs/{id}/ledger/reconciliation',
      summary: 'Reconcile the ledger',
      description:
        'Compares every counter with the ledger entries and the open holds, and the entries with the runs, the ' +
        'usage and the tallies. Counters and holds are compared at one moment. The ledger is balanced if nothing differs.',
      access: reader,
      response: ReconciliationView,
      async handler({ params, now, progress }) {
        const { view, driftNanos } = await reconcile(readers, params.id, now, progress);
        deps.drift.set(params.id, driftNanos);
        return view;
      },
    }),
  ];
}
