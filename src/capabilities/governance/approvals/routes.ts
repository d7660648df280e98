import { found } from '../../../contract/api-error.ts';
import type { Database } from '../../../platform/db/database.ts';
import { viewPage } from '../../../platform/http/routes/list.ts';
import { changed } from '../../../platform/http/routes/outcomes.ts';
import { type Route, read, write } from '../../../platform/http/routes/route.ts';
import { page } from '../../../platform/http/routes/schemas.ts';
import { approve, deny, viewApproval } from './approvals.ts';
import { findApproval, latestRuns, listApprovals } from './queries.ts';
import { ApprovalDetail, ApprovalFilters, ApprovalView, Approve, Deny } from './schema.ts';

const reader = { kind: 'org', scope: 'policies:read', role: 'viewer' } as const;
const approver = { kind: 'org', scope: 'policies:write', role: 'admin' } as const;

export function approvalRoutes({ db }: { readonly db: Database }): Route[] {
  return [
    read({
      id: 'approvals.list',
      path: '/v1/orgs/{id}/approvals',
      summary: 'List approvals',
      access: reader,
      query: ApprovalFilters,
      response: page(ApprovalView),
      handler: ({ params, query }) => viewPage(listApprovals(db, params.id, query), viewApproval),
    }),
    read({
      id: 'approvals.read',
      path: '/v1/orgs/{id}/approvals/{approval_id}',
      summary: 'Read an approval',
      access: reader,
      response: ApprovalDetail,
      async handler({ params }) {
        const [row, run_ids] = await Promise.all([
          findApproval(db, params.id, params.approval_id),
          latestRuns(db, params.id, params.approval_id),
        ]);
        return { ...viewApproval(found(row)), run_ids };
      },
    }),
    write({
      id: 'approvals.approve',
      method: 'POST',
      path: '/v1/orgs/{id}/approvals/{approval_id}/approve',
      summary: 'Approve a request',
      description:
        'For one run, for a number of runs, or until a time. The requesting key cannot approve, nor can a key that it was ' +
        'rotated into. An approval that is no longer pending is `conflict`.',
      access: approver,
      body: Approve,
      bodyOptional: true,
      response: ApprovalView,
      errors: ['conflict'],
      async handler({ params, body, caller, now }, tx) {
        const decided = await approve(tx, { caller, now, approvalId: params.approval_id }, body);
        return changed('approval', decided, viewApproval, 'approval.approved');
      },
    }),
    write({
      id: 'approvals.deny',
      method: 'POST',
      path: '/v1/orgs/{id}/approvals/{approval_id}/deny',
      summary: 'Deny a request',
      description: 'The next attempt requests a new approval.',
      access: approver,
      body: Deny,
      bodyOptional: true,
      response: ApprovalView,
      errors: ['conflict'],
      async handler({ params, body, caller, now }, tx) {
        const decision = { caller, now, approvalId: params.approval_id };
        const decided = await deny(tx, decision, body.reason);
        return changed('approval', decided, viewApproval, 'approval.denied');
      },
    }),
  ];
}
