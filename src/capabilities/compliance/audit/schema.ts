import { type Static, Type } from 'typebox';
import { listParameters } from '../../../platform/http/routes/list.ts';
import { choice, closed, id, nullable, timestamp } from '../../../platform/http/routes/schemas.ts';
import { outcomes } from './chain.ts';
import { findingKinds } from './chain-check.ts';

const text = Type.String();
const anything = Type.Unsafe<object | null>({ type: ['object', 'null'], additionalProperties: true });
const seq = Type.Integer({ minimum: 0, description: 'Position in the log, counted from 1 without gaps.' });
const hash = Type.String({ pattern: '^[0-9a-f]{64}$' });

export const AuditEntryView = closed({
  id,
  seq,
  at: timestamp,
  actor: closed({
    kind: Type.String({
      description:
        '`key`, `operator`, `member`, `support`, `command_line`, `service` or, if the caller is unknown, ' +
        '`anonymous`.',
    }),
    id: text,
  }),
  action: Type.String({ description: 'Operation id as in OpenAPI, or the name of another action.' }),
  outcome: choice(outcomes),
  code: nullable(Type.String({ description: 'Error code of the response.' })),
  target: closed({ kind: text, id: text }),
  before: anything,
  after: anything,
  detail: anything,
  address: nullable(text),
  trace_id: nullable(text),
  redacted: Type.Boolean({ description: 'Whether personal data was erased from the entry.' }),
  previous_hash: hash,
  hash,
});
export type AuditEntryView = Static<typeof AuditEntryView>;

export const auditSorts = { seq: 'int8' } as const;
const filter = Type.String({ minLength: 1, maxLength: 500 });

export const AuditFilters = listParameters(auditSorts, {
  actor: Type.Optional(Type.String({ ...filter, description: 'Id of the actor.' })),
  actor_kind: Type.Optional(filter),
  action: Type.Optional(filter),
  target: Type.Optional(Type.String({ ...filter, description: 'Id of the target.' })),
  target_kind: Type.Optional(filter),
  outcome: Type.Optional(choice(outcomes)),
  code: Type.Optional(filter),
  trace_id: Type.Optional(filter),
  from: Type.Optional(timestamp),
  to: Type.Optional(timestamp),
});
export type AuditFilters = Static<typeof AuditFilters>;

const token = Type.String({
  description: 'Signed statement and signature. Keep it, and pass it to `verify`.',
});

export const CheckpointView = closed({
  id,
  org_id: id,
  seq,
  hash: Type.String({ description: 'Hash of the entry at that position.' }),
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
      description: 'The `token` of a checkpoint that you have kept. The log must match it.',
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
    description: 'Last entry that retention removed. The log is verified from there.',
  }),
  checkpoints_checked: Type.Integer(),
  kept_checkpoint: Type.Unsafe<'checked' | 'removed_by_retention' | null>({
    type: ['string', 'null'],
    enum: ['checked', 'removed_by_retention', null],
    description: 'Result for the checkpoint in the request.',
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
        'Mismatches and their positions: at most 100, and invalid stored checkpoints. `key_invalid` concerns no entry: the signing keys were ' +
        'changed.',
    },
  ),
  head: closed({
    seq,
    hash,
    token: Type.String({
      description: 'Signed checkpoint of the end of the log. Empty if the log is not valid.',
    }),
  }),
});
export type VerificationView = Static<typeof VerificationView>;

const signingKey = {
  id: Type.String({ description: '`key_id` of the tokens that this key signed.' }),
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
        description: 'When the key was replaced. Tokens with a later date are rejected.',
      }),
    }),
    { description: 'Previous keys, latest first. Their signatures stay valid.' },
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
    description: 'RFC 3339 with offset. Must be later than `from`, by at most 90 days.',
  }),
  format: Type.Optional(choice(exportFormats, 'Default: `ndjson`.')),
  cursor: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: Number.MAX_SAFE_INTEGER,
      examples: [0],
      description: 'The `seq` of the last line received. The stream resumes after it.',
    }),
  ),
  checkpoints: Type.Optional(
    Type.Boolean({
      examples: [false],
      description: 'Includes the signed checkpoints among the lines, and one at the end. `ndjson` only.',
    }),
  ),
});
export type ExportQuery = Static<typeof ExportQuery>;
