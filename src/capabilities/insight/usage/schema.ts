import { type Static, Type } from 'typebox';
import { forEachName, usageDimensions } from '../../../contract/run-dimensions.ts';
import { label, tagCondition } from '../../../ledger/scope.ts';
import { pageParameters } from '../../../platform/http/routes/list.ts';
import { choice, closed, nullable, timestamp } from '../../../platform/http/routes/schemas.ts';
import { finishedStatuses } from '../../spend/runs/index.ts';

export const spans = ['hour', 'day', 'month'] as const;
export type Span = (typeof spans)[number];

/** In front of the name of a tag that is grouped by. */
export const tagPrefix = 'tag:';
export const dimensions: readonly string[] = [...usageDimensions, `${tagPrefix}<name>`, ...spans];
export const dimensionsMax = 2;

export const usageFormats = ['json', 'csv', 'ndjson'] as const;

export const UsageQuery = closed({
  group_by: Type.Optional(
    Type.String({
      maxLength: 200,
      description: `Up to ${dimensionsMax} of ${dimensions.join(', ')}, separated by a comma. Without it there is one row.`,
      examples: ['model', 'tag:environment,day'],
    }),
  ),
  from: Type.Optional(
    Type.String({
      ...timestamp,
      description:
        'RFC 3339 with offset. Default: 30 days before `to`, from the beginning of that day in the time zone of the organization.',
    }),
  ),
  to: Type.Optional(
    Type.String({ ...timestamp, description: 'Not included. At most 366 days after `from`. Default: now.' }),
  ),
  ...forEachName(usageDimensions, Type.Optional(label)),
  status: Type.Optional(choice(finishedStatuses, 'Runs that go on are in no sum.')),
  tag: Type.Optional(tagCondition),
  compare: Type.Optional(
    choice(
      ['previous'],
      'Also what it was before: in as many months or days where the range is made of whole ones, else in the same time.',
    ),
  ),
  format: Type.Optional(
    choice(
      usageFormats,
      'Default: json. The others hold all rows, whatever `limit` says, without the total, and come as a stream.',
    ),
  ),
  ...pageParameters,
});
export type UsageQuery = Static<typeof UsageQuery>;

const ratio = Type.Number({
  description: 'Rounded to 6 decimals; null where there is nothing to divide by.',
});
const sums = {
  runs: Type.Integer(),
  failed_runs: Type.Integer(),
  failure_rate: nullable(ratio),
  input_tokens: Type.Integer(),
  cached_input_tokens: Type.Integer(),
  cache_write_tokens: Type.Integer(),
  output_tokens: Type.Integer(),
  cost_usd: Type.String({ description: 'With later corrections.' }),
  value_usd: Type.String(),
  return_usd: Type.String({ description: '`value_usd` less `cost_usd`.' }),
  return_ratio: nullable(
    Type.Number({ description: '`return_usd` by `cost_usd`, rounded to 6 decimals; null without cost.' }),
  ),
  latency_p50_ms: nullable(
    Type.Integer({
      description: 'Within 5 %, like the other percentiles. Null: no run said how long it took.',
    }),
  ),
  latency_p90_ms: nullable(Type.Integer()),
  latency_p95_ms: nullable(Type.Integer()),
  latency_p99_ms: nullable(Type.Integer()),
};
const UsageSums = closed(sums);
export type UsageSums = Static<typeof UsageSums>;

/** Only where it was asked for. */
const compared = {
  previous: Type.Optional(UsageSums),
  change: Type.Optional(
    closed({
      runs: Type.Integer(),
      runs_ratio: nullable(ratio),
      cost_usd: Type.String(),
      cost_ratio: nullable(ratio),
    }),
  ),
};

export const UsageRow = closed({
  ...forEachName(
    usageDimensions,
    Type.Optional(nullable(Type.String({ description: 'Null: the runs did not say.' }))),
  ),
  tags: Type.Optional(
    Type.Record(Type.String(), nullable(Type.String()), {
      description:
        'The tags grouped by. Null: the runs had none; `*`: values beyond those that are told apart.',
    }),
  ),
  hour: Type.Optional(Type.String({ format: 'date-time', description: 'The instant it begins.' })),
  day: Type.Optional(Type.String({ description: 'As `YYYY-MM-DD`.' })),
  month: Type.Optional(Type.String({ description: 'As `YYYY-MM`.' })),
  ...sums,
  ...compared,
});
export type UsageRow = Static<typeof UsageRow>;

export const UsageTotal = closed({ ...sums, ...compared });
export type UsageTotal = Static<typeof UsageTotal>;

export const UsageView = closed({
  from: Type.String({
    ...timestamp,
    description: 'Where the sums begin: `from`, back to the quarter of an hour.',
  }),
  to: Type.String({ ...timestamp, description: 'Where they end: `to`, up to the quarter of an hour.' }),
  timezone: Type.String({ description: 'The time zone of hours, days and months.' }),
  previous: Type.Optional(closed({ from: timestamp, to: timestamp })),
  total: UsageTotal,
  data: Type.Array(UsageRow),
  next_cursor: Type.Unsafe<string | null>({
    type: ['string', 'null'],
    description: 'Null on the last page.',
  }),
});
export type UsageView = Static<typeof UsageView>;
