import { type Static, Type } from 'typebox';
import { listParameters } from '../../../platform/http/routes/list.ts';
import { closed, id, nullable, timestamp } from '../../../platform/http/routes/schemas.ts';

export const DeprecationEntry = closed({
  route: Type.String({ description: 'Path template. Applies to all its methods.' }),
  since: Type.String({ description: 'When the deprecation was announced, as `YYYY-MM-DD`.' }),
  sunset: Type.String({ description: 'An HTTP date (IMF-fixdate) after which the route may be removed.' }),
  replacement: Type.Optional(
    Type.String({ description: 'Path template of the successor. Omitted if there is none.' }),
  ),
  documentation: Type.String({ description: 'URL of the migration notes.' }),
});
export type DeprecationEntry = Static<typeof DeprecationEntry>;

export const DeprecationList = Type.Array(DeprecationEntry);

export const CallsView = closed({
  route: Type.String({ description: 'Path template.' }),
  org_id: nullable(Type.String({ description: 'Null for an operator key.' })),
  org_name: nullable(Type.String()),
  key_id: id,
  key_name: nullable(Type.String()),
  calls: Type.Integer({ minimum: 1 }),
  first_called_at: timestamp,
  last_called_at: timestamp,
});
export type CallsView = Static<typeof CallsView>;

export const usageSorts = {
  last_called_at: 'timestamptz',
  first_called_at: 'timestamptz',
  calls: 'int8',
} as const;
const route = Type.Optional(Type.String({ minLength: 1, maxLength: 500, description: 'Path template.' }));
export const OwnUsageFilters = listParameters(usageSorts, { route });
export const UsageFilters = listParameters(usageSorts, { route, org_id: Type.Optional(id) });
export type UsageFilters = Static<typeof UsageFilters>;
