import { type Static, Type } from 'typebox';
import { forEachName, labelDimensions, runDimensionNames } from '../../../contract/run-dimensions.ts';
import { namedKinds } from '../../../kernel/cost-parts.ts';
import type { Mark } from '../../../ledger/posting.ts';
import {
  estimate,
  images,
  label,
  metadata,
  scopeFields,
  tagCondition,
  tags,
  tokens,
} from '../../../ledger/scope.ts';
import { serviceFields } from '../../../ledger/service-fields.ts';
import { unsetParameter } from '../../../ledger/unset-fields.ts';
import { listParameters } from '../../../platform/http/routes/list.ts';
import {
  choice,
  closed,
  id,
  nullable,
  reason,
  signedUsd,
  timestamp,
  usd,
} from '../../../platform/http/routes/schemas.ts';
import { contentCharactersMax } from '../../governance/safety/index.ts';

export const finishedStatuses = ['succeeded', 'failed', 'cancelled'] as const;
export const runStatuses = ['running', ...finishedStatuses] as const;
export type RunStatus = (typeof runStatuses)[number];

const partOf = (whole: string, more = '') =>
  Type.Integer({ ...tokens, description: `Part of \`${whole}\`${more}.` });
const ofReasoning =
  ', charged like other output. Told apart in `cost_parts` only: send it again when you complete a run';
const ofAudio =
  ', for models with a separate audio price. Used to compute the cost and not stored: send it again when you complete a run';

const ofImages =
  ', for models with a separate price of images that they read. Used to compute the cost and not stored: send it again when you ' +
  'complete a run';

/** Maximum number of `other_models` of a run. Few calls use more than one, such as an advisor. */
const otherModelsMax = 16;
const otherModels = Type.Array(
  closed({
    model: label,
    input_tokens: Type.Optional(tokens),
    cached_input_tokens: Type.Optional(partOf('input_tokens')),
    cached_image_input_tokens: Type.Optional(partOf('cached_input_tokens')),
    cache_write_tokens: Type.Optional(partOf('input_tokens')),
    cache_write_1h_tokens: Type.Optional(partOf('input_tokens')),
    image_input_tokens: Type.Optional(partOf('input_tokens')),
    output_tokens: Type.Optional(tokens),
    reasoning_tokens: Type.Optional(partOf('output_tokens')),
  }),
  {
    maxItems: otherModelsMax,
    description:
      'Tokens that other models used within the call, such as an advisor. Included in the counts of the run, and charged at the ' +
      'prices of these models. Used to compute the cost and not stored: send it again when you complete a run.',
  },
);

/** The measurements of a run; for a running run, those known so far. */
const measured = {
  served_model: Type.Optional(
    Type.String({
      ...label,
      description:
        'The model that served the call, if the provider reports another one than `model`. The cost is computed from its price; ' +
        'limits and policies count the run as `model`. Only for finished runs.',
    }),
  ),
  input_tokens: Type.Optional(tokens),
  cached_input_tokens: Type.Optional(partOf('input_tokens')),
  cached_image_input_tokens: Type.Optional(partOf('cached_input_tokens', ofImages)),
  cache_write_tokens: Type.Optional(partOf('input_tokens')),
  ...serviceFields,
  output_tokens: Type.Optional(tokens),
  reasoning_tokens: Type.Optional(partOf('output_tokens', ofReasoning)),
  audio_input_tokens: Type.Optional(partOf('input_tokens', ofAudio)),
  image_input_tokens: Type.Optional(partOf('input_tokens', ofImages)),
  audio_output_tokens: Type.Optional(partOf('output_tokens', ofAudio)),
  images: Type.Optional(images),
  other_models: Type.Optional(otherModels),
  cost_usd: Type.Optional(usd),
  stated_cost_usd: Type.Optional(
    Type.String({
      ...usd,
      description:
        'The cost that the provider states with its response. It is the cost of the run, with that of its units, unless the ' +
        'organization has a price of its own for the model: the cost is then computed, and this amount is kept in `metadata`. ' +
        '`cost_usd` wins over it. An amount of 0 counts only for models without a price, and for names that end with `:free`. ' +
        'Only for finished runs.',
    }),
  ),
  value_usd: Type.Optional(usd),
  latency_ms: Type.Optional(Type.Integer({ minimum: 0, maximum: 31_536_000_000 })),
  finished_at: Type.Optional(timestamp),
  metadata: Type.Optional(metadata),
};

export const CreateRun = closed({
  external_id: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 200,
      description:
        'Your own id, unique in the org. Sending it again returns the same run; with a different body it is 409 `conflict`.',
    }),
  ),
  model: label,
  status: Type.Optional(
    choice(runStatuses, '`running` holds the estimated cost; the others charge the run. Default: succeeded.'),
  ),
  ...scopeFields,
  parent_run_id: Type.Optional(id),
  tags: Type.Optional(tags),
  ...measured,
  ...estimate,
  started_at: Type.Optional(timestamp),
  content: Type.Optional(
    Type.String({
      maxLength: contentCharactersMax,
      description:
        "Prompt and response. Checked by the org's safety detectors; stored only if the org's retention policy keeps content.",
    }),
  ),
  decision_id: Type.Optional(id),
});
export type CreateRun = Static<typeof CreateRun>;

