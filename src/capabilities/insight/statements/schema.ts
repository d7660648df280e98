import { type Static, Type } from 'typebox';
import { formatMessage } from '../../../contract/format-message.ts';
import { listParameters } from '../../../platform/http/routes/list.ts';
import { choice, closed, id, nullable, timestamp, usd } from '../../../platform/http/routes/schemas.ts';
import { differenceCauses } from './difference.ts';
import { type TokenKind, tokenKinds } from './statement-line.ts';

/** A page has at most some hundred results; this also limits the number of JSON values. */
const pagesMax = 10_000;
const csvCharactersMax = 32 * 1024 * 1024;
export const defaultDriftThreshold = '1';

/** Dimensions of runs that may hold the provider's project; none that names people, who can be erased. */
const projectColumns = ['project', 'workflow', 'deployment', 'department', 'team'];

export const CreateStatement = closed({
  pages: Type.Optional(
    Type.Array(Type.Object({}, { additionalProperties: true }), {
      minItems: 1,
      maxItems: pagesMax,
      description:
        'Pages as the provider returned them: of OpenAI `/v1/organization/costs` and ' +
        '`/v1/organization/usage/…`, or of Anthropic `/v1/organizations/cost_report` and ' +
        '`/v1/organizations/usage_report/messages`. A page may also be its `data` alone, or one of its time buckets.',
    }),
  ),
  csv: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: csvCharactersMax,
      description:
        "A CSV file instead of `pages`: in the columns of FOCUS 1.2 to 1.4, or the exports of OpenAI's usage dashboard or Anthropic's " +
        'console. Costs and usage may be appended to one another, each with its header.',
    }),
  ),
  project_dimension: Type.Optional(
    Type.String({
      pattern: `^(${projectColumns.join('|')}|tag:[^\\u0000]{1,100})$`,
      [formatMessage]: `Must be one of ${projectColumns.join(', ')}, or tag:<name>.`,
      description: `The dimension of runs that holds the provider's project: one of ${projectColumns.join(', ')}, or tag:<name>. Default: none; projects are added up.`,
    }),
  ),
  gateway_key_ids: Type.Optional(
    Type.Array(Type.String({ minLength: 1, maxLength: 200 }), {
      maxItems: 1_000,
      description:
        "The provider's ids of the API keys that your recorded calls use. Calls with other keys are then reported as `missing`.",
    }),
  ),
  drift_threshold_usd: Type.Optional(
    Type.String({
      ...usd,
      description: `Sum of the differences from which \`statement.drift\` is sent. Default: ${defaultDriftThreshold}.`,
    }),
  ),
});
export type CreateStatement = Static<typeof CreateStatement>;

const day = Type.String({ description: 'As `YYYY-MM-DD`, in UTC.' });

export const StatementView = closed({
  id,
  provider: Type.String(),
  sources: Type.Array(Type.String(), { description: 'The reports that were uploaded.' }),
  not_compared: Type.Array(
    closed({
      source: Type.String(),
      reason: Type.String(),
    }),
    { description: 'Reports among the sources whose quantities no run has. Their costs are compared.' },
  ),
  period_start: day,
  period_end: Type.String({ description: 'Exclusive. As `YYYY-MM-DD`, in UTC.' }),
  digest: Type.String({ description: 'SHA-256 of the lines.' }),
  lines: Type.Integer(),
  billed_usd: Type.String(),
  project_dimension: nullable(Type.String()),
  gateway_key_ids: Type.Unsafe<string[] | null>({ type: ['array', 'null'], items: { type: 'string' } }),
  drift_threshold_usd: Type.String(),
  compared_at: nullable(timestamp),
  difference_usd: nullable(
    Type.String({ description: 'Billed less recorded, when the statement was first compared.' }),
  ),
  drift_usd: nullable(
    Type.String({ description: 'Sum of the differences of all rows, each taken as positive, at that time.' }),
  ),
  reconciled_at: nullable(timestamp),
  reconciled_runs: Type.Integer({ description: 'Number of runs that reconciliation has posted.' }),
  reconciled_usd: Type.String(),
  created_at: timestamp,
});
export type StatementView = Static<typeof StatementView>;

export const statementSorts = { created_at: 'timestamptz' } as const;
export const StatementFilters = listParameters(statementSorts, {
  provider: Type.Optional(Type.String({ minLength: 1, maxLength: 200 })),
});
export type StatementFilters = Static<typeof StatementFilters>;

export const ComparisonQuery = listParameters(
  { day: 'text' },
  {
    cause: Type.Optional(choice(differenceCauses, 'Only rows with this cause.')),
  },
);
export type ComparisonQuery = Static<typeof ComparisonQuery>;

const signed = Type.String({ description: 'US dollars as a decimal string; may be negative.' });
const sums = closed({
  usd: signed,
  input_tokens: nullable(
    Type.Integer({ description: 'Null if the statement does not count the tokens of the row.' }),
  ),
  cached_input_tokens: nullable(Type.Integer({ description: 'Part of `input_tokens`.' })),
  cache_write_tokens: nullable(Type.Integer({ description: 'Part of `input_tokens`.' })),
  output_tokens: nullable(Type.Integer()),
});
export type SumsView = Static<typeof sums>;

export const ComparisonRow = closed({
  day,
  model: Type.String({ description: 'As billed.' }),
  project: nullable(Type.String()),
  billed: sums,
  recorded: sums,
  difference: sums,
  causes: Type.Array(
    closed({
      cause: choice(differenceCauses),
      kind: Type.Unsafe<TokenKind | null>({
        type: ['string', 'null'],
        enum: [...tokenKinds, null],
        description:
          'For `price`: the kind of tokens whose rate differs. Null if the statement or the ledger does not tell kinds apart.',
      }),
      usd: signed,
      tokens: nullable(
        Type.Integer({ description: 'Null if the statement does not count the tokens of the row.' }),
      ),
      provider_key_ids: Type.Array(Type.String(), {
        description: "For `missing`: the provider's API keys that the calls may have used.",
      }),
    }),
    { description: 'They add up to the difference exactly.' },
  ),
});
export type ComparisonRow = Static<typeof ComparisonRow>;

export const ComparisonView = closed({
  statement_id: id,
  timezone: Type.String({ description: 'Time zone of the days of `recorded`. Days of `billed` are in UTC.' }),
  total: closed({
    billed_usd: signed,
    recorded_usd: signed,
    difference_usd: signed,
    causes: Type.Array(
      closed({
        cause: choice(differenceCauses),
        usd: signed,
        rows: Type.Integer({ description: 'Number of rows with this cause.' }),
        kinds: Type.Array(closed({ kind: choice(tokenKinds), usd: signed }), {
          description: 'For `price`: the kinds of tokens whose rates differ, as far as they are known.',
        }),
      }),
    ),
  }),
  data: Type.Array(ComparisonRow),
  next_cursor: Type.Unsafe<string | null>({
    type: ['string', 'null'],
    description: 'Null on the last page.',
  }),
});
export type ComparisonView = Static<typeof ComparisonView>;
