import type { Ledger } from '../../../ledger/ledger.ts';
import type { DriftGauge } from '../../../ledger/metrics.ts';
import type { Database } from '../../../platform/db/database.ts';
import { posting, type Route, read } from '../../../platform/http/routes/route.ts';
import { closed, page } from '../../../platform/http/routes/schemas.ts';
import { extendHold, listHolds, voidHold } from './holds.ts';
import { reconcile } from './reconciliation.ts';
import {
  ExtendHold,
  HoldFilters,
  HoldView,
  LimitFilters,
  ReconciliationView,
  StandingView,
} from './schema.ts';
import { listStandings } from './standings.ts';

export interface LedgerRouteDependencies {
  readonly db: Database;
  readonly ledger: Pick<Ledger, 'holds' | 'extend' | 'void' | 'inspect' | 'limitUsage'>;
  readonly drift: DriftGauge;
}

const reader = { kind: 'org', scope: 'budgets:read', role: 'viewer' } as const;
/** Whoever may ask for decisions may also prolong them and give them back. */
const decider = { kind: 'org', scope: 'edge:decide', role: 'member' } as const;

export function ledgerRoutes(deps: LedgerRouteDependencies): Route[] {
  return [
    read({
      id: 'limits.list',
      path: '/v1/orgs/{id}/limits',
      summary: 'List every limit, and where it stands',
      description:
        'Budgets, caps, customer limits, packs, the prepaid balance, plan and chain limits, quotas and rates in one list. ' +
        'Those that count each value by itself, and rates, have no single standing: it is null.',
      access: reader,
      query: LimitFilters,
      response: page(StandingView),
      handler: ({ params, query }) => listStandings(deps, params.id, query),
    }),
    read({
      id: 'holds.list',
      path: '/v1/orgs/{id}/holds',
      summary: 'List open holds',
      description: 'What is set aside for decisions and runs that go on, the oldest first.',
      access: reader,
      query: HoldFilters,
      response: page(HoldView),
      handler: ({ params, query }) => listHolds(deps, params.id, query),
    }),
    posting({
      id: 'holds.extend',
      method: 'POST',
      path: '/v1/orgs/{id}/holds/{decision_id}/extend',
      summary: 'Let a hold last longer',
      description: 'For a long stream. One that has ended is `conflict`; it can still be settled, late.',
      access: decider,
      body: ExtendHold,
      success: 200,
      response: HoldView,
      errors: ['conflict'],
      handler: ({ params, body }, seal) =>
        extendHold(deps, params.id, params.decision_id, body.seconds, seal),
    }),
    posting({
      id: 'holds.void',
      method: 'DELETE',
      path: '/v1/orgs/{id}/holds/{decision_id}',
      summary: 'Void a hold',
      description:
        'Gives back what it holds. If its run costs something after all, settle it: that is posted, late. One that has ' +
        'ended is `conflict`.',
      access: decider,
      success: 204,
      response: closed({}),
      errors: ['conflict'],
      async handler({ params }, seal) {
        await voidHold(deps, params.id, params.decision_id, seal);
        return {};
      },
    }),
    read({
      id: 'ledger.reconciliation',
      path: '/v1/orgs/{id}/ledger/reconciliation',
      summary: 'Recompute the books and compare',
      description:
        'Every counter with the ledger entries and the open holds, and the entries with the runs, the usage and the ' +
        'tallies, all at one moment. The books are right when nothing differs.',
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