export const CompleteRun = closed({
  status: Type.Optional(choice(finishedStatuses, 'Default: succeeded.')),
  ...measured,
});
export type CompleteRun = Static<typeof CompleteRun>;
/** The usage and cost fields that new runs and completions share. */
export type Measured = Omit<CompleteRun, 'status'>;

export const AdjustRun = closed({
  amount_usd: signedUsd,
  reason,
});

/** Marks that the ledger sets. `flagged` has a separate filter. */
const postingMarks = [
  'over_hold',
  'late',
  'degraded',
  'backfill',
  'unpriced',
  'usage_missing',
  'unsettled',
  'usage_estimated',
  'truncated',
] as const satisfies readonly Mark[];

const priceSources = ['price', 'default_rates', 'none'] as const;
type CostSource = (typeof priceSources)[number];

export const CostPartView = closed({
  kind: Type.String({
    description:
      `${namedKinds.map((name) => `\`${name}\``).join(', ')}, or \`unit:<name>\` of a unit of the price. \`unsplit\`: the cost was ` +
      'given, or posted as held.',
    examples: ['cached_input'],
  }),
  quantity: Type.Integer({ description: 'Tokens, units or calls. 0 if the kind has none.' }),
  cost_usd: Type.String({ description: 'Negative for a correction that reduced the cost.' }),
});
export type CostPartView = Static<typeof CostPartView>;

export const RunView = closed({
  id,
  external_id: nullable(Type.String()),
  model: Type.String({
    description: 'The requested model, or that of the decision: limits and reports count the run as this.',
  }),
  served_model: nullable(
    Type.String({
      description:
        'The model that served the call, as reported: `served_model`, or the `model` of a run whose decision was for another one. ' +
        'Null if none was reported. The cost is computed from its price.',
    }),
  ),
  status: choice(runStatuses),
  ...forEachName(labelDimensions, nullable(Type.String())),
  tags: Type.Record(Type.String(), Type.String()),
  parent_run_id: nullable(Type.String()),
  depth: Type.Integer(),
  input_tokens: Type.Integer(),
  cached_input_tokens: Type.Integer(),
  cache_write_tokens: Type.Integer(),
  cache_write_1h_tokens: Type.Integer({ description: 'Not included in `cache_write_tokens`.' }),
  output_tokens: Type.Integer(),
  service_tier: nullable(Type.String({ description: 'The stated tier, or that of the decision.' })),
  region: nullable(Type.String({ description: 'The stated region, or that of the decision.' })),
  units: Type.Record(Type.String(), Type.Integer()),
  cost_usd: nullable(
    Type.String({
      description:
        'The cost as posted; null while the run is running, unless it is `unsettled`: then the amount of its expired hold.',
    }),
  ),
  adjustment_usd: Type.String({ description: 'Sum of all adjustments.' }),
  cost_parts: nullable(
    Type.Array(CostPartView, {
      description:
        'The cost by kind of usage; sums to `cost_usd` and `adjustment_usd`. Null in lists, and for a run without a cost.',
    }),
  ),
  uncovered_usd: Type.String({ description: "The amount that the customer's credits did not cover." }),
  value_usd: nullable(Type.String()),
  latency_ms: nullable(Type.Integer()),
  price_version: nullable(
    Type.String({
      description: 'The price version that the cost was computed from; null if the cost was given.',
    }),
  ),
  priced_as: nullable(
    Type.String({
      description:
        'The model whose price was used: that of `model`, or of another name that `model` was resolved to. Null if no price of a model was used.',
    }),
  ),
  price_source: Type.Unsafe<CostSource | null>({
    type: ['string', 'null'],
    enum: [...priceSources, null],
    description:
      '`price`: the cost was computed from the price `price_version`. `default_rates`: the model had no price; the cost was ' +
      'computed from the default rates of the organization, whose version is `price_version`. `none`: the model had no price; the ' +
      'held amount was posted, or 0. Null: the cost was given, or is not known yet.',
  }),
  started_at: timestamp,
  finished_at: nullable(timestamp),
  content: nullable(
    Type.String({
      description:
        "Only returned when you get a single run, and only if the org's retention policy keeps content.",
    }),
  ),
  metadata,
  decision_id: nullable(Type.String()),
  held_usd: nullable(Type.String({ description: 'The amount held while the run is running.' })),
  expires_at: nullable(Type.String({ format: 'date-time', description: 'When the hold expires.' })),
  marks: Type.Array(choice([...postingMarks, 'flagged'])),
  flagged_by: Type.Array(Type.String(), {
    description: 'Names of the safety detectors that flagged the content.',
  }),
  key_id: Type.String(),
  charged_at: timestamp,
  created_at: timestamp,
});
export type RunView = Static<typeof RunView>;

