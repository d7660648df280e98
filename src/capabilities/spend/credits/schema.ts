import { type Static, Type } from 'typebox';
import { positiveUsd, scopeValue, viewedTimes } from '../../../ledger/limits/limit-fields.ts';
import { listParameters } from '../../../platform/http/routes/list.ts';
import {
  choice,
  closed,
  id,
  name,
  nullable,
  partial,
  timestamp,
  usd,
} from '../../../platform/http/routes/schemas.ts';

export const CreditPackView = closed({
  id,
  customer_id: Type.String(),
  name: nullable(Type.String()),
  amount_usd: usd,
  expires_at: nullable(Type.String({ ...timestamp, description: 'Null: never.' })),
  status: choice(['live', 'expired', 'voided']),
  ...viewedTimes,
});
export type CreditPackView = Static<typeof CreditPackView>;

const expiry = nullable(
  Type.String({ ...timestamp, description: 'RFC 3339 with offset, in the future. Null: does not expire.' }),
);

export const CreateCreditPack = closed({
  customer_id: scopeValue,
  amount_usd: positiveUsd,
  expires_at: Type.Optional(expiry),
  name: Type.Optional(nullable(name)),
});
export type CreateCreditPack = Static<typeof CreateCreditPack>;

/** Amount and customer cannot be changed. */
export const PatchCreditPack = partial({ name: nullable(name), expires_at: expiry });
export type PatchCreditPack = Static<typeof PatchCreditPack>;

export const creditPackSorts = { created_at: 'timestamptz' } as const;
export const CreditPackFilters = listParameters(creditPackSorts, {
  customer_id: Type.Optional(Type.String({ minLength: 1, maxLength: 200 })),
  status: Type.Optional(choice(['live', 'expired'])),
});
export type CreditPackFilters = Static<typeof CreditPackFilters>;
