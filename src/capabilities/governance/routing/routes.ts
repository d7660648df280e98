import { viewPage } from '../../../platform/http/routes/list.ts';
import { changeOf, created, removed, settingChanged } from '../../../platform/http/routes/outcomes.ts';
import { bodyLimits, decision, type Route, read, write } from '../../../platform/http/routes/route.ts';
import { page } from '../../../platform/http/routes/schemas.ts';
import type { Ids } from '../../../platform/ids.ts';
import { type DecisionDependencies, decideRoute } from './decisions.ts';
import { recordEval, removeEval, requireEval, viewEval } from './evals.ts';
import { listEvals } from './queries.ts';
import {
  putRoutingPolicy,
  removeRoutingPolicy,
  requireRoutingPolicy,
  viewRoutingPolicy,
} from './routing-policy.ts';
import {
  AskRoute,
  CreateEval,
  EvalFilters,
  EvalView,
  PutRoutingPolicy,
  RouteDecision,
  RoutingPolicyView,
} from './schema.ts';

export interface RoutingDependencies extends DecisionDependencies {
  readonly ids: Ids;
}

const reader = { kind: 'org', scope: 'routing:read', role: 'viewer' } as const;
const admin = { kind: 'org', scope: 'routing:write', role: 'admin' } as const;
const member = { kind: 'org', scope: 'routing:write', role: 'member' } as const;
const policyPath = '/v1/orgs/{id}/routing-policy';

export function routingRoutes(deps: RoutingDependencies): Route[] {
  return [...evalRoutes(deps), ...policyRoutes(deps), decisionRoute(deps)];
}

function evalRoutes({ db, ids }: RoutingDependencies): Route[] {
  return [
    write({
      id: 'evals.create',
      method: 'POST',
      path: '/v1/orgs/{id}/evals',
      summary: 'Record an eval result',
      description: 'The newest result of each suite and model, by `ran_at`, counts. The newest 100 are kept.',
      access: admin,
      body: CreateEval,
      success: 201,
      response: EvalView,
      errors: ['conflict'],
      async handler({ params, body, now }, tx) {
        const row = await recordEval(tx, { ids, orgId: params.id, now }, body);
        return created('eval', row, viewEval, 'eval.recorded');
      },
    }),
    read({
      id: 'evals.list',
      path: '/v1/orgs/{id}/evals',
      summary: 'List eval results',
      access: reader,
      query: EvalFilters,
      response: page(EvalView),
      handler: ({ params, query }) => viewPage(listEvals(db, params.id, query), viewEval),
    }),
    read({
      id: 'evals.read',
      path: '/v1/orgs/{id}/evals/{eval_id}',
      summary: 'Read an eval result',
      access: reader,
      response: EvalView,
      handler: async ({ params }) => viewEval(await requireEval(db, params.id, params.eval_id)),
    }),
    write({
      id: 'evals.delete',
      method: 'DELETE',
      path: '/v1/orgs/{id}/evals/{eval_id}',
      summary: 'Delete an eval result',
      description: 'If it was the newest, the previous result counts again.',
      access: admin,
      async handler({ params, now }, tx) {
        const row = await removeEval(tx, params.id, params.eval_id);
        return removed('eval', row, viewEval, now, 'eval.deleted');
      },
    }),
  ];
}

function policyRoutes({ db }: RoutingDependencies): Route[] {
  return [
    write({
      id: 'routing_policy.put',
      method: 'PUT',
      path: policyPath,
      summary: 'Set the routing policy',
      description: 'Replaces the routing policy. Applies to the next decision.',
      access: admin,
      body: PutRoutingPolicy,
      bodyLimitBytes: bodyLimits.lists,
      response: RoutingPolicyView,
      async handler({ params, body, now }, tx) {
        const { before, after } = await putRoutingPolicy(tx, params.id, now, body);
        const views = { before: before && viewRoutingPolicy(before), after: viewRoutingPolicy(after) };
        return settingChanged('routing_policy', params.id, views, 'routing_policy.updated');
      },
    }),
    read({
      id: 'routing_policy.read',
      path: policyPath,
      summary: 'Read the routing policy',
      access: reader,
      response: RoutingPolicyView,
      handler: async ({ params }) => viewRoutingPolicy(await requireRoutingPolicy(db, params.id)),
    }),
    write({
      id: 'routing_policy.delete',
      method: 'DELETE',
      path: policyPath,
      summary: 'Delete the routing policy',
      access: admin,
      async handler({ params, now }, tx) {
        const before = viewRoutingPolicy(await removeRoutingPolicy(tx, params.id));
        const after = { ...before, deleted_at: now.toISOString() };
        const change = changeOf('routing_policy', params.id, { before, after }, 'routing_policy.deleted');
        return { body: {}, changes: [change] };
      },
    }),
  ];
}

function decisionRoute(deps: RoutingDependencies): Route {
  return decision({
    id: 'routing.decide',
    method: 'POST',
    path: '/v1/routing/decisions',
    summary: 'Choose a model for a request',
    description:
      'Filters the candidates of the routing policy: policies must allow them, and they must be served in the required region, ' +
      'support the number of tokens, have the required capabilities, fit into every limit and meet the minimum eval score. The ' +
      'objective chooses among the rest. With `hold`, the maximum cost is held. Fields that are left out have the values of the attribution of the key. An `Idempotency-Key` is replayed for 72 hours, even after the hold has ended.',
    access: member,
    body: AskRoute,
    bodyLimitBytes: bodyLimits.lists,
    response: RouteDecision,
    errors: [
      'conflict',
      'policy_blocked',
      'policy_approval_required',
      'policy_expression_error',
      'residency_violation',
      'plan_limit_exceeded',
      'quota_exhausted',
      'spend_cap_exceeded',
      'budget_exceeded',
      'chain_budget_exceeded',
      'credits_exhausted',
      'rate_limited',
      'no_model_passes_eval',
    ],
    handler: ({ body, caller, now }, key) => decideRoute(deps, { body, caller, now }, key),
  });
}