const actor = closed({
  kind: Type.String({ description: 'As in the audit log: `key`, `member`, `support` or `operator`.' }),
  id: Type.String({ description: 'Id of the key or the member.' }),
});
const adjustment = {
  id,
  run_id: id,
  amount_usd: Type.String({ description: 'The difference to the cost; negative if the run cost less.' }),
  reason: Type.String(),
  uncovered_usd: Type.String({ description: "The part of it that the customer's credits did not cover." }),
  created_at: timestamp,
};

export const AdjustmentView = closed({ ...adjustment, actor, run: RunView });
export type AdjustmentView = Static<typeof AdjustmentView>;

export const AdjustmentEntry = closed({
  ...adjustment,
  actor: nullable({
    ...actor,
    description:
      'Null for corrections by the service, and for those that were made before the actor was recorded.',
  }),
});
export type AdjustmentEntry = Static<typeof AdjustmentEntry>;

export const adjustmentSorts = { created_at: 'timestamptz' } as const;
export const AdjustmentFilters = listParameters(adjustmentSorts, {});
export type AdjustmentFilters = Static<typeof AdjustmentFilters>;

export function bulkRuns(maxRuns: number) {
  return closed({ runs: Type.Array(CreateRun, { minItems: 1, maxItems: maxRuns }) });
}
export const BulkQuery = closed({
  enforcement: Type.Optional(
    choice(
      ['block', 'record'],
      '`record` posts past runs without admission checks; it requires the scope `runs:backfill`.',
    ),
  ),
  on_error: Type.Optional(
    choice(
      ['reject', 'skip'],
      '`reject` creates all runs or none. `skip` creates the valid and admitted ones and lists the others in `errors`. ' +
        'Default: reject.',
    ),
  ),
});
export const BulkResult = closed({
  accepted: Type.Integer({ description: 'Number of new runs.' }),
  runs: Type.Array(closed({ index: Type.Integer(), id, external_id: nullable(Type.String()) }), {
    description: 'In the order of the request; without runs that were skipped.',
  }),
  known: Type.Array(closed({ index: Type.Integer(), id, external_id: nullable(Type.String()) }), {
    description: 'Runs whose `external_id` already existed; they were not posted again.',
  }),
  errors: Type.Optional(
    Type.Array(
      closed({
        index: Type.Integer(),
        code: Type.String(),
        message: Type.String(),
        fields: Type.Array(
          closed({ field: Type.String(), code: Type.String(), message: Type.Optional(Type.String()) }),
          { description: 'The invalid fields of the run, if `code` is `validation_failed`.' },
        ),
        details: Type.Record(Type.String(), Type.Unknown(), {
          description: 'The details of other errors, as in the error of a single run.',
        }),
      }),
      { description: 'Only with `on_error=skip`: the runs that were skipped, and why.' },
    ),
  ),
});
export type BulkResult = Static<typeof BulkResult>;

/** Sort fields. Runs in progress have no cost and may have no latency; they come before runs with the value 0. */
export const runSorts = {
  charged_at: 'timestamptz',
  cost_usd: 'int8',
  total_tokens: 'int8',
  latency_ms: 'int8',
} as const;
const filter = Type.Optional(label);
export const RunFilters = listParameters(runSorts, {
  ...forEachName(runDimensionNames, filter),
  status: Type.Optional(choice(runStatuses)),
  parent_run_id: filter,
  external_id: filter,
  decision_id: filter,
  tag: Type.Optional(tagCondition),
  without: unsetParameter(labelDimensions),
  flagged: Type.Optional(
    Type.Boolean({
      description: 'Only runs that a safety detector flagged, or only runs that none flagged.',
    }),
  ),
  flagged_by: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 200,
      description: 'Only runs flagged by the detector of this name.',
    }),
  ),
  mark: Type.Optional(choice(postingMarks, 'Only runs with this mark.')),
  unpriced: Type.Optional(
    Type.Boolean({
      description:
        'Only runs whose model had no price and that were not repriced since (`price_source` is `default_rates` or `none`), or ' +
        'only the others.',
    }),
  ),
  from: Type.Optional(timestamp),
  to: Type.Optional(timestamp),
  count: Type.Optional(
    Type.Boolean({ description: 'Also returns the number of runs that match the filters, as `count`.' }),
  ),
});
export type RunFilters = Static<typeof RunFilters>;

export const RunPage = closed({
  data: Type.Array(RunView),
  next_cursor: Type.Unsafe<string | null>({
    type: ['string', 'null'],
    description: 'Null on the last page.',
  }),
  prev_cursor: Type.Unsafe<string | null>({
    type: ['string', 'null'],
    description: 'The cursor of the previous page. Null on the first page.',
  }),
  count: Type.Optional(
    closed({
      value: Type.Integer({ minimum: 0 }),
      exact: Type.Boolean({
        description: 'False if the range has more runs than are counted: there are at least `value`.',
      }),
    }),
  ),
});
