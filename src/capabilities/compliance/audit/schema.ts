import { type Static, Type } from 'typebox';
import { listParameters } from '../../../platform/http/routes/list.ts';
import { choice, closed, id, nullable, timestamp } from '../../../platform/http/routes/schemas.ts';
import { outcomes } from './chain.ts';
import { findingKinds } from './chain-check.ts';

const text = Type.String();
const anything = Type.Unsafe<object | null>({ type: ['object', 'null'], additionalProperties: true });
const seq = Type.Integer({ minimum: 0, description: 'The place in the log, counted from 1 without a gap.' });
const hash = Type.String({ pattern: '^[0-9a-f]{64}$' });

export const AuditEntryView = closed({
  id,
  seq,
  at: timestamp,
  actor: closed({
    kind: Type.String({
      description:
        '`key`, `operator`, `member`, `support`, `command_line`, `service` or, where nobody was known, `anonymous`.',
    }),
    id: text,
  }),
  action: Type.String({ description: 'The operation, named as in OpenAPI, or what else happened.' }),
  outcome: choice(outcomes),
  code: nullable(Type.String({ description: 'The error code that it was refused with.' })),
  target: closed({ kind: text, id: text }),
  before: anything,
  after: anything,
  detail: anything,
  address: nullable(text),
  trace_id: nullable(text),
  redacted: Type.Boolean({ description: 'Whether a person was erased from it.' }),
  previous_hash: hash,
  hash,
});
export type AuditEntryView = Static<typeof AuditEntryView>;

export const auditSorts = { seq: 'int8' } as const;
const filter = Type.String({ minLength: 1, maxLength: 500 });

export const AuditFilters = listParameters(auditSorts, {
  actor: Type.Optional(Type.String({ ...filter, description: "The actor's id." })),
  actor_kind: Type.Optional(filter),
  action: Type.Optional(filter),
  target: Type.Optional(Type.String({ ...filter, description: "The target's id." })),
  target_kind: Type.Optional(filter),
  outcome: Type.Optional(choice(outcomes)),
  code: Type.Optional(filter),
  trace_id: Type.Optional(filter),
  from: Type.Optional(timestamp),
  to: Type.Optional(timestamp),
});
export type AuditFilters = Static<typeof AuditFilters>;

const token = Type.String({
  description: 'What is signed and the signature, to be kept and given to `verify`.',
});

export const CheckpointView = closed({
  id,
  org_id: id,
  seq,
  hash: Type.String({ description: 'The hash of the entry in that place.' }),
  at: timestamp,
  token,
});
export type CheckpointView = Static<typeof CheckpointView>;

export const checkpointSorts = { seq: 'int8' } as const;
export const CheckpointFilters = listParameters(checkpointSorts, {});
export type CheckpointFilters = Static<typeof CheckpointFilters>;

export const VerifyQuery = closed({
  checkpoint: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 2_000,
      description: 'The `token` of a checkpoint that you have kept: the log has to agree with it.',
    }),
  ),
});

export const VerificationView = closed({
  valid: Type.Boolean(),
  checked_entries: Type.Integer(),
  first_seq: seq,
  last_seq: seq,
  removed_until_seq: Type.Unsafe<number | null>({
    type: ['integer', 'null'],
    description: 'The last entry that retention has removed. The log is verified from there on.',
  }),
  checkpoints_checked: Type.Integer(),
  kept_checkpoint: Type.Unsafe<'checked' | 'removed_by_retention' | null>({
    type: ['string', 'null'],
    enum: ['checked', 'removed_by_retention', null],
    description: 'What became of the checkpoint in the question.',
  }),
  findings: Type.Array(
    closed({
      kind: choice(findingKinds),
      seq,
      until_seq: seq,
      message: text,
    }),
    {
      description:
        'What does not fit, and where; the first hundred. `key_invalid` is about no entry: somebody has changed the keys that sign.',
    },
  ),
  head: closed({
    seq,
    hash,
    token: Type.String({ description: 'A signed checkpoint of the end. Empty where the log is not valid.' }),
  }),
});
export type VerificationView = Static<typeof VerificationView>;

const signingKey = {
  id: Type.String({ description: '`key_id` of the tokens that it has signed.' }),
  algorithm: Type.Literal('Ed25519'),
  public_key: Type.String({ description: 'SPKI in PEM.' }),
  created_at: timestamp,
};
export const SigningKeyView = closed({
  ...signingKey,
  previous: Type.Array(
    closed({
      ...signingKey,
      retired_at: Type.String({
        format: 'date-time',
        description: 'When it was replaced. Tokens that say to be younger are not believed.',
      }),
    }),
    { description: 'Those that have signed before, the latest first: what they have signed stays good.' },
  ),
});
export type SigningKeyView = Static<typeof SigningKeyView>;

export const exportFormats = ['ndjson', 'cef', 'ocsf'] as const;
const instant = (example: string) =>
  Type.String({ format: 'date-time', description: 'RFC 3339 with offset.', examples: [example] });

export const ExportQuery = closed({
  from: instant('2026-11-01T00:00:00Z'),
  to: Type.String({
    ...instant('2026-11-16T00:00:00Z'),
    description: 'RFC 3339 with offset; later than `from`, and at most 90 days.',
  }),
  format: Type.Optional(choice(exportFormats, '`ndjson` unless it says so.')),
  cursor: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: Number.MAX_SAFE_INTEGER,
      examples: [0],
      description: 'The `seq` of the last line that arrived: the stream goes on behind it.',
    }),
  ),
  checkpoints: Type.Optional(
    Type.Boolean({
      examples: [false],
      description: 'With the signed checkpoints among the lines, and one at the end; with `ndjson`.',
    }),
  ),
});
export type ExportQuery = Static<typeof ExportQuery>;
