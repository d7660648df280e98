import { type Static, Type } from 'typebox';
import { listParameters } from '../../../platform/http/routes/list.ts';
import { choice, closed, id, nullable, timestamp } from '../../../platform/http/routes/schemas.ts';

export const ErasureView = closed({
  id,
  pseudonym: Type.String({ description: 'What the customer is called since: sums are under this name.' }),
  state: choice(['erasing', 'erased']),
  requested_at: timestamp,
  finished_at: nullable(Type.String({ format: 'date-time' })),
  changed: Type.Integer({ description: 'How many rows told of the customer.' }),
});
export type ErasureView = Static<typeof ErasureView>;

export const erasureSorts = { requested_at: 'timestamptz' } as const;
export const ErasureFilters = listParameters(erasureSorts, {});
export type ErasureFilters = Static<typeof ErasureFilters>;
