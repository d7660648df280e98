import { type Static, Type } from 'typebox';
import { listParameters } from '../../../platform/http/routes/list.ts';
import { choice, closed, id, nullable, timestamp } from '../../../platform/http/routes/schemas.ts';

export const ErasureView = closed({
  id,
  pseudonym: Type.String({ description: 'Pseudonym of the customer. Sums are listed under this name.' }),
  state: choice(['erasing', 'erased']),
  requested_at: timestamp,
  finished_at: nullable(Type.String({ format: 'date-time' })),
  changed: Type.Integer({ description: "Number of rows that contained the customer's id." }),
});
export type ErasureView = Static<typeof ErasureView>;

export const erasureSorts = { requested_at: 'timestamptz' } as const;
export const ErasureFilters = listParameters(erasureSorts, {});
export type ErasureFilters = Static<typeof ErasureFilters>;
