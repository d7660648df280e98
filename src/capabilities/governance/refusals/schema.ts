import { type Static, Type } from 'typebox';
import { admissionErrorCodes } from '../../../contract/errors.ts';
import { label } from '../../../ledger/scope.ts';
import { listParameters } from '../../../platform/http/routes/list.ts';
import { choice, closed, id, nullable, timestamp } from '../../../platform/http/routes/schemas.ts';

/** Error codes of the admission checks and of routing. */
export const recordedCodes = [...admissionErrorCodes, 'no_model_passes_eval'] as const;
export type RecordedCode = (typeof recordedCodes)[number];

const text = nullable(Type.String());

export const RefusalView = closed({
  id,
  code: choice(recordedCodes),
  message: Type.String(),
  operation: Type.String({ description: 'The id of the operation, such as `runs.create`.' }),
  key_id: Type.String(),
  model: text,
  action: text,
  workflow: text,
  customer_id: text,
  details: Type.Record(Type.String(), Type.Unknown(), {
    description: 'Details of the first denial, without content.',
  }),
  count: Type.Integer({ minimum: 1, description: 'Number of equal denials within about a second.' }),
  first_at: timestamp,
  last_at: timestamp,
});
export type RefusalView = Static<typeof RefusalView>;

export const refusalSorts = { last_at: 'timestamptz' } as const;
const filter = Type.Optional(label);
export const RefusalFilters = listParameters(refusalSorts, {
  code: Type.Optional(choice(recordedCodes)),
  operation: filter,
  key_id: filter,
  model: filter,
  action: filter,
  workflow: filter,
  customer_id: filter,
});
export type RefusalFilters = Static<typeof RefusalFilters>;
