import { type Static, Type } from 'typebox';
import { admissionErrorCodes } from '../../../contract/errors.ts';
import { formatMessage } from '../../../contract/format-message.ts';
import { limitKinds } from '../../../kernel/limits.ts';
import { label } from '../../../ledger/scope.ts';
import { listParameters } from '../../../platform/http/routes/list.ts';
import { choice, closed, id, nullable, timestamp } from '../../../platform/http/routes/schemas.ts';

/** Error codes of the admission checks and of routing. */
export const recordedCodes = [...admissionErrorCodes, 'no_model_passes_eval'] as const;
export type RecordedCode = (typeof recordedCodes)[number];

const text = nullable(Type.String());

/** Maximum number of trace ids in an entry. */
export const traceIdsMax = 100;

const cause = closed({
  kind: choice([...limitKinds, 'policy', 'detector'], 'The kind of limit, or `policy` or `detector`.'),
  id,
  name: nullable(
    Type.String({ description: 'The name of the limit or detector, or the reason of the rule.' }),
  ),
  owner: nullable(Type.String({ description: 'Whom to ask about it.' })),
  deleted: Type.Boolean({ description: 'True if the limit or rule was deleted since.' }),
});

export const RefusalView = closed({
  id,
  code: choice(recordedCodes),
  message: Type.String(),
  operation: Type.String({ description: 'The id of the operation, such as `runs.create`.' }),
  key_id: Type.String(),
  model: text,
  action: text,
  workflow: text,
  customer_id: text,
  details: Type.Record(Type.String(), Type.Unknown(), {
    description: 'Details of the first denial, without content.',
  }),
  limit_id: nullable(
    Type.String({ description: 'The limit that denied. Null: another check, or several limits together.' }),
  ),
  cause: Type.Union([cause, Type.Null()], {
    description:
      'The limit, rule or detector that denied, as it is now. Null: several limits together, or a request rate.',
  }),
  trace_id: nullable(
    Type.String({
      description:
        'The `x-svc-trace-id` of the first denied request. Null in entries from before an upgrade.',
    }),
  ),
  count: Type.Integer({ minimum: 1, description: 'Number of equal denials within about a second.' }),
  first_at: timestamp,
  last_at: timestamp,
});
export type RefusalView = Static<typeof RefusalView>;

export const RefusalDetail = closed({
  ...RefusalView.properties,
  trace_ids: Type.Array(Type.String(), {
    description: `The \`x-svc-trace-id\` of the denied requests, up to ${traceIdsMax}.`,
  }),
});
export type RefusalDetail = Static<typeof RefusalDetail>;

export const refusalSorts = { last_at: 'timestamptz' } as const;
const filter = Type.Optional(label);
export const RefusalFilters = listParameters(refusalSorts, {
  code: Type.Optional(choice(recordedCodes)),
  operation: filter,
  key_id: filter,
  model: filter,
  action: filter,
  workflow: filter,
  customer_id: filter,
  limit_id: filter,
  rule_id: filter,
  trace_id: Type.Optional(
    Type.String({
      minLength: 32,
      maxLength: 32,
      pattern: '^[0-9a-fA-F]{32}$',
      [formatMessage]: 'Must be 32 hexadecimal digits.',
      description: 'The `x-svc-trace-id` of a denied request: 32 hexadecimal digits.',
    }),
  ),
  from: Type.Optional(Type.String({ ...timestamp, description: 'Denied at this time or later.' })),
  to: Type.Optional(Type.String({ ...timestamp, description: 'Denied before this time.' })),
});
export type RefusalFilters = Static<typeof RefusalFilters>;
