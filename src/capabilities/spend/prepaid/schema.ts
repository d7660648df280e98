import { type Static, Type } from 'typebox';
import { positiveUsd } from '../../../ledger/limits/limit-fields.ts';
import { listParameters } from '../../../platform/http/routes/list.ts';
import { closed, id, nullable, timestamp, usd } from '../../../platform/http/routes/schemas.ts';

export const PrepaidView = closed({
  id: nullable(Type.String({ description: 'Null until the organization first has a prepaid balance.' })),
  enabled: Type.Boolean({
    description: 'If true, runs are paid from the balance and denied if it does not cover them.',
  }),
  topped_up_usd: Type.String({ ...usd, description: 'Sum of all top-ups.' }),
});
export type PrepaidView = Static<typeof PrepaidView>;

export const PutPrepaid = closed({ enabled: Type.Boolean() });

export const TopUpView = closed({
  id,
  amount_usd: usd,
  reference: nullable(Type.String()),
  created_at: timestamp,
});
export type TopUpView = Static<typeof TopUpView>;

export const CreateTopUp = closed({
  amount_usd: positiveUsd,
  reference: Type.Optional(
    nullable(
      Type.String({
        minLength: 1,
        maxLength: 200,
        description: 'For example, an invoice or payment number.',
      }),
    ),
  ),
});
export type CreateTopUp = Static<typeof CreateTopUp>;

export const topUpSorts = { created_at: 'timestamptz' } as const;
export const TopUpFilters = listParameters(topUpSorts, {
  reference: Type.Optional(Type.String({ minLength: 1, maxLength: 200 })),
});
export type TopUpFilters = Static<typeof TopUpFilters>;
