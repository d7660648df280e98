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
  rule_version: Type.Integer({ description: 'A changed rule has another version, and asks anew.' }),
  reason: Type.String({ description: 'Why the rule asks.' }),
  attempted: Type.String({ description: 'The model or action as asked for.' }),
  key_id: Type.String({ description: 'The key that asked; nobody decides about requests of its own.' }),
  model: Type.String(),
  action: nullable(Type.String()),
  requested_at: timestamp,
  expires_at: Type.String({
    format: 'date-time',
    description: 'Until when someone may decide; once approved, until when it may be used.',
  }),
  decided_at: nullable(timestamp),
  decided_by: nullable(Type.String({ description: 'The key that approved or denied.' })),
  decision_reason: nullable(Type.String()),
  uses: nullable(Type.Integer({ description: 'How often it may be used. Null: as often as one likes.' })),
  uses_left: nullable(Type.Integer()),
  uses_made: Type.Integer(),
  ended_at: nullable(timestamp),
  ended_because: nullable(
    Type.String({ description: '`time`: it was over. `rule_changed`: the rule is another one now.' }),
  ),
});
export type ApprovalView = Static<typeof ApprovalView>;

export const ApprovalDetail = closed({
  ...ApprovalView.properties,
  run_ids: Type.Array(Type.String(), { description: 'Runs that it has let pass, the latest 100.' }),
});
export type ApprovalDetail = Static<typeof ApprovalDetail>;

export const Approve = closed({
  uses: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 1_000_000,
      description: 'How many runs it lets pass. Default: 1, or with `until` as many as there are.',
    }),
  ),
  until: Type.Optional(
    Type.String({
      format: 'date-time',
      description: 'When it ends, used up or not: at most a year ahead. Default: in 30 days.',
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
