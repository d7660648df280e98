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
});
export type RaiseView = Static<typeof RaiseView>;

export const CreateRaise = closed({
  amount_usd: positiveUsd,
  until: Type.String({
    format: 'date-time',
    description: 'When the raise ends by itself, at most one year ahead.',
  }),
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
