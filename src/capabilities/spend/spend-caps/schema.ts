import { type Static, Type } from 'typebox';
import { alertThresholds, owner, viewedTimes, windowTimezone } from '../../../ledger/limits/limit-fields.ts';
import { closed, id, usd } from '../../../platform/http/routes/schemas.ts';

export const SpendCapView = closed({
  id,
  cap_usd: usd,
  timezone: windowTimezone,
  alert_thresholds: alertThresholds,
  owner,
  ...viewedTimes,
});
export type SpendCapView = Static<typeof SpendCapView>;

export const PutSpendCap = closed({
  cap_usd: usd,
  timezone: Type.Optional(windowTimezone),
  alert_thresholds: Type.Optional(alertThresholds),
  owner: Type.Optional(owner),
});
export type PutSpendCap = Static<typeof PutSpendCap>;
