/**
 * How limits look on the wire, as far as several kinds have it in common: the fields with their schemas, and the way from
 * them to the columns of a row and back. Amounts travel as decimal strings and are stored as nanodollars; nothing rounds.
 */
import { type Static, Type } from 'typebox';
import { invalidField } from '../../contract/api-error.ts';
import { WILDCARD } from '../../kernel/limits.ts';
import { formatUsd, parseUsd } from '../../kernel/money.ts';
import { periods } from '../../kernel/windows.ts';
import {
  choice,
  type closed,
  nullable,
  timestamp,
  timezone,
  usd,
} from '../../platform/http/routes/schemas.ts';
import { checkTimezone } from '../../platform/time/time-zone.ts';
import type { LimitRow } from './limits.ts';

/** For what has to be more than nothing, see `positiveNanosOf`. */
export const positiveUsd = Type.String({
  ...usd,
  description:
    'US dollars as a decimal string: more than 0, at most 9 decimals, no exponent, below 9 billion.',
});

/** Counts stay integers that JSON's numbers hold exactly. */
export const countMax = 9_000_000_000_000_000;

const alertThresholdsMax = 20;

/** When an event is due unless someone said otherwise. */
export const defaultThresholds: readonly number[] = [50, 80, 100];

export const period = choice(periods, "A calendar window in the limit's time zone; weeks start on Monday.");
export const enforcement = choice(
  ['block', 'alert'],
  '`block` refuses what would exceed the limit, `alert` only tells of it.',
);
export const alertThresholds = Type.Array(Type.Integer({ minimum: 1, maximum: 1_000 }), {
  maxItems: alertThresholdsMax,
  uniqueItems: true,
  description: `Percents of the limit; each fires one event per window. Default ${defaultThresholds.join(', ')}.`,
});
export const windowTimezone = nullable(
  Type.String({ ...timezone, description: "An IANA time zone. Null: the org's." }),
);

/** The value of a run's field. The wildcard is none. */
export const scopeValue = Type.String({ minLength: 1, maxLength: 200, not: { const: WILDCARD } });
export const scopeValueOrEach = Type.String({ minLength: 1, maxLength: 200 });

/** What a limit on spending per calendar window takes. */
export const spendingFields = {
  period,
  limit_usd: usd,
  enforcement,
  alert_thresholds: alertThresholds,
  timezone: windowTimezone,
};
export const optionalSpendingFields = {
  ...spendingFields,
  enforcement: Type.Optional(enforcement),
  alert_thresholds: Type.Optional(alertThresholds),
  timezone: Type.Optional(windowTimezone),
};

export const viewedTimes = { created_at: timestamp, updated_at: timestamp };

export const viewedSpending = { ...spendingFields, ...viewedTimes };
type SpendingView = Static<ReturnType<typeof closed<typeof viewedSpending>>>;

type SpendingColumns = Pick<
  LimitRow,
  'period' | 'capacity' | 'enforcement' | 'alert_thresholds' | 'timezone'
>;
type SpendingFields = Static<ReturnType<typeof closed<typeof spendingFields>>>;

/** The columns of those fields that were given. Refuses a time zone that does not exist. */
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
    ...viewTimes(row),
  };
}

function calendarPeriod({ id: limitId, period: stored }: LimitRow): SpendingView['period'] {
  if (stored === null) {
    throw new Error(`${limitId} has no calendar window`);
  }
  return stored;
}

export function viewTimes({ created_at, updated_at }: Pick<LimitRow, 'created_at' | 'updated_at'>) {
  return { created_at: created_at.toISOString(), updated_at: updated_at.toISOString() };
}

/** Of a text that its schema has found to be an amount. */
export function nanosOf(text: string): bigint {
  const nanos = parseUsd(text);
  if (nanos === undefined) {
    throw new Error('an amount was not validated');
  }
  return nanos;
}

/** The same for what has to be more than nothing. */
export function positiveNanosOf(field: string, text: string): bigint {
  const nanos = nanosOf(text);
  if (nanos === 0n) {
    throw invalidField(field, 'out_of_range', 'This has to be more than 0.');
  }
  return nanos;
}
