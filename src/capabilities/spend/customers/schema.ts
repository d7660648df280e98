import { type Static, Type } from 'typebox';
import { periods } from '../../../kernel/windows.ts';
import {
  optionalSpendingFields,
  scopeValueOrWildcard,
  spendingFields,
  viewedSpending,
} from '../../../ledger/limits/limit-fields.ts';
import { listParameters } from '../../../platform/http/routes/list.ts';
import { choice, closed, id, nullable, partial, usd } from '../../../platform/http/routes/schemas.ts';

const customerId = Type.String({
  ...scopeValueOrWildcard,
  description: 'An end customer, or `*` for each of those that have no limit of their own.',
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

export const CustomerView = closed({
  customer_id: Type.String(),
  cost_usd: Type.String({ ...usd, description: 'What its runs have cost since the beginning.' }),
  runs: Type.Integer({ minimum: 0 }),
  limits: Type.Array(
    closed({
      id,
      period: choice(periods),
      limit_usd: usd,
      spent_usd: Type.String({ ...usd, description: 'Settled and held, in the window of now.' }),
    }),
    { description: 'Its own. Without any, the limit of `*` holds for it.' },
  ),
  credits_usd: nullable(
    Type.String({
      ...usd,
      description:
        'What is left in its live credit packs. Null: it has none, or the caller lacks `credits:read`.',
    }),
  ),
});
export type CustomerView = Static<typeof CustomerView>;

export const customerSorts = { customer_id: 'text' } as const;
export const CustomerFilters = listParameters(customerSorts, {
  customer_id: Type.Optional(Type.String({ minLength: 1, maxLength: 200, description: 'This one alone.' })),
});
export type CustomerFilters = Static<typeof CustomerFilters>;
