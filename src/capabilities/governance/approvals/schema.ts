import { type Static, Type } from 'typebox';
import { label } from '../../../ledger/scope.ts';
import { listParameters } from '../../../platform/http/routes/list.ts';
import { choice, closed, id, nullable, reason, timestamp } from '../../../platform/http/routes/schemas.ts';

export const approvalStates = ['pending', 'approved', 'denied', 'expired', 'used'] as const;
export type ApprovalState = (typeof approvalStates)[number];

export const ApprovalView = closed({
  id,
  state: choice(approvalStates),
  rule_id: id,
  rule_version: Type.Integer({ description: 'A changed rule has a new version and needs a new approval.' }),
  reason: Type.String({ description: 'The reason given by the rule.' }),
  attempted: Type.String({ description: 'The requested model or action.' }),
  key_id: Type.String({ description: 'The requesting key. It cannot decide on its own request.' }),
  model: Type.String(),
  action: nullable(Type.String()),
  requested_at: timestamp,
  expires_at: Type.String({
    format: 'date-time',
    description: 'Deadline for the decision; once approved, deadline for its use.',
  }),
  decided_at: nullable(timestamp),
  decided_by: nullable(Type.String({ description: 'The key that approved or denied.' })),
  decision_reason: nullable(Type.String()),
  uses: nullable(Type.Integer({ description: 'Number of allowed uses. Null: unlimited.' })),
  uses_left: nullable(Type.Integer()),
  uses_made: Type.Integer(),
  ended_at: nullable(timestamp),
  ended_because: nullable(
    Type.String({
      description: '`time`: it expired. `rule_changed`: the rule was changed, disabled or deleted.',
    }),
  ),
});
export type ApprovalView = Static<typeof ApprovalView>;

export const ApprovalDetail = closed({
  ...ApprovalView.properties,
  run_ids: Type.Array(Type.String(), { description: 'The latest 100 runs that used it.' }),
});
export type ApprovalDetail = Static<typeof ApprovalDetail>;

export const Approve = closed({
  uses: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 1_000_000,
      description: 'Number of runs allowed. Default: 1, or unlimited with `until`.',
    }),
  ),
  until: Type.Optional(
    Type.String({
      format: 'date-time',
      description: 'When it expires, at most one year ahead. Default: in 30 days.',
    }),
  ),
  reason: Type.Optional(reason),
});
export type Approve = Static<typeof Approve>;

export const Deny = closed({ reason: Type.Optional(reason) });

export const approvalSorts = { requested_at: 'timestamptz' } as const;
const filter = Type.Optional(label);
export const ApprovalFilters = listParameters(approvalSorts, {
  state: Type.Optional(choice(approvalStates)),
  rule_id: filter,
  key_id: filter,
  model: filter,
  action: filter,
});
export type ApprovalFilters = Static<typeof ApprovalFilters>;
