import { type Static, Type } from 'typebox';
import { listParameters } from '../../../platform/http/routes/list.ts';
import { closed, id, name, nullable, timestamp } from '../../../platform/http/routes/schemas.ts';
import { metricNames } from './figures.ts';

/** In your own words; upper and lower case are not told apart. */
const word = Type.String({ minLength: 1, maxLength: 100, pattern: '\\S', examples: ['software'] });

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
  updated_at: nullable(Type.String({ format: 'date-time', description: 'Null: it was never set.' })),
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
    description: 'The quarter of the cohort in which your own figure lies; 1 is the lowest.',
  }),
);
const numbers = nullable(
  closed({
    q1: Type.Number(),
    median: Type.Number(),
    q3: Type.Number(),
    own: nullable(Type.Number({ description: 'Null: you have none.' })),
    own_quarter: quarter,
  }),
);
const amounts = nullable(
  closed({
    q1: Type.String(),
    median: Type.String(),
    q3: Type.String(),
    own: nullable(Type.String({ description: 'Null: you have none.' })),
    own_quarter: quarter,
  }),
);

export const BenchmarkView = closed({
  ...described,
  release: closed({
    week: Type.String({ description: 'The Monday, in UTC, as `YYYY-MM-DD`.' }),
    from: Type.String({ ...timestamp, description: 'The figures are about the time from here on.' }),
    until: Type.String({ ...timestamp, description: 'When the next release takes its place.' }),
  }),
  contributing_orgs: Type.Integer({ description: 'How many organizations the figures are made of.' }),
  minimum_cohort_size: Type.Integer(),
  metrics: Type.Object(
    Object.fromEntries(metricNames.map((metric) => [metric, metric.endsWith('_usd') ? amounts : numbers])),
    {
      additionalProperties: false,
      description:
        'Quartiles, each organization counting once, rounded to two digits. Null: too few have this figure.',
    },
  ),
  model_mix: Type.Array(
    closed({
      model: Type.String(),
      share: Type.Number({ description: "The mean of the organizations' own shares of their runs." }),
      own_share: Type.Number(),
    }),
    { description: 'Models that enough organizations use, and that none of them alone makes up.' },
  ),
});
export type BenchmarkView = Static<typeof BenchmarkView>;
