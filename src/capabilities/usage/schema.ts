import { type Static, Type } from 'typebox';
import { pageParameters } from '../../platform/http/list.ts';
import { closed, nullable, timestamp } from '../../platform/http/schemas.ts';
import { label } from '../../platform/ledger/scope.ts';

/** Columns of the usage sums. */
export const fields = [
  'model',
  'provider',
  'workflow',
  'deployment',
  'department',
  'team',
  'customer_id',
  'key_id',
  'status',
] as const;
export type Field = (typeof fields)[number];

export const spans = ['hour', 'day', 'month'] as const;
export type Span = (typeof spans)[number];

export type Dimension = Field | Span;
export const dimensions: readonly Dimension[] = [...fields, ...spans];
export const dimensionsMax = 2;

function each<Name extends string, Schema>(names: readonly Name[], schema: Schema) {
  return Object.fromEntries(names.map((name) => [name, schema])) as Record<Name, Schema>;
}

export const UsageQuery = closed({
  group_by: Type.Optional(
    Type.String({
      maxLength: 100,
      description: `Up to ${dimensionsMax} of ${dimensions.join(', ')}, separated by a comma. Without it there is one row.`,
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
  ...each(fields, Type.Optional(label)),
  ...pageParameters,
});
export type UsageQuery = Static<typeof UsageQuery>;

const sums = {
  runs: Type.Integer(),
  input_tokens: Type.Integer(),
  cached_input_tokens: Type.Integer(),
  cache_write_tokens: Type.Integer(),
  output_tokens: Type.Integer(),
  cost_usd: Type.String({ description: 'With later corrections.' }),
  value_usd: Type.String(),
};

export const UsageRow = closed({
  ...each(fields, Type.Optional(nullable(Type.String({ description: 'Null: the runs did not say.' })))),
  hour: Type.Optional(Type.String({ format: 'date-time', description: 'The instant it begins.' })),
  day: Type.Optional(Type.String({ description: 'As `YYYY-MM-DD`.' })),
  month: Type.Optional(Type.String({ description: 'As `YYYY-MM`.' })),
  ...sums,
});
export type UsageRow = Static<typeof UsageRow>;

export const UsageTotal = closed(sums);
export type UsageTotal = Static<typeof UsageTotal>;

export const UsageView = closed({
  from: Type.String({
    ...timestamp,
    description: 'Where the sums begin: `from`, back to the quarter of an hour.',
  }),
  to: Type.String({ ...timestamp, description: 'Where they end: `to`, up to the quarter of an hour.' }),
  timezone: Type.String({ description: 'The time zone of hours, days and months.' }),
  total: UsageTotal,
  data: Type.Array(UsageRow),
  next_cursor: Type.Unsafe<string | null>({
    type: ['string', 'null'],
    description: 'Null on the last page.',
  }),
});
export type UsageView = Static<typeof UsageView>;
