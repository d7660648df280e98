import { type Static, Type } from 'typebox';
import { formatMessage } from '../../../contract/format-message.ts';
import { listParameters } from '../../../platform/http/routes/list.ts';
import { closed, id, name, nullable, timestamp } from '../../../platform/http/routes/schemas.ts';
import { metricNames } from './figures.ts';

/** Free text, compared without regard to case. */
const word = Type.String({
  minLength: 1,
  maxLength: 100,
  pattern: '\\S',
  [formatMessage]: 'Must not be blank.',
  examples: ['software'],
});

export const PutParticipation = closed({
  enabled: Type.Boolean({ description: 'Whether the figures of the organization count in benchmarks.' }),
  industry: Type.Optional(nullable(word)),
  size_band: Type.Optional(nullable(word)),
});
export type PutParticipation = Static<typeof PutParticipation>;

export const ParticipationView = closed({
  enabled: Type.Boolean(),
  industry: nullable(Type.String()),
  size_band: nullable(Type.String()),
  updated_at: nullable(Type.String({ format: 'date-time', description: 'Null if it was never set.' })),
});
export type ParticipationView = Static<typeof ParticipationView>;

const criteria = closed({
  industry: Type.Optional(nullable(word)),
  size_band: Type.Optional(nullable(word)),
});

export const CreateCohort = closed({ name, criteria });
export type CreateCohort = Static<typeof CreateCohort>;

const described = {
  id,
  name: Type.String(),
  criteria: closed({ industry: nullable(Type.String()), size_band: nullable(Type.String()) }),
  created_at: timestamp,
};
export const CohortView = closed(described);
export type CohortView = Static<typeof CohortView>;

export const cohortSorts = { created_at: 'timestamptz', name: 'text' } as const;
export const CohortFilters = listParameters(cohortSorts, {});
export type CohortFilters = Static<typeof CohortFilters>;

const quarter = nullable(
  Type.Integer({
    minimum: 1,
    maximum: 4,
    description: 'Quarter of the cohort in which your figure lies; 1 is the lowest.',
  }),
);
const numbers = nullable(
  closed({
    q1: Type.Number(),
    median: Type.Number(),
    q3: Type.Number(),
    own: nullable(Type.Number({ description: 'Null if you have no such figure.' })),
    own_quarter: quarter,
  }),
);
const amounts = nullable(
  closed({
    q1: Type.String(),
    median: Type.String(),
    q3: Type.String(),
    own: nullable(Type.String({ description: 'Null if you have no such figure.' })),
    own_quarter: quarter,
  }),
);

export const BenchmarkView = closed({
  ...described,
  release: closed({
    week: Type.String({ description: 'Monday of the week in UTC, as `YYYY-MM-DD`.' }),
    from: Type.String({ ...timestamp, description: 'Start of the period that the figures cover.' }),
    until: Type.String({ ...timestamp, description: 'When the next release replaces this one.' }),
  }),
  contributing_orgs: Type.Integer({ description: 'Number of organizations in the figures.' }),
  minimum_cohort_size: Type.Integer(),
  metrics: Type.Object(
    Object.fromEntries(metricNames.map((metric) => [metric, metric.endsWith('_usd') ? amounts : numbers])),
    {
      additionalProperties: false,
      description:
        'Quartiles with equal weight per organization, rounded to two significant digits. Null if too few ' +
        'organizations have this figure.',
    },
  ),
  model_mix: Type.Array(
    closed({
      model: Type.String(),
      share: Type.Number({ description: "Mean of the organizations' shares of runs." }),
      own_share: Type.Number(),
    }),
    { description: 'Models that enough organizations use and that no single organization dominates.' },
  ),
});
export type BenchmarkView = Static<typeof BenchmarkView>;
