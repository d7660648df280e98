import { type Static, Type } from 'typebox';
import { forEachName, usageDimensions } from '../../../contract/run-dimensions.ts';
import { tagPrefix } from '../../../kernel/limits.ts';
import { choice, closed, nullable, timestamp } from '../../../platform/http/routes/schemas.ts';
import { spans, usageConditions, usageRangeParameters, viewedRange } from './schema.ts';

export const topMax = 20;
const topDefault = 6;
/** 366 days, or about two weeks of hours. */
export const pointsMax = 400;

export const UsageSeriesQuery = closed({
  interval: Type.Optional(
    choice(
      spans,
      `The length of a point, in the time zone of the organization. Default: day. At most ${pointsMax} points.`,
    ),
  ),
  group_by: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 200,
      description: `One of ${[...usageDimensions, 'kind', `${tagPrefix}<name>`].join(', ')}. Default: one series of all runs.`,
      examples: ['model'],
    }),
  ),
  top: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: topMax,
      default: topDefault,
      description:
        'The number of values with a series of their own: those with the highest cost in the range.',
    }),
  ),
  latency: Type.Optional(Type.Boolean({ description: 'Also returns `latency_p95_ms`. Default: false.' })),
  ...usageRangeParameters,
  ...usageConditions,
});
export type UsageSeriesQuery = Static<typeof UsageSeriesQuery>;
export const defaultTop = topDefault;

const point = {
  runs: Type.Integer(),
  failed_runs: Type.Integer(),
  input_tokens: Type.Integer(),
  output_tokens: Type.Integer(),
  cost_usd: Type.String({ description: 'Including later corrections.' }),
  value_usd: Type.String(),
  cache_savings_usd: Type.String(),
  latency_p95_ms: Type.Optional(
    nullable(Type.Integer({ description: 'Only if requested. Null if no run has a latency.' })),
  ),
};
const UsagePoint = closed(point);

export const UsageSeriesView = closed({
  ...viewedRange,
  interval: choice(spans),
  points: Type.Array(Type.String(), {
    description: 'The start of each point: an instant, a day as `YYYY-MM-DD` or a month as `YYYY-MM`.',
  }),
  series: Type.Array(
    closed({
      kind: choice(
        ['all', 'value', 'unset', 'other'],
        '`all`: without `group_by`. `value`: the runs with `value`. `unset`: runs without a value. `other`: all other values.',
      ),
      value: nullable(Type.String()),
      points: Type.Array(nullable(UsagePoint), { description: 'One per point; null without runs.' }),
    }),
    {
      description:
        'Values by their cost, the highest first; then `other`, then `unset`. Series without runs are left out.',
    },
  ),
});
export type UsageSeriesView = Static<typeof UsageSeriesView>;

export const usedValuesDefault = 20;
export const UsageValuesQuery = closed({
  ...usageRangeParameters,
  limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 200,
      default: usedValuesDefault,
      description: 'The number of values of each field.',
    }),
  ),
});
export type UsageValuesQuery = Static<typeof UsageValuesQuery>;

const usedValues = closed({
  values: Type.Array(Type.String(), { description: 'By their cost in the range, the highest first.' }),
  more: Type.Boolean({ description: 'True if there are more values than `limit`.' }),
});

export const UsageValuesView = closed({
  from: timestamp,
  to: timestamp,
  fields: closed(forEachName(usageDimensions, usedValues)),
  tags: Type.Record(Type.String(), usedValues, { description: 'By the name of the tag.' }),
});
export type UsageValuesView = Static<typeof UsageValuesView>;
