import { type Static, Type } from 'typebox';
import { periods } from '../../../kernel/windows.ts';
import {
  optionalSpendingFields,
  scopeValueOrWildcard,
  spendingFields,
  viewedSpending,
} from '../../../ledger/limits/limit-fields.ts';
import { listParameters } from '../../../platform/http/routes/list.ts';
import {
  choice,
  closed,
  id,
  nullable,
  partial,
  timestamp,
  usd,
} from '../../../platform/http/routes/schemas.ts';

const customerId = Type.String({
  ...scopeValueOrWildcard,
  description: 'An end customer, or `*` for every customer without a limit of its own.',
});

export const CustomerLimitView = closed({ id, customer_id: Type.String(), ...viewedSpending });
export type CustomerLimitView = Static<typeof CustomerLimitView>;

export const CreateCustomerLimit = closed({ customer_id: customerId, ...optionalSpendingFields });
export type CreateCustomerLimit = Static<typeof CreateCustomerLimit>;

export const PatchCustomerLimit = partial(spendingFields);

export const customerLimitSorts = { created_at: 'timestamptz' } as const;
export const CustomerLimitFilters = listParameters(customerLimitSorts, {
  customer_id: Type.Optional(Type.String({ minLength: 1, maxLength: 200 })),
  period: Type.Optional(choice(periods)),
});
export type CustomerLimitFilters = Static<typeof CustomerLimitFilters>;

export const CustomerPeriod = closed({
  cost_usd: Type.String(),
  runs: Type.Integer({ description: 'Runs that were charged in the period.' }),
  last_active_on: nullable(
    Type.String({
      description:
        'The last day of the period with runs, as `YYYY-MM-DD` in the time zone of the organization; null without runs.',
    }),
  ),
  trend: Type.Optional(
    Type.Array(Type.String(), {
      description: 'The cost of each day of the period, in order. Only if requested.',
    }),
  ),
});
export type CustomerPeriod = Static<typeof CustomerPeriod>;

export const CustomerView = closed({
  customer_id: Type.String(),
  cost_usd: Type.String({ ...usd, description: 'Total cost of all its runs.' }),
  runs: Type.Integer({ minimum: 0 }),
  limits: Type.Array(
    closed({
      id,
      period: choice(periods),
      limit_usd: usd,
      spent_usd: Type.String({ ...usd, description: 'Settled and held amounts in the current window.' }),
    }),
    { description: 'The limits of this customer. If it has none, the limit for `*` applies.' },
  ),
  credits_usd: nullable(
    Type.String({
      ...usd,
      description:
        'Remaining credits in its live packs. Null: it has no live pack, or the caller lacks `credits:read`.',
    }),
  ),
  period: Type.Optional(CustomerPeriod),
});
export type CustomerView = Static<typeof CustomerView>;

export const customerSorts = {
  customer_id: 'text',
  'period.cost_usd': 'numeric',
  'period.runs': 'int8',
  'period.last_active_on': 'int8',
} as const;
export const CustomerFilters = listParameters(customerSorts, {
  customer_id: Type.Optional(
    Type.String({ minLength: 1, maxLength: 200, description: 'Only this customer.' }),
  ),
  from: Type.Optional(
    Type.String({
      ...timestamp,
      description:
        'Start of the period, whose usage is returned as `period`. Default: 30 days before `to`, if anything else about the ' +
        'period is requested.',
    }),
  ),
  to: Type.Optional(
    Type.String({ ...timestamp, description: 'Exclusive. At most 366 days after `from`. Default: now.' }),
  ),
  trend: Type.Optional(
    Type.Boolean({
      description: 'Also returns the cost of each day of the period, which has at most 92 days.',
    }),
  ),
});
export type CustomerFilters = Static<typeof CustomerFilters>;
