import { type Static, Type } from 'typebox';
import { listParameters } from '../../../platform/http/routes/list.ts';
import { choice, closed, id, nullable, timestamp } from '../../../platform/http/routes/schemas.ts';
import { deletedKinds } from './queries.ts';

const days = (minimum: number, maximum: number, description: string) =>
  Type.Integer({ minimum, maximum, description });

/** Minimum retention of the ledger in days: a year, the longest window of a limit, and a margin for late charges. */
export const ledgerDaysMin = 370;
export const defaults = {
  runs_days: null,
  content_days: 0,
  audit_days: null,
  deliveries_days: 30,
  idempotency_days: 3,
  legal_hold: false,
} as const;

const runsDays = nullable(
  days(
    1,
    3_650,
    `Older runs are deleted. Their sums are kept, and so are ledger entries for at least ${ledgerDaysMin} ` +
      'days. Null: kept for ever.',
  ),
);
const contentDays = days(0, 3_650, 'The `content` of older runs is deleted. 0: content is not stored.');
const auditDays = nullable(
  days(
    30,
    3_650,
    'Older audit entries are deleted, and the log continues from a signed anchor. Also applies to the log of ' +
      'support access. Null: kept for ever.',
  ),
);
const deliveriesDays = days(1, 365, 'Older webhook deliveries are deleted, and their events a day later.');
const idempotencyDays = days(1, 30, 'Days that the response to an `Idempotency-Key` is kept.');
const legalHold = Type.Boolean({ description: 'While true, nothing is deleted and no customer is erased.' });

export const PutRetentionPolicy = closed({
  runs_days: Type.Optional(runsDays),
  content_days: Type.Optional(contentDays),
  audit_days: Type.Optional(auditDays),
  deliveries_days: Type.Optional(deliveriesDays),
  idempotency_days: Type.Optional(idempotencyDays),
  legal_hold: Type.Optional(legalHold),
});
export type PutRetentionPolicy = Static<typeof PutRetentionPolicy>;

const updatedAt = nullable(
  Type.String({ format: 'date-time', description: 'Null if the policy was never set.' }),
);
const count = Type.Integer();
export const RetentionRunView = closed({
  id,
  started_at: timestamp,
  finished_at: nullable(Type.String({ format: 'date-time', description: 'Null while in progress.' })),
  deleted: closed({
    runs: count,
    contents: count,
    ledger_entries: count,
    audit_entries: count,
    support_access: count,
    deliveries: count,
    events: count,
  }),
});
export type RetentionRunView = Static<typeof RetentionRunView>;

const progress = {
  failing_since: nullable(
    Type.String({
      format: 'date-time',
      description: 'Time since which deletion has failed; it is retried regularly. Null: it does not fail.',
    }),
  ),
  failing: Type.Array(choice(deletedKinds), {
    description: 'Kinds of data that could not be deleted the last time; all others were.',
  }),
  last_run: Type.Union([RetentionRunView, Type.Null()]),
};

export const RetentionPolicyView = closed({
  runs_days: runsDays,
  content_days: contentDays,
  audit_days: auditDays,
  deliveries_days: deliveriesDays,
  idempotency_days: idempotencyDays,
  legal_hold: legalHold,
  updated_at: updatedAt,
  ...progress,
});
export type RetentionPolicyView = Static<typeof RetentionPolicyView>;

const operatorsAuditDays = nullable(
  days(
    90,
    3_650,
    "Older entries of the operators' log are deleted, and the log continues from a signed anchor. Null: kept " +
      'for ever.',
  ),
);
export const PutOperatorsRetention = closed({
  audit_days: Type.Optional(operatorsAuditDays),
  legal_hold: Type.Optional(legalHold),
});
export const OperatorsRetentionView = closed({
  audit_days: operatorsAuditDays,
  legal_hold: legalHold,
  updated_at: updatedAt,
  ...progress,
});

export const retentionRunSorts = { started_at: 'timestamptz' } as const;
export const RetentionRunFilters = listParameters(retentionRunSorts, {});
export type RetentionRunFilters = Static<typeof RetentionRunFilters>;
