import { type Static, Type } from 'typebox';
import { limitKinds } from '../../../kernel/limits.ts';
import { positiveUsd, scopeValue } from '../../../ledger/limits/limit-fields.ts';
import { raiseSorts } from '../../../ledger/limits/limit-raises.ts';
import { listParameters } from '../../../platform/http/routes/list.ts';
import {
  choice,
  closed,
  id,
  nullable,
  reason,
  timestamp,
  usd,
} from '../../../platform/http/routes/schemas.ts';

export const raiseStates = ['active', 'ended'] as const;

export const RaiseView = closed({
  id,
  limit_id: id,
  limit_kind: choice(limitKinds),
  limit_name: nullable(Type.String()),
  scope_id: nullable(
    Type.String({
      description: 'The value that is raised, if the limit counts each value (`*`). Null: all.',
    }),
  ),
  amount_usd: usd,
  until: timestamp,
  reason: Type.String(),
  state: choice(raiseStates),
  created_by: Type.String({ description: 'The key or member that raised the limit.' }),
  created_at: timestamp,
  ended_at: nullable(timestamp),
  ended_by: nullable(
    Type.String({
      description: 'The key or member that ended it early. Null: it ended by itself, or with its limit.',
    }),
  ),
  request_id: nullable(
    Type.String({ description: 'The request that was approved. Null: the limit was raised directly.' }),
  ),
});
export type RaiseView = Static<typeof RaiseView>;

const until = Type.String({
  format: 'date-time',
  description: 'When the raise ends by itself, at most one year ahead.',
});

export const CreateRaise = closed({
  amount_usd: positiveUsd,
  until,
  reason,
  scope_id: Type.Optional(
    Type.String({
      ...scopeValue,
      description: 'Raises one value only, if the limit counts each value (`*`). Default: each value.',
    }),
  ),
});
export type CreateRaise = Static<typeof CreateRaise>;

export const RaiseFilters = listParameters(raiseSorts, {});

export const requestStates = ['pending', 'approved', 'denied', 'lapsed'] as const;
export type RequestState = (typeof requestStates)[number];

export const RaiseRequestView = closed({
  id,
  state: choice(requestStates, '`lapsed`: not decided before `until`.'),
  limit_id: id,
  limit_kind: choice(limitKinds),
  limit_name: nullable(Type.String()),
  scope_id: nullable(
    Type.String({ description: 'The value to raise, if the limit counts each value (`*`).' }),
  ),
  amount_usd: usd,
  until: timestamp,
  reason: Type.String(),
  requested_by: Type.String({
    description: 'The requesting key or member. It cannot decide on its own request.',
  }),
  requested_at: timestamp,
  decided_by: nullable(Type.String({ description: 'The key or member that approved or denied.' })),
  decided_at: nullable(timestamp),
  decision_reason: nullable(Type.String()),
  raise_id: nullable(Type.String({ description: 'The raise that the approval made.' })),
});
export type RaiseRequestView = Static<typeof RaiseRequestView>;

export const CreateRaiseRequest = closed({
  limit_id: Type.String({
    minLength: 1,
    maxLength: 100,
    description: 'A budget, the daily spend cap or a customer limit.',
  }),
  amount_usd: positiveUsd,
  until,
  reason,
  scope_id: Type.Optional(
    Type.String({
      ...scopeValue,
      description: 'The value to raise. Required if the limit counts each value (`*`).',
    }),
  ),
});
export type CreateRaiseRequest = Static<typeof CreateRaiseRequest>;

export const ApproveRaiseRequest = closed({
  amount_usd: Type.Optional(
    Type.String({ ...positiveUsd, description: 'Another amount. Default: the requested one.' }),
  ),
  until: Type.Optional(
    Type.String({ format: 'date-time', description: 'Another end. Default: the requested one.' }),
  ),
  reason: Type.Optional(reason),
});
export type ApproveRaiseRequest = Static<typeof ApproveRaiseRequest>;

export const DenyRaiseRequest = closed({ reason: Type.Optional(reason) });

export const requestSorts = { requested_at: 'timestamptz' } as const;
export const RaiseRequestFilters = listParameters(requestSorts, {
  state: Type.Optional(choice(requestStates)),
  limit_id: Type.Optional(Type.String({ minLength: 1, maxLength: 100 })),
});
export type RaiseRequestFilters = Static<typeof RaiseRequestFilters>;
