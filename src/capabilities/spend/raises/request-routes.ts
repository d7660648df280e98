import { found } from '../../../contract/api-error.ts';
import { findLimitsEvenEnded } from '../../../ledger/limits/limits.ts';
import type { Database } from '../../../platform/db/database.ts';
import { changeOf } from '../../../platform/http/routes/outcomes.ts';
import { type Route, read, write } from '../../../platform/http/routes/route.ts';
import { page } from '../../../platform/http/routes/schemas.ts';
import type { Ids } from '../../../platform/ids.ts';
import { type RaisedLimit, viewRaise } from './raises.ts';
import { findRequest, listRequests, type RequestRow } from './request-queries.ts';
import { approveRequest, denyRequest, requestRaise, viewRequest } from './requests.ts';
import {
  ApproveRaiseRequest,
  CreateRaiseRequest,
  DenyRaiseRequest,
  RaiseRequestFilters,
  RaiseRequestView,
} from './schema.ts';

const reader = { kind: 'org', scope: 'budgets:read', role: 'viewer' } as const;
const requester = { kind: 'org', scope: 'budgets:read', role: 'member' } as const;
const approver = { kind: 'org', scope: 'budgets:write', role: 'admin' } as const;

export function raiseRequestRoutes({ db, ids }: { readonly db: Database; readonly ids: Ids }): Route[] {
  /** Requests outlive their limits. */
  async function limitsOf(
    orgId: string,
    rows: readonly RequestRow[],
  ): Promise<(row: RequestRow) => RaisedLimit> {
    const limits = await findLimitsEvenEnded(
      db,
      orgId,
      rows.map(({ limit_id }) => limit_id),
    );
    const byId = new Map<string, RaisedLimit>(limits.map((limit) => [limit.id, limit]));
    return ({ limit_id }) => byId.get(limit_id) ?? { id: limit_id, kind: 'budget', name: null };
  }

  return [
    write({
      id: 'raise_requests.create',
      method: 'POST',
      path: '/v1/orgs/{id}/raise-requests',
      summary: 'Ask for a raise of a limit',
      description:
        'Asks the administrators to raise a budget, the daily spend cap or a customer limit for a while. A second request for the ' +
        'same limit is `conflict` while the first is pending. A request lapses if it is not decided before `until`.',
      access: requester,
      errors: ['conflict'],
      body: CreateRaiseRequest,
      success: 201,
      response: RaiseRequestView,
      async handler({ body, caller, now }, tx) {
        const { limit, row } = await requestRaise(tx, ids, { caller, now }, body);
        const after = viewRequest(limit, row, now);
        return { body: after, changes: [changeOf('raise_request', row, { after }, 'raise.requested')] };
      },
    }),
    read({
      id: 'raise_requests.list',
      path: '/v1/orgs/{id}/raise-requests',
      summary: 'List requests for raises',
      access: reader,
      query: RaiseRequestFilters,
      response: page(RaiseRequestView),
      async handler({ params, query, now }) {
        const { data, next_cursor } = await listRequests(db, params.id, query, now);
        const limitOf = await limitsOf(params.id, data);
        return { data: data.map((row) => viewRequest(limitOf(row), row, now)), next_cursor };
      },
    }),
    read({
      id: 'raise_requests.read',
      path: '/v1/orgs/{id}/raise-requests/{request_id}',
      summary: 'Read a request for a raise',
      access: reader,
      response: RaiseRequestView,
      async handler({ params, now }) {
        const row = found(await findRequest(db, params.id, params.request_id));
        return viewRequest((await limitsOf(params.id, [row]))(row), row, now);
      },
    }),
    write({
      id: 'raise_requests.approve',
      method: 'POST',
      path: '/v1/orgs/{id}/raise-requests/{request_id}/approve',
      summary: 'Approve a request for a raise',
      description:
        'Raises the limit in the same transaction, by the requested amount until the requested time, or by others. The requesting key ' +
        'cannot approve, nor can a key that it was rotated into. A request that is no longer pending is `conflict`.',
      access: approver,
      errors: ['conflict', 'missing_scope'],
      body: ApproveRaiseRequest,
      bodyOptional: true,
      response: RaiseRequestView,
      async handler({ params, body, caller, now }, tx) {
        const decision = { caller, now, requestId: params.request_id };
        const { limit, before, after, raise } = await approveRequest(tx, ids, decision, body);
        const views = { before: viewRequest(limit, before, now), after: viewRequest(limit, after, now) };
        return {
          body: views.after,
          changes: [
            changeOf('raise_request', after, views, 'raise.approved'),
            changeOf('raise', raise, { after: viewRaise(limit, raise, now) }, 'raise.created'),
          ],
        };
      },
    }),
    write({
      id: 'raise_requests.deny',
      method: 'POST',
      path: '/v1/orgs/{id}/raise-requests/{request_id}/deny',
      summary: 'Deny a request for a raise',
      description: 'A request that is no longer pending is `conflict`.',
      access: approver,
      errors: ['conflict', 'missing_scope'],
      body: DenyRaiseRequest,
      bodyOptional: true,
      response: RaiseRequestView,
      async handler({ params, body, caller, now }, tx) {
        const decision = { caller, now, requestId: params.request_id };
        const { limit, before, after } = await denyRequest(tx, decision, body.reason);
        const views = { before: viewRequest(limit, before, now), after: viewRequest(limit, after, now) };
        return {
          body: views.after,
          changes: [changeOf('raise_request', after, views, 'raise.denied')],
        };
      },
    }),
  ];
}
