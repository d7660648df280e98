import { type Static, Type } from 'typebox';
import {
  forEachName,
  labelDimensions,
  type UsageDimension,
  usageDimensions,
} from '../../../contract/run-dimensions.ts';
import { namedKinds } from '../../../kernel/cost-parts.ts';
import { tagPrefix } from '../../../kernel/limits.ts';
import { label, tagCondition } from '../../../ledger/scope.ts';
import { unsetParameter } from '../../../ledger/unset-fields.ts';
import { pageParameters } from '../../../platform/http/routes/list.ts';
import { choice, closed, nullable, timestamp } from '../../../platform/http/routes/schemas.ts';
import { finishedStatuses } from '../../spend/runs/index.ts';

export const spans = ['hour', 'day', 'month'] as const;
export type UsageSpan = (typeof spans)[number];

export const dimensions: readonly string[] = [...usageDimensions, 'kind', `${tagPrefix}<name>`, ...spans];
export const dimensionsMax = 2;

export const usageFormats = ['json', 'csv', 'ndjson'] as const;

/** Dimensions that runs may have no value for. */
export const optionalDimensions: readonly UsageDimension[] = usageDimensions.filter((name) =>
  labelDimensions.some((label) => label === name),
);

/** Conditions of the runs that count. */
export const runConditions = {
  ...forEachName(usageDimensions, Type.Optional(label)),
  status: Type.Optional(
    choice(
      ['running', ...finishedStatuses],
      '`running`: unsettled runs, whose held amount was posted. Other runs in progress are not counted.',
    ),
  ),
  tag: Type.Optional(tagCondition),
  without: unsetParameter(optionalDimensions),
};
export const usageConditions = {
  ...runConditions,
  kind: Type.Optional(
    Type.String({
      ...label,
      description:
        `Only the cost of one kind of usage: ${namedKinds.join(', ')} or unit:<name>. Rows by kind have the cost and the quantity of the ` +
        'kind; their other figures are 0.',
      examples: ['cached_input'],
    }),
  ),
};
const UsageConditions = closed(usageConditions);
export type UsageConditions = Static<typeof UsageConditions>;

export const usageRangeParameters = {
  from: Type.Optional(
    Type.String({
      ...timestamp,
      description:
        'RFC 3339 with offset. Default: 30 days before `to`, at the start of that day in the time zone of the ' +
        'organization.',
    }),
  ),
  to: Type.Optional(
    Type.String({ ...timestamp, description: 'Exclusive. At most 366 days after `from`. Default: now.' }),
  ),
};

export const UsageQuery = closed({
  group_by: Type.Optional(
    Type.String({
      maxLength: 200,
      description:
        `Up to ${dimensionsMax} of ${dimensions.join(', ')}, separated by commas. Default: one row without ` +
        'grouping.',
      examples: ['model', 'tag:environment,day'],
    }),
  ),
  ...usageRangeParameters,
  ...usageConditions,
  compare: Type.Optional(
    choice(
      ['previous'],
      'Also returns the previous period: the same number of months or days if the range consists of whole ones, ' +
        'otherwise the same duration.',
    ),
  ),
  format: Type.Optional(
    choice(
      usageFormats,
      'Default: json. The other formats stream all rows, regardless of `limit`, without the total.',
    ),
  ),
  ...pageParameters,
});
export type UsageQuery = Static<typeof UsageQuery>;

export const OwnUsageQuery = closed({
  group_by: UsageQuery.properties.group_by,
  ...usageRangeParameters,
  ...pageParameters,
});

const ratio = Type.Number({
  description: 'Rounded to 6 decimals; null if the divisor is zero.',
});
const sums = {
  runs: Type.Integer(),
  failed_runs: Type.Integer(),
  failure_rate: nullable(ratio),
  input_tokens: Type.Integer(),
  cached_input_tokens: Type.Integer(),
  cache_write_tokens: Type.Integer(),
  output_tokens: Type.Integer(),
  cost_usd: Type.String({ description: 'Including later corrections.' }),
  value_usd: Type.String(),
  return_usd: Type.String({ description: '`value_usd` minus `cost_usd`.' }),
  return_ratio: nullable(
    Type.Number({
      description: '`return_usd` divided by `cost_usd`, rounded to 6 decimals; null without cost.',
    }),
  ),
  latency_p50_ms: nullable(
    Type.Integer({
      description: 'Within 5 %, like the other percentiles. Null if no run has a latency.',
    }),
  ),
  latency_p90_ms: nullable(Type.Integer()),
  latency_p95_ms: nullable(Type.Integer()),
  latency_p99_ms: nullable(Type.Integer()),
  cache_savings_usd: Type.String({
    description: 'By how much more the cached input tokens would have cost as other input.',
  }),
  quantity: nullable(
    Type.Integer({ description: 'Tokens, units or calls. Null unless grouped or filtered by kind.' }),
  ),
};
const UsageSums = closed(sums);
export type UsageSums = Static<typeof UsageSums>;

/** Fields that are present only if a comparison was requested. */
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
    Type.Optional(nullable(Type.String({ description: 'Null: the runs have no value.' }))),
  ),
  kind: Type.Optional(Type.String({ description: 'The kind of usage, if grouped by it.' })),
  tags: Type.Optional(
    Type.Record(Type.String(), nullable(Type.String()), {
      description:
        'The tags grouped by. Null: the runs do not have the tag; `*`: values beyond the maximum number per day.',
    }),
  ),
  hour: Type.Optional(Type.String({ format: 'date-time', description: 'Start of the hour.' })),
  day: Type.Optional(Type.String({ description: 'As `YYYY-MM-DD`.' })),
  month: Type.Optional(Type.String({ description: 'As `YYYY-MM`.' })),
  ...sums,
  ...compared,
});
export type UsageRow = Static<typeof UsageRow>;

export const UsageTotal = closed({ ...sums, ...compared });
export type UsageTotal = Static<typeof UsageTotal>;

/** The period that a response covers. */
export const viewedRange = {
  from: Type.String({
    ...timestamp,
    description: 'Start of the period: `from`, rounded down to 15 minutes.',
  }),
  to: Type.String({ ...timestamp, description: 'End of the period: `to`, rounded up to 15 minutes.' }),
  timezone: Type.String({ description: 'Time zone of hours, days and months.' }),
};

export const UsageView = closed({
  ...viewedRange,
  previous: Type.Optional(closed({ from: timestamp, to: timestamp })),
  total: UsageTotal,
  data: Type.Array(UsageRow),
  next_cursor: Type.Unsafe<string | null>({
    type: ['string', 'null'],
    description: 'Null on the last page.',
  }),
});
export type UsageView = Static<typeof UsageView>;
