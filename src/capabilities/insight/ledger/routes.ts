import type { Ledger } from '../../../ledger/ledger.ts';
import type { DriftGauge } from '../../../ledger/metrics.ts';
import type { Database } from '../../../platform/db/database.ts';
import { posting, type Route, read } from '../../../platform/http/routes/route.ts';
import { closed, page } from '../../../platform/http/routes/schemas.ts';
import { extendHold, listHolds, voidHold } from './holds.ts';
import { listLimitUsage } from './limit-usage-list.ts';
import { reconcile } from './reconciliation.ts';
import {
  ExtendHold,
  HoldFilters,
  HoldView,
  LimitFilters,
  LimitUsageView,
  ReconciliationView,
} from './schema.ts';

export interface LedgerRouteDependencies {
  readonly db: Database;
  readonly ledger: Pick<Ledger, 'holds' | 'extend' | 'void' | 'inspect' | 'limitUsage'>;
  readonly drift: DriftGauge;
}

const reader = { kind: 'org', scope: 'budgets:read', role: 'viewer' } as const;
/** A key that can make decisions can also extend and void their holds. */
const decider = { kind: 'org', scope: 'edge:decide', role: 'member' } as const;

export function ledgerRoutes(deps: LedgerRouteDependencies): Route[] {
  return [
    read({
      id: 'limits.list',
      path: '/v1/orgs/{id}/limits',
      summary: 'List all limits with their usage',
      description:
        'Returns budgets, caps, customer limits, credit packs, the prepaid balance, plan and chain limits, quotas ' +
        'and rates in one list. Rates and limits with a wildcard have no single usage: `standing` is null.',
      access: reader,
      query: LimitFilters,
      response: page(LimitUsageView),
      handler: ({ params, query }) => listLimitUsage(deps, params.id, query),
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
    posting({
      id: 'holds.extend',
      method: 'POST',
      path: '/v1/orgs/{id}/holds/{decision_id}/extend',
      summary: 'Extend a hold',
      description:
        'For a long stream. Returns `conflict` if the hold has ended; it can still be settled, late.',
      access: decider,
      body: ExtendHold,
      success: 200,
      response: HoldView,
      errors: ['conflict'],
      handler: ({ params, body }, storeResponse) =>
        extendHold(deps, params.id, params.decision_id, body.seconds, storeResponse),
    }),
    posting({
      id: 'holds.void',
      method: 'DELETE',
      path: '/v1/orgs/{id}/holds/{decision_id}',
      summary: 'Void a hold',
      description:
        'Releases the held amount. If the run costs something after all, settle it: it is posted late. Returns ' +
        '`conflict` if the hold has ended.',
      access: decider,
      success: 204,
      response: closed({}),
      errors: ['conflict'],
      async handler({ params }, storeResponse) {
        await voidHold(deps, params.id, params.decision_id, storeResponse);
        return {};
      },
    }),
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
        const { view, driftNanos } = await reconcile(deps, params.id, now, progress);
        deps.drift.set(params.id, driftNanos);
        return view;
      },
    }),
  ];
}
