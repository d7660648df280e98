import { type Static, Type } from 'typebox';
import { limitKinds } from '../../../kernel/limits.ts';
import { listParameters } from '../../../platform/http/routes/list.ts';
import { choice, closed, id, nullable, timestamp } from '../../../platform/http/routes/schemas.ts';

const status = choice(['active', 'suspended']);

export const OrgSummaryView = closed({
  id,
  name: Type.String(),
  slug: Type.String(),
  status,
  created_at: timestamp,
  month_start: Type.String({
    ...timestamp,
    description:
      'Start of the month that `spend_usd` and `runs` are of, in the time zone of the organization.',
  }),
  spend_usd: Type.String({ description: 'Spend since `month_start`.' }),
  runs: Type.Integer({ description: 'Runs since `month_start`.' }),
  prepaid_balance_usd: nullable(
    Type.String({ description: 'What is left of the prepaid balance; null if it is disabled.' }),
  ),
  nearest_limit: nullable(
    Type.Object(
      {
        kind: choice(limitKinds),
        used_percent: Type.Integer({ description: 'Settled and held, in percent of the limit.' }),
      },
      {
        additionalProperties: false,
        description:
          'The limit on the whole organization that is used most: plan, prepaid balance, quota, spend cap or ' +
          'budget. Null if there is none.',
      },
    ),
  ),
  last_active_at: nullable(
    Type.String({
      ...timestamp,
      description: 'When a key of the organization was last used, or a run charged.',
    }),
  ),
  as_of: nullable(
    Type.String({ ...timestamp, description: 'When the figures were computed; null: not yet.' }),
  ),
});
export type OrgSummaryView = Static<typeof OrgSummaryView>;

export const summarySorts = {
  created_at: 'timestamptz',
  name: 'text',
  spend_usd: 'int8',
  runs: 'int8',
  used_percent: 'int8',
  last_active_at: 'timestamptz',
} as const;

export const SummaryFilters = listParameters(summarySorts, {
  status: Type.Optional(status),
  search: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 200,
      description: 'Part of the name, slug or id, in upper or lower case.',
    }),
  ),
});
export type SummaryFilters = Static<typeof SummaryFilters>;
