import { type Static, Type } from 'typebox';
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
const ofAudio =
  ', for models that charge audio by itself. Counts for the cost, and is not kept: say it again when you complete a run';

/** What a run turns out to be; of one that goes on, as far as it is known. */
const measured = {
  input_tokens: Type.Optional(tokens),
  cached_input_tokens: Type.Optional(partOf('input_tokens')),
  cache_write_tokens: Type.Optional(partOf('input_tokens')),
  output_tokens: Type.Optional(tokens),
  audio_input_tokens: Type.Optional(partOf('input_tokens', ofAudio)),
  audio_output_tokens: Type.Optional(partOf('output_tokens', ofAudio)),
  images: Type.Optional(images),
  cost_usd: Type.Optional(usd),
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
        'Yours, unique in the org: the same one is the same run. With other content it is 409 `conflict`.',
    }),
  ),
  model: label,
  status: Type.Optional(
    choice(runStatuses, '`running` holds an estimate; the others charge. Default: succeeded.'),
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
        "What was said. The org's safety detectors look at it; it is kept only if the org's retention policy says so.",
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

export const AdjustRun = closed({
  amount_usd: signedUsd,
  reason,
});

export const RunView = closed({
  id,
  external_id: nullable(Type.String()),
  model: Type.String(),
  provider: nullable(Type.String()),
  action: nullable(Type.String()),
  status: choice(runStatuses),
  workflow: nullable(Type.String()),
  deployment: nullable(Type.String()),
  department: nullable(Type.String()),
  team: nullable(Type.String()),
  customer_id: nullable(Type.String()),
  tags: Type.Record(Type.String(), Type.String()),
  chain_id: nullable(Type.String()),
  parent_run_id: nullable(Type.String()),
  depth: Type.Integer(),
  input_tokens: Type.Integer(),
  cached_input_tokens: Type.Integer(),
  cache_write_tokens: Type.Integer(),
  output_tokens: Type.Integer(),
  cost_usd: nullable(Type.String({ description: 'As posted; null while the run goes on.' })),
  adjustment_usd: Type.String({ description: 'The sum of later corrections.' }),
  uncovered_usd: Type.String({ description: "What the customer's credits could not cover." }),
  value_usd: nullable(Type.String()),
  latency_ms: nullable(Type.Integer()),
  price_version: nullable(
    Type.String({ description: 'The price it was computed from; null where the cost was given.' }),
  ),
  started_at: timestamp,
  finished_at: nullable(timestamp),
  content: nullable(
    Type.String({
      description:
        'Only when a single run is read, and only if the retention policy of the org says that it is kept.',
    }),
  ),
  metadata,
  decision_id: nullable(Type.String()),
  held_usd: nullable(Type.String({ description: 'What is held for it while it runs.' })),
  expires_at: nullable(Type.String({ format: 'date-time', description: 'When that hold ends by itself.' })),
  marks: Type.Array(choice(['over_hold', 'late', 'degraded', 'backfill', 'flagged'])),
  flagged_by: Type.Array(Type.String(), {
    description: 'The names of the safety detectors that flagged its content.',
  }),
  key_id: Type.String(),
  charged_at: timestamp,
  created_at: timestamp,
});
export type RunView = Static<typeof RunView>;

export const AdjustmentView = closed({
  id,
  run_id: id,
  amount_usd: Type.String(),
  reason: Type.String(),
  uncovered_usd: Type.String(),
  created_at: timestamp,
  run: RunView,
});
export type AdjustmentView = Static<typeof AdjustmentView>;

export function bulkRuns(maxRuns: number) {
  return closed({ runs: Type.Array(CreateRun, { minItems: 1, maxItems: maxRuns }) });
}
export const BulkQuery = closed({
  enforcement: Type.Optional(
    choice(['block', 'record'], '`record` books history past the gates; it needs the scope `runs:backfill`.'),
  ),
});
export const BulkResult = closed({
  accepted: Type.Integer({ description: 'How many runs are new.' }),
  runs: Type.Array(closed({ id, external_id: nullable(Type.String()) }), {
    description: 'In the order they were sent.',
  }),
  known: Type.Array(closed({ index: Type.Integer(), id, external_id: nullable(Type.String()) }), {
    description: 'Those whose `external_id` was there already; they changed nothing.',
  }),
});
export type BulkResult = Static<typeof BulkResult>;

export const runSorts = { charged_at: 'timestamptz' } as const;
const filter = Type.Optional(label);
export const RunFilters = listParameters(runSorts, {
  status: Type.Optional(choice(runStatuses)),
  model: filter,
  provider: filter,
  action: filter,
  workflow: filter,
  deployment: filter,
  department: filter,
  team: filter,
  customer_id: filter,
  chain_id: filter,
  parent_run_id: filter,
  external_id: filter,
  key_id: filter,
  decision_id: filter,
  tag: Type.Optional(tagCondition),
  flagged: Type.Optional(Type.Boolean({ description: 'Whether a safety detector flagged it.' })),
  flagged_by: Type.Optional(
    Type.String({ minLength: 1, maxLength: 200, description: 'The name of a detector that flagged it.' }),
  ),
  from: Type.Optional(timestamp),
  to: Type.Optional(timestamp),
});
