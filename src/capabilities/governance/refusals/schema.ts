import { type Static, Type } from 'typebox';
import { admissionErrorCodes } from '../../../contract/errors.ts';
import { label } from '../../../ledger/scope.ts';
import { listParameters } from '../../../platform/http/routes/list.ts';
import { choice, closed, id, nullable, timestamp } from '../../../platform/http/routes/schemas.ts';

/** What the gates refuse with, routing's own among them. */
export const notedCodes = [...admissionErrorCodes, 'no_model_passes_eval'] as const;
export type NotedCode = (typeof notedCodes)[number];

const text = nullable(Type.String());

export const RefusalView = closed({
  id,
  code: choice(notedCodes),
  message: Type.String(),
  operation: Type.String({ description: 'The id of the operation, such as `runs.create`.' }),
  key_id: Type.String(),
  model: text,
  action: text,
  workflow: text,
  customer_id: text,
  details: Type.Record(Type.String(), Type.Unknown(), {
    description: 'Of the first of them, as it was answered; content is left out.',
  }),
  count: Type.Integer({ minimum: 1, description: 'How many were refused alike within about a second.' }),
  first_at: timestamp,
  last_at: timestamp,
});
export type RefusalView = Static<typeof RefusalView>;

export const refusalSorts = { last_at: 'timestamptz' } as const;
const filter = Type.Optional(label);
export const RefusalFilters = listParameters(refusalSorts, {
  code: Type.Optional(choice(notedCodes)),
  operation: filter,
  key_id: filter,
  model: filter,
  action: filter,
  workflow: filter,
  customer_id: filter,
});
export type RefusalFilters = Static<typeof RefusalFilters>;
