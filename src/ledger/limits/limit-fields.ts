/**
 * The wire format that several kinds of limits share: fields, their schemas, and the mapping to and from columns. Amounts are
 * decimal strings on the wire and nanodollars in the database; nothing is rounded.
 */
import { type Static, Type } from 'typebox';
import { invalidField } from '../../contract/api-error.ts';
import { WILDCARD } from '../../kernel/limits.ts';
import { formatUsd, parseUsd } from '../../kernel/money.ts';
import { periods } from '../../kernel/windows.ts';
import {
  choice,
  type closed,
  contact,
  nullable,
  timestamp,
  timezone,
  usd,
} from '../../platform/http/routes/schemas.ts';
import { checkTimezone } from '../../platform/time/time-zone.ts';
import type { LimitRow } from './limits.ts';

/** For amounts that must be greater than zero; see `positiveNanosOf`. */
export const positiveUsd = Type.String({
  ...usd,
  description:
    'US dollars as a decimal string: greater than 0, at most 9 decimals, no exponent, less than 9 billion.',
});

/** Maximum of a count: a JSON number represents all integers up to it exactly. */
export const countMax = 9_000_000_000_000_000;

const alertThresholdsMax = 20;

/** Default alert thresholds, in percent. */
export const defaultThresholds: readonly number[] = [50, 80, 100];

export const period = choice(periods, "A calendar window in the limit's time zone; weeks start on Monday.");
export const enforcement = choice(
  ['block', 'alert'],
  '`block` denies requests that would exceed the limit. `alert` only emits events.',
);
export const alertThresholds = Type.Array(Type.Integer({ minimum: 1, maximum: 1_000 }), {
  maxItems: alertThresholdsMax,
  uniqueItems: true,
  description: `Percentages of the limit. Each emits one event per window. Default: ${defaultThresholds.join(', ')}.`,
});
export const windowTimezone = nullable(
  Type.String({ ...timezone, description: "An IANA time zone. Null: the org's time zone." }),
);

export const owner = nullable(
  Type.String({
    ...contact,
    description: 'Whom to ask about it, such as an e-mail address or a channel. Shown to those it denies.',
  }),
);

/** A value of a scope field. The wildcard is not allowed. */
export const scopeValue = Type.String({ minLength: 1, maxLength: 200, not: { const: WILDCARD } });
export const scopeValueOrWildcard = Type.String({ minLength: 1, maxLength: 200 });

/** Fields of a limit on spend per calendar window. */
export const spendingFields = {
  period,
  limit_usd: usd,
  enforcement,
  alert_thresholds: alertThresholds,
  timezone: windowTimezone,
  owner,
};
export const optionalSpendingFields = {
  ...spendingFields,
  enforcement: Type.Optional(enforcement),
  alert_thresholds: Type.Optional(alertThresholds),
  timezone: Type.Optional(windowTimezone),
  owner: Type.Optional(owner),
};

export const viewedTimes = { created_at: timestamp, updated_at: timestamp };

export const viewedSpending = { ...spendingFields, ...viewedTimes };
type SpendingView = Static<ReturnType<typeof closed<typeof viewedSpending>>>;

type SpendingColumns = Pick<
  LimitRow,
  'period' | 'capacity' | 'enforcement' | 'alert_thresholds' | 'timezone' | 'owner'
>;
type SpendingFields = Static<ReturnType<typeof closed<typeof spendingFields>>>;

/** Returns the columns for the given fields. Throws on an unknown time zone. */
export function spendingColumns(given: Partial<SpendingFields>): Partial<SpendingColumns> {
  const { limit_usd, timezone: zone, ...rest } = given;
  return {
    ...rest,
    ...(limit_usd !== undefined && { capacity: nanosOf(limit_usd) }),
    ...(zone !== undefined && { timezone: zone === null ? null : checkTimezone(zone) }),
  };
}

export function viewSpending(row: LimitRow): SpendingView {
  return {
    period: calendarPeriod(row),
    limit_usd: formatUsd(row.capacity),
    enforcement: row.enforcement,
    alert_thresholds: [...row.alert_thresholds],
    timezone: row.timezone,
    owner: row.owner,
    ...viewTimes(row),
  };
}

function calendarPeriod({ id: limitId, period: stored }: LimitRow): SpendingView['period'] {
  if (stored === null) {
    throw new Error(`${limitId} has no calendar period`);
  }
  return stored;
}

export function viewTimes({ created_at, updated_at }: Pick<LimitRow, 'created_at' | 'updated_at'>) {
  return { created_at: created_at.toISOString(), updated_at: updated_at.toISOString() };
}

/** Parses an amount that was validated by its schema. */
export function nanosOf(text: string): bigint {
  const nanos = parseUsd(text);
  if (nanos === undefined) {
    throw new Error('amount was not validated');
  }
  return nanos;
}

/** Like `nanosOf`, but throws a validation error for zero. */
export function positiveNanosOf(field: string, text: string): bigint {
  const nanos = nanosOf(text);
  if (nanos === 0n) {
    throw invalidField(field, 'out_of_range', 'Must be greater than 0.');
  }
  return nanos;
}
